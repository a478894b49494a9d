"""The `assemble` cases of public reports (O19, O28), told to a runtime graph."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from runtime_graphs import START, World, at, outcomes

from lastro.assembly.rendering.messages import messages_for
from lastro.assembly.results import Assembly

CASES = Path(__file__).parent / "assembly_cases"
REASONS = {"branch": "other_branch", "visibility": "not_visible", "privacy": "privacy_route"}
PRIVACY = {"normal": "internal"}


def case(name: str) -> dict[str, Any]:
    """Read a case."""
    found: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return found


def told(setup: dict[str, Any], items: list[dict[str, Any]]) -> World:
    """Write a case's neutral items as records."""
    owners = {item["owner"] for item in items} | {setup["participant"]}
    world = World(people={**dict.fromkeys(sorted(owners), "model"), "ana": "person"})
    world.add("model_run", "parent", route="openai", model="m", participant=setup["participant"])
    for message in setup["branch"]:
        world.says(message, "a message", final=True)
    elsewhere = sorted({item["branch_message"] for item in items} - set(setup["branch"]))
    if elsewhere:
        world.add("branch", "elsewhere", parent="main", fork_message=setup["branch"][0])
    for message in elsewhere:
        world.says(message, "a message of another branch", branch="elsewhere")
    for run in sorted({item["run"] for item in items if "run" in item}):
        world.add("model_run", run, route="openai", model="m", participant=run, parent_run="parent")
    for item in items:
        tell(world, item, branch="elsewhere" if item["branch_message"] in elsewhere else "main")
    return world


def tell(world: World, item: dict[str, Any], *, branch: str) -> None:
    """Write one neutral item on its branch; an item without an end of its own is durable."""
    child = {"run": item["run"], "parent_run": "parent"} if "run" in item else {"run": "parent"}
    owner = {
        "participant": item["owner"],
        "visibility": item["visibility"],
        "privacy": PRIVACY.get(item["privacy"], item["privacy"]),
        "branch": branch,
        "message": item["branch_message"],
        **child,
    }
    if item["type"] == "artifact":
        world.artifact(item["id"], tool=item["tool"], result=item["raw"], **owner)
        return
    sources = {"artifacts": item["from"]} if "from" in item else {}
    seen = {"observed_at": at(item["observed_at"])} if "observed_at" in item else {}
    if "stale_after" in item:
        seen |= {"freshness": "bounded", "stale_after": at(item["stale_after"])}
    replaces = {"supersedes": item["supersedes"]} if "supersedes" in item else {}
    world.memory(
        item["id"], item["summary"], tool=item.get("tool", "tool"), **owner, **sources, **seen, **replaces
    )
    if item.get("promotion") == "parent_visible":
        world.add("promotion", f"up-{item['id']}", record_type="tool_memory", record=item["id"])


def require_facts(assembly: Assembly, facts: dict[str, Any]) -> None:
    """Compare with what a case says is included, omitted and stale."""
    found = outcomes(assembly)
    for id in facts.get("included", []):
        assert found[id] == "memory"
    for id, reason in facts.get("omitted", {}).items():
        assert found[id] == REASONS.get(reason, reason)
    if "stale" in facts:
        assert [id for id, outcome in found.items() if "stale" in outcome] == facts["stale"]


def test_a_childs_work_stays_its_own_and_its_report_is_data() -> None:
    """O19, CA-6, CA-19: a sub-agent's private work is not visible, what was promoted is data."""
    found = case("O19")
    setup = found["input"]["setup"]
    world = told(setup, setup["items"])
    asked = {"participant": setup["participant"]}
    assembly = world.assemble(**asked)
    require_facts(assembly, found["expect"]["facts"])
    for provider in ("openai.chat", "openai.responses", "anthropic.messages", "gemini.contents"):
        messages = messages_for(provider, assembly, world.request(**asked), participants={})
        text = json.dumps(messages)
        assert all(said in text for said in found["expect"]["text_present"])
        assert not any(said in text for said in found["expect"]["text_absent"])
        assert "memory mem-child-result tool from child-1" in text
        assert not {message["role"] for message in messages} & {"system", "developer"}


def test_a_failed_edit_replaces_nothing_and_a_good_one_does() -> None:
    """O28, CA-13: what was read stays current until a record that replaces it is there."""
    found = case("O28")
    setup = found["input"]["setup"]
    for number, step in enumerate(found["operation"]["steps"]):
        items = [item for item in setup["items"] if item["id"] in step["args"]["with"]]
        world = told(setup, items)
        as_of = START + timedelta(minutes=step["args"]["now"])
        assembly = world.assemble(participant=step["args"]["for"], as_of=as_of)
        require_facts(assembly, found["expect"]["facts"][f"step_{number}"])


def test_items_of_another_branch_and_class_are_told_apart() -> None:
    """CA-11, CA-15: the same adapter, with an item of another branch, a secret and a stale one."""
    item: dict[str, Any] = {
        "type": "memory",
        "owner": "lead",
        "visibility": "participant",
        "privacy": "normal",
        "summary": "s",
    }
    items: list[dict[str, Any]] = [
        {**item, "id": "here", "branch_message": "p1"},
        {**item, "id": "there", "branch_message": "q1"},
        {**item, "id": "secret", "branch_message": "p1", "privacy": "secret"},
        {**item, "id": "old", "branch_message": "p1", "stale_after": 1},
    ]
    world = told({"participant": "lead", "branch": ["p1"]}, items)
    facts = {"included": ["here"], "omitted": {"there": "branch", "secret": "privacy"}, "stale": ["old"]}
    require_facts(world.assemble(), facts)
