"""The other kinds of run: repaired evidence, exact content, branches, errors, routes, sub-agents, debates, tasks."""

import hashlib
from dataclasses import replace
from typing import Any

from runtime_graphs import POLICY, World, at

from scenarios import Scenario


def digest(text: str) -> str:
    """Give what a locator keeps of what it pointed at."""
    return hashlib.sha256(text.encode()).hexdigest()


def table(rows: int, seed: int = 3) -> str:
    """Give a CSV as a tool returns one."""
    places = ("Harbour", "Plant 2", "Depot", "Quarry North")
    lines = [
        f"W-{1000 + row},{places[row * seed % 4]},2026-02-{row % 28 + 1:02d},{row * 37 % 911 / 10:.1f},"
        f"{'ok' if row % 7 else 'check'}"
        for row in range(rows)
    ]
    return "\n".join(["ticket,place,date,tonnes,state", *lines]) + "\n"


def repaired_provenance() -> Scenario:
    """A locator points a few lines beside its evidence: it is found again; another's evidence is nowhere: marked."""
    world = World()
    csv = table(60)
    world.says("m1", "Which weighing needs a check?")
    world.call("call-1", "scale.export", arguments={"month": "2026-02", "format": "csv"})
    world.artifact("a1", tool="scale.export", call="call-1", result=csv)
    line = csv.splitlines()[43]
    world.memory(
        "mem-1",
        f"To check: {line.split(',')[0]}",
        tool="scale.export",
        artifacts=["a1"],
        locators=[{"artifact": "a1", "lines": [41, 41], "digest": digest(line)}],
    )
    world.memory(
        "mem-2",
        "W-2099 weighs 88 t",
        tool="scale.export",
        artifacts=["a1"],
        about="weighing W-2099",
        locators=[
            {"artifact": "a1", "lines": [12, 12], "digest": digest("W-2099,Harbour,2026-02-30,88.0,ok")}
        ],
        revalidate_with=["scale.export"],
    )
    world.says("m2", "One needs a check.", role="assistant")
    world.says("m3", "Which one, and what of W-2099?")
    return Scenario(
        "broken provenance repaired",
        world,
        {"answers": "m3"},
        facts=[line.split(",")[0], "scale.export", "W-2099"],
        marks=["stale mem-2"],
        absent=["88 t"],
        outcomes={"mem-1": "memory", "mem-2": "stale_marker"},
    )


def exact_csv() -> Scenario:
    """The user wants exactly the table from before: the artifact comes back byte for byte, the others do not."""
    world = World()
    world.says("m1", "Export the weighings of both weeks.")
    wanted, other = table(16), table(70, seed=5)
    for number, csv in ((1, wanted), (2, other)):
        world.call(f"call-{number}", "scale.export", arguments={"week": number})
        world.artifact(f"a{number}", tool="scale.export", call=f"call-{number}", result=csv)
        rows = len(csv.splitlines()) - 1
        world.memory(
            f"mem-{number}", f"Week {number}: {rows} weighings", tool="scale.export", artifacts=[f"a{number}"]
        )
    world.says("m2", "Both weeks are exported.", role="assistant")
    world.says("m3", "Use exactly the CSV of week 1.")
    return Scenario(
        "exact CSV brought back raw",
        world,
        {"answers": "m3", "need_exact": ("a1",)},
        facts=wanted.splitlines(),
        marks=["Week 2: 70 weighings"],
        absent=[line for line in other.splitlines() if line not in wanted.splitlines()],
        outcomes={"a1": "raw", "a2": "not_needed_raw"},
    )


def branch_isolation() -> Scenario:
    """Two branches analysed two drafts: what the sibling found stays with it, what came before the fork counts."""
    world = World()
    world.says("m1", "Read the tender; we try two offers.")
    world.call("call-1", "pdf.read", arguments={"document": "tender"})
    world.artifact(
        "a1", tool="pdf.read", call="call-1", result=_document("tender", 9, bids_until="2026-04-01")
    )
    world.memory("mem-1", "Tender 77: bids until 2026-04-01", tool="pdf.read", artifacts=["a1"])
    world.says("m2", "Read.", role="assistant")
    for name in ("low", "high"):
        world.add("branch", name, parent="main", fork_message="m2")
        where = {"branch": name}
        world.says(f"m3-{name}", f"Draft the {name} offer.", **where)
        world.call(f"call-{name}", "offer.draft", arguments={"variant": name}, **where)
        world.artifact(
            f"a-{name}",
            tool="offer.draft",
            call=f"call-{name}",
            result=_document(name, 6, **_OFFERS[name]),
            **where,
        )
        offer = _OFFERS[name]
        says = f"Draft {name}: {offer['price']}, {offer['offer']}"
        world.memory(f"mem-{name}", says, tool="offer.draft", artifacts=[f"a-{name}"], **where)
    world.says("m4", "Send it before the date.", branch="low")
    return Scenario(
        "branch isolation",
        world,
        {"branch": "low", "answers": "m4"},
        facts=["offer_31", "412 kEUR", "2026-04-01"],
        absent=["offer_32", "498 kEUR", "Draft the high"],
        outcomes={"mem-high": "other_branch", "m3-high": "other_branch"},
    )


_OFFERS = {
    "low": {"offer": "offer_31", "price": "412 kEUR"},
    "high": {"offer": "offer_32", "price": "498 kEUR"},
}


def _document(name: str, sections: int, **facts: str) -> dict[str, Any]:
    return {
        "document": name,
        **facts,
        "sections": [
            {
                "number": f"{number}.0",
                "title": f"Section {number} of {name}",
                "text": f"The bidder states for lot {number} the unit price, the term in weeks and the guarantee; "
                "alternatives are allowed where they are marked and priced apart, and only together with a main bid.",
            }
            for number in range(1, sections + 1)
        ],
        "language": "en",
        "sha1": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    }


def retry_critical_error() -> Scenario:
    """A transfer failed after it was accepted: the key and the amount of a retry survive any number of other turns."""
    world = World()
    world.says("m1", "Pay invoice 881 and then check the stock.")
    order = {"invoice": 881, "amount": "1,940.00", "currency": "EUR"}
    world.call("call-1", "bank.transfer", arguments=order)
    world.artifact(
        "a1",
        tool="bank.transfer",
        call="call-1",
        status="failed",
        error={"code": "gateway_timeout", "message": "no answer after acceptance", "retryable": True},
        retry={
            "tool": "bank.transfer",
            "idempotency_key": "pay-881-7c2",
            "attempts_left": 2,
            "not_before": at(30),
            "arguments": order,
        },
    )
    for number in range(2, 6):
        world.call(f"call-{number}", "stock.list", arguments={"page": number})
        world.artifact(f"a{number}", tool="stock.list", call=f"call-{number}", result=_stock(number))
        world.memory(
            f"mem-{number}",
            f"Stock page {number}: nothing short",
            tool="stock.list",
            artifacts=[f"a{number}"],
        )
    world.says("m2", "The stock is fine; the payment is open.", role="assistant")
    world.says("m3", "Try the payment again.")
    return Scenario(
        "retry-critical error",
        world,
        {"answers": "m3"},
        facts=["pay-881-7c2", "gateway_timeout", "1,940.00", "call-1", "bank.transfer"],
        marks=["09:30Z"],
        outcomes={"a1": "recovery"},
    )


def _stock(page: int) -> dict[str, Any]:
    return {
        "page": page,
        "items": [
            {"sku": f"ST-{page}{number:02d}", "name": f"Granite {number * 10} mm", "bin": f"B{page}-{number}",
             "on_hand": 400 + number * 13, "reserved": number * 3, "reorder_at": 120, "unit": "t"}
            for number in range(8)
        ],
    }  # fmt: skip


def restricted_route() -> Scenario:
    """On this route nothing personal or of another's account may leave: hints say that it is there and how to ask."""
    world = World()
    world.says("m1", "Check my mail for the survey date and look at the public register.")
    world.call("call-1", "mail.search", arguments={"query": "survey"})
    world.artifact("a1", tool="mail.search", call="call-1", result=_mailbox(), privacy="oauth")
    world.memory(
        "mem-1",
        "Survey on 2026-03-19, 08:30, contact Sara Lume",
        tool="mail.search",
        artifacts=["a1"],
        privacy="oauth",
        about="date of the survey",
        revalidate_with=["mail.search"],
    )
    world.call("call-2", "register.lookup", arguments={"plot": "117-B"})
    world.artifact(
        "a2",
        tool="register.lookup",
        call="call-2",
        result=_document("register 117-B", 5, area="4.2 ha"),
        privacy="public",
    )
    world.memory(
        "mem-2", "Plot 117-B: 4.2 ha, granite", tool="register.lookup", artifacts=["a2"], privacy="public"
    )
    world.says("m2", "I have both.", role="assistant")
    world.says("m3", "Plan the survey on plot 117-B.")
    return Scenario(
        "restricted provider route",
        world,
        {"answers": "m3"},
        facts=["mail.search", "4.2 ha"],
        marks=["withheld mem-1", "date of the survey"],
        absent=["2026-03-19", "Sara Lume", "survey@lume.example"],
        outcomes={"mem-1": "hint", "a1": "not_needed_raw"},
    )


def _mailbox() -> dict[str, Any]:
    return {
        "messages": [
            {"id": f"19a{number}f", "from": "Sara Lume <survey@lume.example>", "subject": "Survey",
             "date": f"2026-02-2{number}", "snippet": "we come on 2026-03-19 at 08:30, weather allowing"}
            for number in range(6)
        ]
    }  # fmt: skip


def subagent_resume() -> Scenario:
    """A sub-agent goes on with its own work: its task, its run's state, and what was promoted to it; no sibling's."""
    world = _delegated()
    return Scenario(
        "sub-agent resume",
        world,
        {
            "participant": "north",
            "kind": "subagent_child",
            "run": "run-n",
            "answers": "task-n",
            "checkpoint": "cp-n",
        },
        facts=["Survey sector north", "12 bore holes", "call-n2", "permit 88 covers north"],
        absent=["sector south is flooded", "Plan both sectors"],
        outcomes={"mem-s": "not_visible", "m1": "not_promoted", "mem-p": "memory"},
    )


_FOUND = {"north": "12 bore holes, granite from 3 m", "south": "sector south is flooded"}


def _delegated() -> World:
    world = World(people={"lead": "model", "north": "model", "south": "model", "ana": "person"})
    world.says("m1", "Plan both sectors.")
    world.call("call-1", "delegate", arguments={"children": ["north", "south"]})
    world.call("call-p", "permit.read", arguments={"permit": 88})
    world.artifact("a-p", tool="permit.read", call="call-p", result="permit 88 covers north")
    world.memory("mem-p", "permit 88 covers north", tool="permit.read", artifacts=["a-p"])
    world.add("promotion", "pr-1", record_type="tool_memory", record="mem-p", participants=["north"])
    for name in ("north", "south"):
        letter = name[0]
        child = {"participant": name, "run": f"run-{letter}", "parent_run": "run-1", "batch": "b1"}
        world.add(
            "model_run", f"run-{letter}", route="openai", model="m", participant=name, parent_run="run-1"
        )
        world.says(f"task-{letter}", f"Survey sector {name}.", participant="lead", visibility="participant",
                   shared_with=[name])  # fmt: skip
        world.call(f"call-{letter}1", "survey.read", arguments={"sector": name}, **child)
        world.artifact(
            f"a-{letter}1",
            tool="survey.read",
            call=f"call-{letter}1",
            result=_document(name, 7, found=_FOUND[name]),
            **child,
        )
        world.memory(f"mem-{letter}", _FOUND[name], tool="survey.read", artifacts=[f"a-{letter}1"], **child)
        world.call(f"call-{letter}2", "survey.order", arguments={"sector": name}, **child)
        world.artifact(f"a-{letter}2", tool="survey.order", call=f"call-{letter}2", status="pending", **child)
        world.add(
            "checkpoint", f"cp-{letter}", state={"step": "order"}, waits_for=[f"call-{letter}2"], **child
        )
    return world


def autonomous_speakers() -> Scenario:
    """A debate keeps its form: who said what, and the moderator's directive, however long ago it was given."""
    world = World(people={"lead": "model", "other": "model", "mod": "moderator", "ana": "person"})
    world.says("m0", "Debate: blast or saw? Two sentences each, no brands.", role="moderator", participant="mod",
               run=None)  # fmt: skip
    world.call("call-1", "web.search", arguments={"query": "wire saw granite loss"})
    world.artifact(
        "a1",
        tool="web.search",
        call="call-1",
        result=_document("saw", 8, found="Wire saw: loss 4 %, blasting: 22 %"),
    )
    world.memory("mem-1", "Wire saw: loss 4 %, blasting: 22 %", tool="web.search", artifacts=["a1"])
    for number in range(1, 5):
        world.says(f"m{number}a", f"Sawing wastes less, point {number}.", role="assistant")
        world.says(
            f"m{number}b", f"Blasting is faster, point {number}.", role="assistant", participant="other"
        )
    return Scenario(
        "autonomous speakers",
        world,
        {"kind": "autonomous", "answers": "m4b"},
        facts=["no brands", "Blasting is faster, point 4.", "loss 4 %"],
        marks=["Mod (moderator): Debate", "Other: Blasting"],
        absent=["point 1"],
        policy=replace(POLICY, recent_messages=4),
    )


def child_artifacts() -> Scenario:
    """What a child did is kept and stays its own: its parent's chat sees the report that was promoted, nothing else."""
    world = _delegated()
    child = {"participant": "north", "run": "run-n", "parent_run": "run-1", "batch": "b1"}
    world.memory(
        "mem-r", "North: 12 bore holes, granite from 3 m", tool="survey.read", artifacts=["a-n1"], **child
    )
    world.add("promotion", "pr-2", record_type="tool_memory", record="mem-r", visibility="branch")
    world.memory("mem-open", "scratch of north", artifacts=["a-n1"], **{**child, "visibility": "branch"})
    world.says("m2", "North is ready.", role="assistant")
    world.says("m3", "What did north report?")
    return Scenario(
        "child artifacts captured",
        world,
        {"answers": "m3"},
        facts=["12 bore holes, granite from 3 m", "call-1"],
        absent=["scratch of north", "sector south is flooded", "call-n2"],
        outcomes={
            "mem-open": "not_promoted",
            "a-n1": "not_visible",
            "mem-n": "not_visible",
            "mem-r": "memory",
        },
    )


def parent_resume() -> Scenario:
    """A parent goes on from its checkpoint: reports and files of the child that ended well, the status of the other."""
    world = _delegated()
    world.add("checkpoint", "cp-1", participant="lead", run="run-1", state={"step": "merge reports"},
              waits_for=["call-1"])  # fmt: skip
    for name, end in (
        ("north", {"status": "succeeded", "report": "12 bore holes, granite from 3 m",
                   "files": [{"id": "file_n7", "name": "north.pdf"}]}),
        ("south", {"status": "timed_out", "error": {"code": "no_access", "message": "road flooded", "retryable": True},
                   "retry": {"tool": "delegate", "attempts_left": 1}}),
    ):  # fmt: skip
        child = {"participant": name, "run": f"run-{name[0]}", "parent_run": "run-1", "parent_call": "call-1"}
        world.add("run_finished", f"end-{name[0]}", **child, **end)
    return Scenario(
        "parent resume metadata",
        world,
        {"kind": "parent_resume", "run": "run-1", "checkpoint": "cp-1", "answers": "m1"},
        marks=["merge reports"],
        facts=[
            "12 bore holes, granite from 3 m",
            "file_n7",
            "timed_out",
            "no_access",
            "attempts_left",
        ],
        absent=["sector south is flooded", "Section 1 of north"],
        outcomes={"end-n": "memory", "end-s": "recovery", "cp-1": "recovery", "mem-n": "not_visible"},
    )


def scheduled_task() -> Scenario:
    """A task at night sees the conversation's facts, and no person's private state that it does not name."""
    world = World()
    world.says("m1", "Every night: check the stock and write to the buyers.")
    world.call("call-1", "stock.list", arguments={"page": 1})
    world.artifact("a1", tool="stock.list", call="call-1", result=_stock(1))
    world.memory("mem-1", "ST-104 reorders at 120 t, on hand 452", tool="stock.list", artifacts=["a1"])
    for number, (tool, says) in enumerate(_PRIVATE.items(), start=2):
        world.call(f"call-{number}", tool, arguments={"week": 10})
        world.artifact(
            f"a{number}", tool=tool, call=f"call-{number}", result={"found": says}, privacy="personal"
        )
        world.memory(f"mem-{number}", says, tool=tool, artifacts=[f"a{number}"], privacy="personal")
    world.says("m2", "Task: check ST-104, call the buyer.")
    return Scenario(
        "scheduled task",
        world,
        {"kind": "scheduled", "answers": "m2", "need_exact": ("mem-3",)},
        facts=["ST-104", "452", "555-0147"],
        absent=["doctor"],
        outcomes={"mem-2": "privacy_route", "mem-3": "memory"},
    )


_PRIVATE = {"calendar.read": "Ana's doctor: Tuesday 9:00", "crm.read": "Buyer's phone is 555-0147"}


def branch_send() -> Scenario:
    """A card is sent on from two explicit parents: both lineages count, each up to its parent; the third does not."""
    world = World()
    world.says("m0", "Three ideas for the old pit.")
    world.says("m0r", "Lake, climbing hall, solar field.", role="assistant")
    for name, price in (("lake", "310"), ("climb", "520"), ("solar", "870")):
        world.add("branch", name, parent="main", fork_message="m0r")
        where = {"branch": name}
        world.says(f"q-{name}", f"Cost of the {name} idea?", **where)
        world.call(f"c-{name}", "cost.estimate", arguments={"idea": name}, **where)
        world.artifact(
            f"a-{name}",
            tool="cost.estimate",
            call=f"c-{name}",
            result=_document(name, 4, cost=f"{name}: {price} kEUR"),
            **where,
        )
        world.memory(
            f"mem-{name}", f"{name}: {price} kEUR", tool="cost.estimate", artifacts=[f"a-{name}"], **where
        )
        world.says(f"r-{name}", f"{name.title()}: {price}.", role="assistant", **where)
    world.memory("mem-late", "lake: owner objects", tool="mail.read", branch="lake")
    world.add("branch", "joint", parent="main", fork_message="m0r")
    world.says("m9", "Combine these two.", branch="joint")
    return Scenario(
        "branch send",
        world,
        {"kind": "branch_send", "branch": "joint", "parents": ("r-lake", "r-climb"), "answers": "m9"},
        facts=["lake: 310 kEUR", "climb: 520 kEUR", "Three ideas", "Combine these two."],
        absent=["870", "owner objects"],
        outcomes={"mem-solar": "other_branch", "mem-late": "other_branch"},
    )


OTHERS = (
    repaired_provenance,
    exact_csv,
    branch_isolation,
    retry_critical_error,
    restricted_route,
    subagent_resume,
    autonomous_speakers,
    child_artifacts,
    parent_resume,
    scheduled_task,
    branch_send,
)
