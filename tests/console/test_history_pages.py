"""What people see of conversation history: metadata, running decisions, and freeing one (HI-5, HI-23, PR-20)."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from history.models import HistorySweep, Session
from history.tasks import sweep_all
from tests import factories
from tests.api import InProcess
from tests.history.talk import PINS, Talk, items, user
from workspaces import access
from workspaces.models import AuditEntry, Profile
from workspaces.types import WorkspaceRef

MARIA = {"type": "phone_e164", "value": "+55 11 91234-5678"}
WORD = "zqhistoryword"
STOPPED = {"stopped": "on", "reason": "Its pod was evicted"}


@pytest.fixture
def home(aurora: WorkspaceRef) -> WorkspaceRef:
    factories.switch(aurora, "history", on=True)
    return aurora


@pytest.fixture
def talk(home: WorkspaceRef) -> Talk:
    """A session of Maria with a message and a summary, whose every part but its labels is the word."""
    agent = InProcess(factories.make_key(home, "history"))
    talk = Talk(agent, session_id=WORD)
    token = talk.token(subject=MARIA, conversation_id=WORD)
    first = talk.call("append", reservation=token, items=items(user(WORD), id=WORD, key=WORD))
    assert first.status == 200
    summary = {"text": WORD, "covers": 1, "digest": WORD, "through": WORD}
    assert talk.call("commit", reservation=token, pins=PINS, summary=summary).status == 200
    return talk


def person(workspace: WorkspaceRef, *roles: str) -> Client:
    client = Client()
    client.force_login(factories.make_person(workspace, *roles))
    return client


def at(workspace: WorkspaceRef, path: str) -> str:
    return f"/console/w/{workspace.slug}/{path}"


def row_of_the_session(workspace: WorkspaceRef) -> Session:
    with access.bound(workspace.id):
        return Session.objects.get()


class TestRunningDecisions:
    """HI-5: the console lists stuck reservations, and a person with `recover_history` frees one."""

    def test_they_are_listed_by_what_names_nobody(self, home: WorkspaceRef, talk: Talk) -> None:
        """HI-5, CO-12: since when, by which worker, source, provider, counts and bytes; neither ids nor content."""
        client = person(home, "engineer")
        empty = client.get(at(home, "reservations/"))
        assert "No decision is running" in empty.content.decode()
        token = talk.token(worker="chat-7")
        (row,) = client.get(at(home, "reservations/")).context["reservations"]
        assert (row.worker, row.source, row.provider) == ("chat-7", "chat backend", PINS["provider"])
        assert (row.items, row.bytes, row.is_long) == (1, len(f'{{"role":"user","content":"{WORD}"}}'), False)
        text = client.get(at(home, "reservations/")).content.decode()
        assert WORD not in text
        assert token not in text
        with access.bound(home.id):
            Session.objects.update(reserved_at=timezone.now() - timedelta(hours=1))
        assert "Running for long" in client.get(at(home, "reservations/")).content.decode()

    def test_freed_with_a_reason(self, home: WorkspaceRef, talk: Talk) -> None:
        """HI-5, PR-21: what the decision added goes, the token holds no more, and the audit says who and why."""
        token = talk.token(worker="chat-7")
        assert talk.call("append", reservation=token, items=items(user("added"))).status == 200
        session, client = row_of_the_session(home), person(home, "engineer")
        form = {**STOPPED, "reservation": str(session.reservation_id)}
        freed = client.post(at(home, f"reservations/{session.id}/recover/"), form)
        assert (freed.status_code, freed["Location"]) == (303, at(home, "reservations/"))
        assert talk.messages() == [user(WORD)]
        assert talk.call("commit", reservation=token).code == "decision_history_reservation_lost"
        with access.bound(home.id):
            entry = AuditEntry.objects.get(act="history.recover")
        assert (entry.reason, entry.actor_kind) == ("Its pod was evicted", "person")
        assert (entry.object_kind, entry.object_id) == ("history_session", str(session.id))
        assert WORD not in str(entry.facts)
        again = client.post(at(home, f"reservations/{session.id}/recover/"), form)
        assert again.status_code == 404

    def test_another_decision_since(self, home: WorkspaceRef, talk: Talk) -> None:
        """HI-5, CO-5: a decision that began after the page was opened is left alone, and the page says so."""
        token = talk.token(worker="chat-7")
        seen, client = row_of_the_session(home), person(home, "engineer")
        assert talk.call("abort", reservation=token).status == 200
        newer = talk.token(worker="chat-8")
        form = {**STOPPED, "reservation": str(seen.reservation_id)}
        refused = client.post(at(home, f"reservations/{seen.id}/recover/"), form)
        assert refused.status_code == 422
        assert "Another decision has begun" in refused.content.decode()
        assert talk.call("commit", reservation=newer, items=items(user("kept"))).status == 200
        with access.bound(home.id):
            assert not AuditEntry.objects.filter(act="history.recover").exists()

    @pytest.mark.parametrize("reservation", ["", "no-id", "0" * 40])
    def test_a_broken_form(self, home: WorkspaceRef, talk: Talk, reservation: str) -> None:
        """CO-8: a form that names no reservation frees nothing, and is no error of the server."""
        talk.token()
        session, client = row_of_the_session(home), person(home, "engineer")
        form = {**STOPPED, "reservation": reservation}
        assert client.post(at(home, f"reservations/{session.id}/recover/"), form).status_code == 422
        assert row_of_the_session(home).reserved_at is not None

    def test_another_workspaces_session_is_not_there(
        self, home: WorkspaceRef, talk: Talk, boreal: WorkspaceRef
    ) -> None:
        """PL-1: neither shown nor freed from another workspace."""
        talk.token()
        session, client = row_of_the_session(home), person(boreal, "engineer")
        form = {**STOPPED, "reservation": str(session.reservation_id)}
        assert client.post(at(boreal, f"reservations/{session.id}/recover/"), form).status_code == 404
        assert row_of_the_session(home).reserved_at is not None

    def test_the_feature_is_off(self, aurora: WorkspaceRef) -> None:
        """CO-8: where history is off the page says so."""
        text = person(aurora, "engineer").get(at(aurora, "reservations/")).content.decode()
        assert "Conversation history" in text
        assert "No decision is running" not in text


class TestProfile:
    """HI-23, CO-12: the history of a person as metadata, and each look in the audit."""

    def profile(self, workspace: WorkspaceRef) -> str:
        with access.bound(workspace.id):
            return str(Profile.objects.get().id)

    def test_the_tab(self, home: WorkspaceRef, talk: Talk) -> None:
        """HI-23, PR-21: counts, bytes, dates and status; never a message; opening it is audited."""
        talk.token(worker="chat-7")
        path = at(home, f"profiles/{self.profile(home)}/history/")
        page = person(home, "support").get(path)
        (row,) = page.context["sessions"]
        assert (row.source, row.provider, row.model) == ("chat backend", PINS["provider"], PINS["model"])
        assert (row.items, row.reserved_at is not None) == (1, True)
        assert row.created_at <= row.touched_at < row.valid_until
        assert WORD not in page.content.decode()
        with access.bound(home.id):
            facts = AuditEntry.objects.filter(act="profile.view").order_by("-seq")[0].facts
        assert "history" in str(facts)

    def test_only_theirs_and_only_what_lives(self, home: WorkspaceRef, talk: Talk) -> None:
        """HI-23, PR-20: sessions of others, and what has expired, are not among them."""
        other = Talk(talk.api)
        assert other.append(user(), subject={"type": "email", "value": "bruno@example.com"}).status == 200
        with access.bound(home.id):
            maria = str(Profile.objects.order_by("created_at")[0].id)
        client = person(home, "support")
        path = at(home, f"profiles/{maria}/history/")
        assert len(client.get(path).context["sessions"]) == 1
        with access.bound(home.id):
            Session.objects.filter(conversation_hash__isnull=False).update(due_at=timezone.now())
        assert client.get(path).context["sessions"] == []

    def test_the_overview_counts(self, home: WorkspaceRef, talk: Talk) -> None:
        """HI-23: the first page says how many sessions and messages; who may not see metadata sees none."""
        path = at(home, f"profiles/{self.profile(home)}/")
        kept = person(home, "support").get(path).context["history"]
        assert (kept.sessions, kept.messages) == (1, 1)

    def test_the_feature_is_off(self, home: WorkspaceRef, talk: Talk) -> None:
        """CO-8: where history is off the tab says so and lists nothing."""
        factories.switch(home, "history", on=False)
        page = person(home, "support").get(at(home, f"profiles/{self.profile(home)}/history/"))
        assert page.status_code == 200
        assert page.context["sessions"] == []


class TestRetention:
    """PR-20: the sweep of history on the page of retention."""

    def test_what_the_sweep_removed(self, home: WorkspaceRef, talk: Talk) -> None:
        """PR-20: sessions and messages by kind, with what is due now, beside what went of working memory."""
        client = person(home, "privacy")
        with access.bound(home.id):
            Session.objects.update(due_at=timezone.now() - timedelta(seconds=1))
        assert client.get(at(home, "retention/")).context["backlog"] == 1
        sweep_all()
        page = client.get(at(home, "retention/"))
        (run,) = page.context["runs"]
        assert (run.sessions, run.items, run.states, page.context["backlog"]) == (1, 0, 0, 0)
        assert "history.idle" in page.content.decode()

    def test_both_sweeps_stand_in_one_list(self, home: WorkspaceRef) -> None:
        """PR-20: newest first, whichever sweep it was."""
        from agentstate.models import SweepRun

        now, made = timezone.now(), []
        with access.bound(home.id):
            for minutes, model in ((3, SweepRun), (2, HistorySweep), (1, SweepRun)):
                end: Any = now - timedelta(minutes=minutes)
                kind = "states" if model is SweepRun else "sessions"
                made.append(model.objects.create(began_at=end, ended_at=end, removed={kind: minutes}))
        runs = person(home, "privacy").get(at(home, "retention/")).context["runs"]
        assert [(run.states, run.sessions) for run in runs] == [(1, 0), (0, 2), (3, 0)]


def test_a_shorter_retention_counts_at_once(home: WorkspaceRef, talk: Talk) -> None:
    """PR-20, HI-4: a published document holds for sessions that were there before it: served no more, swept next."""
    from workspaces import documents

    with access.bound(home.id):
        Session.objects.update(touched_at=timezone.now() - timedelta(hours=2))
        body = documents.live("retention")["retention"].body
    assert talk.call("read").status == 200
    factories.publish(home, "retention", {**body, "history": {**body["history"], "idle": "1h"}})
    assert talk.call("read").status == 404
    assert person(home, "privacy").get(at(home, "retention/")).context["backlog"] == 1
    sweep_all()
    with access.bound(home.id):
        assert not Session.objects.exists()


@pytest.mark.parametrize("turns_on", [True, False])
def test_switching_it_names_the_effect(home: WorkspaceRef, talk: Talk, *, turns_on: bool) -> None:
    """PR-2, CO-5: the dialog says how many sessions of how many people are reached again, or not any more."""
    if turns_on:
        factories.switch(home, "history", on=False)
    text = person(home, "security").get(at(home, "features/history/change/")).content.decode()
    word = "1 kept session can be reached again" if turns_on else "1 session ("
    assert word in " ".join(text.split())
    assert "Profiles concerned: 1." in text
