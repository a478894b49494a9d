"""What the sweep did is kept for people, and what it removes beside states (PR-12, PR-20)."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from agentstate.models import ErasedRead, State, SweepRun
from agentstate.selectors.sweeps import backlog
from agentstate.services import sweep
from agentstate.tasks import sweep_all
from tests import factories
from workspaces import access
from workspaces.models import Source, Tombstone
from workspaces.types import WorkspaceRef

LONG_AGO = timedelta(days=500)


def leave_tombstone(*, due_at: datetime) -> None:
    Tombstone.objects.create(
        kind="handle", hash=uuid4().bytes * 2, hash_key_id=uuid4(), erased_at=due_at, due_at=due_at
    )


def test_a_run_is_counted_by_kind(aurora: WorkspaceRef) -> None:
    """PR-20: what was removed, by kind, and what was left; a run that finds nothing leaves no line."""
    now = timezone.now()
    for _ in range(2):
        factories.make_state(aurora, now=now - timedelta(days=31))
    factories.make_state(
        aurora, now=now - timedelta(hours=25), body={"step": "cart", "phone": "+5511912345678"}
    )
    factories.make_state(aurora, now=now)
    with access.bound(aurora.id):
        leave_tombstone(due_at=now - timedelta(seconds=1))
        leave_tombstone(due_at=now + timedelta(days=1))
        assert backlog(now) == 4
        for _ in range(2):
            sweep_all()
        run = SweepRun.objects.get()
        assert run.removed == {"states": 2, "fields": 1, "tombstones": 0, "names": 1}
        assert (run.backlog, run.damaged, backlog(timezone.now())) == (0, 0, 0)
        assert run.began_at <= run.ended_at
        assert Tombstone.objects.count() == 1


def test_runs_are_kept_for_30_days(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PR-20: older lines go, also where nothing else is due, and no other workspace sees them."""
    now = timezone.now()
    with access.bound(aurora.id):
        for days in (1, 29, 31):
            at = now - timedelta(days=days)
            SweepRun.objects.create(began_at=at, ended_at=at)
    sweep_all()
    with access.bound(aurora.id):
        assert SweepRun.objects.count() == 2
    with access.bound(boreal.id):
        assert SweepRun.objects.count() == 0


def test_names_go_in_batches(aurora: WorkspaceRef, monkeypatch: pytest.MonkeyPatch) -> None:
    """PR-12, PR-20: tombstones whose time has passed go in bounded batches, until none is left."""
    monkeypatch.setattr(sweep, "BATCH", 2)
    with access.bound(aurora.id):
        for _ in range(5):
            leave_tombstone(due_at=timezone.now() - LONG_AGO)
        assert sweep.sweep_names(now=timezone.now()) == 2
        sweep_all()
        assert Tombstone.objects.count() == 0
        assert SweepRun.objects.get().removed["names"] == 3


def test_who_read_an_erased_state_goes_with_it(aurora: WorkspaceRef) -> None:
    """PR-12, PR-20: the note that a source has read an erased state lives no longer than the state's tombstone."""
    factories.make_state(aurora)
    with access.bound(aurora.id):
        state, past = State.objects.get(), timezone.now() - timedelta(seconds=1)
        State.objects.filter(id=state.id).update(life="erased", body=None, data_key_id=None, due_at=past)
        ErasedRead.objects.create(state=state, source=Source.objects.get(), read_at=past)
        sweep_all()
        assert not State.objects.exists()
        assert not ErasedRead.objects.exists()
        assert SweepRun.objects.get().removed["tombstones"] == 1
