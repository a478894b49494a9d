"""Why a model saw what it saw: the list of assemblies, one with its decisions, why, and two side by side (CA-17)."""

import csv
import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from assembly.models import ContextAssembly, GraphRecord
from tests import factories
from tests.console.assembled import POLICY, Assembled, assemble, keep_assemblies
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import AuditEntry, Profile
from workspaces.types import WorkspaceRef

WORD = "zqassemblyword"
MARIA = {"type": "phone_e164", "value": "+55 11 91234-5678"}
Open = Callable[..., Any]


@pytest.fixture
def made(aurora: WorkspaceRef) -> Assembled:
    """Two assemblies of a conversation with Maria, every content of which is the word."""
    return keep_assemblies(aurora, MARIA, word=WORD)


@pytest.fixture
def client(aurora: WorkspaceRef, signed_in: SignedIn) -> Client:
    return signed_in(factories.make_person(aurora, "engineer", name="Emil"))


@pytest.fixture
def show(aurora: WorkspaceRef, client: Client) -> Open:
    """Open a page below the list of assemblies, and see that nothing of the conversation's content is in it."""

    def opened(path: object = "", *, status: int = 200, **query: str) -> Any:
        answer = client.get(f"/console/w/{aurora.slug}/assemblies/{path}", query)
        assert answer.status_code == status
        assert WORD not in answer.content.decode()
        return answer

    return opened


def ids(answer: Any) -> list[UUID]:
    return [row.id for row in answer.context["assemblies"]]


def names(rows: Any) -> list[str]:
    return [row.id.partition(".")[0] for row in rows]


def change(workspace: WorkspaceRef, found: UUID, **members: Any) -> None:
    """Make an assembly older than it is, or otherwise as no caller can."""
    with access.bound(workspace.id):
        ContextAssembly.objects.filter(id=found).update(**members)


class TestList:
    """CO-4: newest first, filters in the address, keyset, files of what is on screen."""

    def test_a_row_says_what_was_saved(self, made: Assembled, show: Open) -> None:
        """CA-16: conversation, kind, policy, what was shown and left out, and how much smaller it is."""
        plain, traced = show().context["assemblies"]
        assert [plain.id, traced.id] == [made.plain, made.traced]
        assert (traced.conversation, traced.policy, traced.has_trace) == (made.story.chat, "support", True)
        assert (plain.kind, plain.has_trace) == ("scheduled", False)
        assert (traced.shown, traced.left_out) == (11, 9)
        spared = traced.naive_tokens - traced.assembled_tokens
        assert traced.saved_percent == round(100 * spared / traced.naive_tokens) > 50

    def test_filters(self, made: Assembled, show: Open) -> None:
        """CO-4: each filter narrows the list, alone and together."""
        both, traced, plain, none = [made.plain, made.traced], [made.traced], [made.plain], list[UUID]()
        for chosen, kept in (
            ({"kind": "chat"}, traced),
            ({"policy": "default"}, plain),
            ({"trace": "full"}, traced),
            ({"trace": "none"}, plain),
            ({"omitted": "candidate_limit"}, traced),
            ({"omitted": "stale"}, both),
            ({"omitted": "other_branch"}, both),
            ({"omitted": "over_budget"}, none),
            ({"omitted": "' OR 1=1"}, none),
            ({"kind": "chat", "policy": "default"}, none),
            ({"conversation": "ticket-4711"}, both),
            ({"conversation": "ticket-0"}, none),
            ({"participant": "planner.ticket-4711"}, both),
            ({"participant": "reviewer.ticket-4711"}, none),
        ):
            page = show(**chosen)
            assert ids(page) == kept, chosen
            assert {each.name for each in page.context["filters"] if each.value} == chosen.keys()
            assert ("No assembly fits these filters" in page.content.decode()) == (not kept)

    def test_what_is_no_id_of_a_record_does_not_filter(self, made: Assembled, show: Open) -> None:
        """CO-3: a handle that somebody typed is not a filter, and no link of the page carries it on."""
        for typed in ("ana@example.com", "+55 11 91234-5678", "a b", "x" * 65, "a\x00"):
            page = show(conversation=typed)
            assert len(ids(page)) == 2, typed
            assert "ana@example.com" not in page.content.decode()

    def test_the_files_are_what_is_on_screen(self, made: Assembled, show: Open, client: Client) -> None:
        """CO-4: CSV and JSON hold the rows of the filtered page, with its columns."""
        exports = {
            str(each["label"]): client.get(each["url"]).getvalue().decode()
            for each in show(trace="full").context["exports"]
        }
        (row,) = csv.DictReader(StringIO(exports["CSV"]))
        (line,) = map(json.loads, exports["JSON Lines"].splitlines())
        assert row == {name: str(value) for name, value in line.items()}
        assert (line["assembly"], line["shown"], line["trace"]) == (str(made.traced), 11, "full")

    def test_pages_go_both_ways(
        self, made: Assembled, aurora: WorkspaceRef, show: Open, client: Client
    ) -> None:
        """CO-4: fifty a page, by a cursor; the file of a page holds that page."""
        with access.bound(aurora.id):
            row = ContextAssembly.objects.get(id=made.plain)
            for minutes in range(1, 51):
                row.pk = None
                row.created_at -= timedelta(minutes=minutes)
                row.save(force_insert=True)
        first = show()
        assert len(ids(first)) == 50
        second = show(older=first.context["page"].older)
        assert len(ids(second)) == 2
        assert ids(show(newer=second.context["page"].newer)) == ids(first)
        export = client.get(second.context["exports"][0]["url"])
        assert len(export.getvalue().splitlines()) == 1 + 2

    def test_states(self, aurora: WorkspaceRef, show: Open, boreal: WorkspaceRef) -> None:
        """CO-8: off, then empty."""
        assert "is off in this workspace" in show().content.decode()
        factories.switch(aurora, "context", on=True)
        assert "No assembly is kept" in show().content.decode()


class TestInspector:
    """CA-15 to CA-17: one assembly."""

    def test_its_record_is_a_file(self, made: Assembled, show: Open, client: Client) -> None:
        """CA-16, CO-12: the button gives the record of the API, and nothing of the conversation's content is in it."""
        page = show(f"{made.traced}/")
        answer = client.get(page.context["json_url"])
        text = answer.getvalue().decode()
        record = json.loads(text)
        assert f"assembly-{made.traced}.json" in answer["Content-Disposition"]
        assert (record["summary"]["assembly_id"], len(record["selected"])) == (str(made.traced), 11)
        assert WORD not in text

    def test_what_was_shown_in_which_form(self, made: Assembled, show: Open) -> None:
        """CA-15: every candidate once, what was shown first, in its order."""
        page = show(f"{made.traced}/")
        rows = page.context["candidates"]
        shown = {row.id.partition(".")[0]: row.form for row in rows if row.form}
        assert [row.place for row in rows[: len(shown)]] == list(range(1, len(shown) + 1))
        assert shown["free-slots"] == "memory"
        assert shown["picking"] == shown["failing"] == "recovery"
        assert (shown["balance"], shown["mailbox"]) == ("stale_marker", "hint")
        left = {row.id.partition(".")[0]: row.reason for row in rows if not row.form}
        assert left == {
            "said-1": "candidate_limit",
            "said-2": "candidate_limit",
            "said-aside": "other_branch",
            "artifact": "not_needed_raw",
            "lines": "not_needed_raw",
            "others": "not_visible",
            "token": "privacy_route",
            "unread": "stale",
            "first-draft": "superseded",
        }
        assert {row.id for row in rows if row.conflicts} == {made.id("yes"), made.id("no")}

    def test_candidates_are_chosen_by_outcome(self, made: Assembled, show: Open) -> None:
        """CO-4: all, shown, left out; the counts stand beside the words."""
        for view, count in (("", 20), ("shown", 11), ("left_out", 9), ("else", 20)):
            page = show(f"{made.traced}/", **({"show": view} if view else {}))
            assert len(page.context["candidates"]) == count
            assert [tab.count for tab in page.context["candidate_tabs"]] == [20, 11, 9]

    def test_without_a_trace(self, made: Assembled, aurora: WorkspaceRef, show: Open) -> None:
        """CA-16, CA-21: what was shown and the counts stay; a trace whose time is over is not served."""
        page = show(f"{made.plain}/")
        assert {row.form for row in page.context["candidates"]} >= {"memory", "message"}
        assert not page.context["candidate_tabs"]
        change(aurora, made.traced, trace_expires_at=timezone.now())
        late = show(f"{made.traced}/")
        assert len(late.context["candidates"]) == 11
        assert [row.count for row in late.context["left_out"]] == [2, 2, 1, 1, 1, 1]

    def test_counts_add_up_and_branches_stand_apart(self, made: Assembled, show: Open) -> None:
        """CA-15, CA-16: shown and left out are all that was considered; other branches are counted apart."""
        context = show(f"{made.traced}/").context
        reasons = {row.reason: row.count for row in context["left_out"]}
        assert "other_branch" not in reasons
        assert context["branches"].count == 1
        assert sum(reasons.values()) + 1 + 11 == 20
        assert all(row.sentence for row in context["left_out"])

    def test_the_bars_are_the_table(self, made: Assembled, show: Open) -> None:
        """CO-10: the tokens of the forms sum up to what was assembled, and the bar's parts to its width."""
        budget = show(f"{made.traced}/").context["budget"]
        assert sum(form.tokens for form in budget.forms) == budget.assembled.tokens
        widths = [float(part.width.rstrip("%")) for part in budget.assembled.segments]
        whole = max(budget.naive.tokens, budget.assembled.tokens, 2_000)
        assert sum(widths) == pytest.approx(100 * budget.assembled.tokens / whole, abs=0.1)
        assert budget.budget_tokens == 2_000
        assert {form.tone: form.records for form in budget.forms}["memory"] == 4

    def test_an_assembly_from_before_sizes_were_kept(
        self, made: Assembled, aurora: WorkspaceRef, show: Open
    ) -> None:
        """CA-16: without sizes by record the bar is one piece, and no page fails."""
        change(aurora, made.plain, selected=[["tool_memory", "m", "memory"]], naive_tokens=0, request={})
        budget = show(f"{made.plain}/").context["budget"]
        assert [len(bar.segments) for bar in budget.bars] == [1, 1]
        assert budget.saved_percent is None

    def test_the_policy_is_a_link_to_its_version(self, made: Assembled, show: Open, client: Client) -> None:
        """CA-16: what decided can be read, in the version that decided."""
        facts = {str(fact.label): fact for fact in show(f"{made.traced}/").context["facts"]}
        policy = client.get(facts["Policy"].url)
        assert f"{POLICY['name']} v{policy.context['document']['version']}" == facts["Policy"].value
        assert len(facts["Digest"].value) == 64

    def test_neighbours_keep_the_filter(self, made: Assembled, show: Open) -> None:
        """CO-4: next and previous go through the filtered list."""
        page = show(f"{made.traced}/").context
        assert (str(made.plain) in page["newer_url"], page["older_url"]) == (True, "")
        third = assemble(made.story, policy={"name": "support"})
        filtered = show(f"{made.traced}/", kind="chat").context
        assert urlsplit(filtered["newer_url"]).path.endswith(f"/{third}/")
        assert parse_qs(urlsplit(filtered["newer_url"]).query) == {"kind": ["chat"]}
        assert show(f"{third}/", kind="chat").context["newer_url"] == ""

    def test_what_expired_is_not_there(self, made: Assembled, aurora: WorkspaceRef, show: Open) -> None:
        """PR-20: an assembly whose time is over is in no list and on no page."""
        change(aurora, made.plain, expires_at=timezone.now())
        assert ids(show()) == [made.traced]
        for path in (f"{made.plain}/", f"{made.plain}/why/", f"{made.traced}/compare/{made.plain}/"):
            show(path, status=404)

    def test_another_workspaces_is_not_there(
        self, made: Assembled, boreal: WorkspaceRef, signed_in: SignedIn
    ) -> None:
        """PL-1: an id of another workspace is an id of nothing."""
        factories.switch(boreal, "context", on=True)
        stranger = signed_in(factories.make_person(boreal, "engineer", "auditor"))
        base = f"/console/w/{boreal.slug}/assemblies/"
        for path in (f"{made.traced}/", f"{made.traced}/why/", f"{made.traced}/compare/{made.plain}/"):
            assert stranger.get(base + path).status_code == 404
        assert stranger.get(base).context["assemblies"] == []


class TestWhy:
    """CA-17: why did the model see this, and why did it not see that?"""

    def ask(self, show: Open, made: Assembled, name: str, type: str = "tool_memory") -> Any:
        return show(f"{made.traced}/why/", type=type, id=made.id(name)).context["answer"]

    def test_why_it_saw_a_memory(self, made: Assembled, show: Open) -> None:
        """CA-5, CA-17: memory, artifact, call, run; a place by its way and its depth, never by its text."""
        answer = self.ask(show, made, "free-slots")
        assert (answer.tone, answer.sentence, answer.warnings) == (
            "ok",
            "The model saw it. Form: memory.",
            [],
        )
        assert all(rule.passed for rule in answer.rules)
        assert names(answer.steps) == ["free-slots", "artifact", "call", "run"]
        assert str(answer.steps[-1].type_words) == "run of a model"
        ((place,), *others) = (step.places for step in answer.steps)
        assert (place.words, place.artifact) == ("a JSON value, 2 levels deep", made.id("artifact"))
        assert (len(place.digest), others) == (64, [[], [], []])
        (lines,) = self.ask(show, made, "report").steps[0].places
        assert lines.words == "lines 1 to 3"

    def test_why_it_did_not(self, made: Assembled, show: Open) -> None:
        """CA-11, CA-17: the rules in their order, the last of them the one that left it out."""
        for name, type, rule, words in (
            ("unread", "tool_memory", "Freshness", "stale"),
            ("token", "tool_memory", "Privacy and route", "not for this route"),
            ("others", "tool_memory", "Visibility", "not visible here"),
            ("first-draft", "tool_memory", "Supersession", "replaced"),
            ("artifact", "tool_artifact", "Need of raw", "not needed raw"),
            ("said-aside", "message", "Lineage", "on another branch"),
        ):
            answer = self.ask(show, made, name, type)
            assert answer.sentence == f"The model did not see it. Reason: {words}."
            assert [one.name for one in answer.rules if not one.passed] == [rule]
            assert answer.rules[-1].name == rule

    def test_what_was_never_recorded(self, made: Assembled, show: Open) -> None:
        """CA-17: a name that the graph does not know is said to be none of its records."""
        answer = self.ask(show, made, "nothing")
        assert (answer.tone, answer.rules, answer.steps) == ("info", [], [])
        assert "no such record" in answer.sentence

    def test_what_came_later(self, made: Assembled, show: Open) -> None:
        """CA-17: the graph is asked as it was at that position."""
        made.story.stored(made.story.memory("later", summary=WORD))
        assert "no such record" in self.ask(show, made, "later").sentence
        assert self.ask(show, made, "free-slots").warnings == []

    def test_what_makes_it_doubtful_is_said(self, made: Assembled, aurora: WorkspaceRef, show: Open) -> None:
        """CA-17: another assembler, records that are gone, and decisions that do not come out the same."""
        change(aurora, made.traced, assembler="0", digest="0" * 64)
        with access.bound(aurora.id):
            GraphRecord.objects.filter(name=made.id("said-aside")).delete()
        versions, gone, other = self.ask(show, made, "free-slots").warnings
        assert versions.startswith("Assembler 0 decided then")
        assert gone.endswith(": 1.")
        assert "not all the same" in other

    def test_the_form_leads_to_an_address_only_for_a_record(
        self, made: Assembled, aurora: WorkspaceRef, client: Client
    ) -> None:
        """CO-3: what was typed gets into the address where it names a record, and nowhere else."""
        path = f"/console/w/{aurora.slug}/assemblies/{made.traced}/why/"
        known = client.post(path, {"type": "tool_memory", "id": made.id("unread")})
        assert known.status_code == 303
        assert parse_qs(urlsplit(known["Location"]).query)["id"] == [made.id("unread")]
        typed = client.post(path, {"type": "tool_memory", "id": "5511912345678"})
        assert (typed.status_code, typed.context["answer"].tone) == (200, "info")

    def test_an_address_that_asks_about_nothing(self, made: Assembled, show: Open) -> None:
        """CO-8: a torn address says at the form what is wrong, and is no error of the server."""
        for query in (
            {"type": "tool_memory"},
            {"id": "a"},
            {"type": "x", "id": "a"},
            {"type": "message", "id": "a b"},
        ):
            assert show(f"{made.traced}/why/", status=422, **query).context["answer"] is None


class TestCompare:
    """CA-16: two assemblies side by side."""

    def test_both_one_alone_and_another_form(self, made: Assembled, show: Open) -> None:
        """CA-16: the same conversation by two policies and on two routes."""
        context = show(f"{made.plain}/compare/{made.traced}/").context
        compared = context["compared"]
        assert names(compared.only_one) == ["said-1", "said-2"]
        assert names(compared.only_other) == ["mailbox"]
        assert compared.changed == []
        assert {"free-slots", "picking", "said-5"} <= set(names(compared.alike))
        sides = {str(side.label): side for side in context["sides"]}
        assert (sides["Left out"].one, sides["Left out"].other, sides["Left out"].differs) == (8, 9, True)
        assert not sides["Branch"].differs
        assert not context["is_same"]

    def test_another_form(self, made: Assembled, show: Open) -> None:
        """CA-16: a record that both showed otherwise is told with both forms."""
        exact = assemble(made.story, policy={"name": "support"}, need_exact=[made.id("free-slots")])
        (row,) = show(f"{made.traced}/compare/{exact}/").context["compared"].changed
        assert (row.id, str(row.one), str(row.other)) == (
            made.id("free-slots"),
            "memory",
            "raw, byte for byte",
        )

    def test_with_itself_nothing_differs(self, made: Assembled, show: Open) -> None:
        """CA-18: the same digest is said."""
        page = show(f"{made.traced}/compare/{made.traced}/")
        assert page.context["is_same"]
        assert not [side for side in page.context["sides"] if side.differs]


class TestProfile:
    """CA-17, CO-7: the assemblies of conversations that name a profile."""

    def address(self, workspace: WorkspaceRef) -> str:
        with access.bound(workspace.id):
            profile = Profile.objects.get()
        return f"/console/w/{workspace.slug}/profiles/{profile.id}/assemblies/"

    def test_only_who_may_see_both(self, made: Assembled, aurora: WorkspaceRef, signed_in: SignedIn) -> None:
        """PL-2: metadata of profiles and assemblies; the tab is absent for who lacks one of them."""
        auditor = signed_in(factories.make_person(aurora, "auditor", name="Alba"))
        page = auditor.get(self.address(aurora))
        assert ids(page) == [made.plain, made.traced]
        assert WORD not in page.content.decode()
        assert "Assemblies" in [str(tab.title) for tab in page.context["tabs"]]
        support = signed_in(factories.make_person(aurora, "support", name="Sofia"))
        assert support.get(self.address(aurora)).status_code == 403
        overview = support.get(self.address(aurora).replace("/assemblies/", "/"))
        assert "Assemblies" not in [str(tab.title) for tab in overview.context["tabs"]]
        engineer = signed_in(factories.make_person(aurora, "engineer", name="Emil")).get(self.address(aurora))
        assert engineer.status_code == 403
        assert "view_state_metadata" in engineer.content.decode()

    def test_the_view_is_audited_and_others_are_not_in_it(
        self, made: Assembled, aurora: WorkspaceRef, signed_in: SignedIn
    ) -> None:
        """CO-7, PR-21: opening the tab is an entry; a conversation that names nobody is not in it."""
        other = keep_assemblies(
            aurora, {"type": "email", "value": "ana@example.com"}, word=WORD, name="other"
        )
        auditor = signed_in(factories.make_person(aurora, "auditor", name="Alba"))
        with access.bound(aurora.id):
            maria = Profile.objects.order_by("created_at")[0].id
        page = auditor.get(f"/console/w/{aurora.slug}/profiles/{maria}/assemblies/", {"trace": "full"})
        assert ids(page) == [made.traced]
        assert other.traced not in ids(page)
        with access.bound(aurora.id):
            entry = AuditEntry.objects.filter(act="profile.view").latest("seq")
        assert (entry.object_id, entry.facts) == (str(maria), {"what": "context"})
