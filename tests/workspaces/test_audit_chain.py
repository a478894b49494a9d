"""The chains of the audit: hashed entry by entry, and whatever is changed in one is named (PR-22)."""

import hashlib
import json
import threading
from contextlib import suppress
from datetime import datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from tests import factories
from tests.parallel import at_once, raised
from tests.workspaces.acts import ACTOR, OUTSIDE
from tests.workspaces.tampering import alter, length, remove, rewrite_from, swap, tamper, write
from workspaces import access, audit
from workspaces.models import AuditEntry, AuditHead, DeploymentAuditEntry, DeploymentAuditHead
from workspaces.rules.chains import ChainState
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.owner
"""Nobody else can tamper with a chain."""


def verify(workspace: WorkspaceRef) -> ChainState:
    with access.bound(workspace.id):
        return audit.verify_chain()


@pytest.fixture
def chain(aurora: WorkspaceRef) -> WorkspaceRef:
    """A workspace whose chain has five more entries at its end."""
    for number in range(5):
        write(
            aurora,
            number,
            reason=f"Nr {number}",
            facts={"n": number, "text": "ação 日本", "deep": [{"a": None}]},
        )
    return aurora


def test_a_chain_verifies(chain: WorkspaceRef) -> None:
    """PR-22: an untouched chain verifies to its last entry."""
    assert verify(chain) == ChainState(entries=length(chain))


def test_the_hash_is_over_the_canonical_json_of_the_entry(chain: WorkspaceRef) -> None:
    """PR-22: anybody can compute it: SHA-256 of the entry's members as RFC 8785 writes them, the last hash included."""
    with access.bound(chain.id):
        before, entry = AuditEntry.objects.order_by("-seq")[:2][::-1]
    members = {
        "act": entry.act,
        "actor": [entry.actor_kind, entry.actor_id, entry.actor_name, *entry.actor_roles],
        "address": entry.address,
        "at": entry.at.isoformat(),
        "chain": str(chain.id),
        "facts": entry.facts,
        "id": str(entry.id),
        "object": [entry.object_kind, entry.object_id],
        "previous_hash": bytes(before.hash).hex(),
        "reason": entry.reason,
        "request_id": entry.request_id,
        "result": entry.result,
        "seq": entry.seq,
    }
    text = json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert bytes(entry.hash) == hashlib.sha256(text.encode()).digest()
    assert bytes(entry.previous_hash) == bytes(before.hash)


ODD_FACTS: list[Any] = [
    {"tenth": 0.1, "small": 1e-7, "whole": 2.0},
    {"\U0001f600": 1, "\ue000": 2, "é": 3, "": 4},
    {"text": '\u2028\x1f\x7f"\\/<é\U0001f600', "most": 2**53 - 1, "least": -(2**53) + 1},
    {"deep": {"b": [None, True, {"a": []}], "a": {}}},
]


@pytest.mark.parametrize("facts", ODD_FACTS)
def test_facts_of_any_kind_verify(aurora: WorkspaceRef, facts: dict[str, Any]) -> None:
    """PR-22: numbers, names and texts whose canonical form differs from the usual one verify too."""
    write(aurora, facts=facts)
    assert verify(aurora).first_bad is None


def test_a_time_of_any_zone_verifies(aurora: WorkspaceRef) -> None:
    """PR-22: an entry is the same whichever zone its time was written in."""
    with access.bound(aurora.id), transaction.atomic():
        audit.record("thing.do", actor=ACTOR, now=datetime.fromisoformat("2026-01-01T03:00:00.5+05:30"))
    assert verify(aurora).first_bad is None


ALTERED: dict[str, str] = {
    "id": "gen_random_uuid()",
    "at": "at + interval '1 microsecond'",
    "act": "'key.revoke'",
    "actor_kind": "'key'",
    "actor_id": "actor_id || 'x'",
    "actor_name": "'bea@example.com'",
    "actor_roles": "array['owner']",
    "address": "'198.51.100.1'",
    "request_id": "'req-2'",
    "object_kind": "'other'",
    "object_id": "'42'",
    "reason": "reason || '.'",
    "result": "'refused'",
    "facts": "facts || jsonb_build_object('n', 7)",
    "previous_hash": r"'\x00'::bytea",
    "hash": r"'\x00'::bytea",
}


def test_every_column_is_in_the_table_of_alterations() -> None:
    """PR-22: a new column of an entry that nobody tries to alter fails here."""
    assert {field.name for field in AuditEntry._meta.fields} == ALTERED.keys() | {"seq", "workspace"}


@pytest.mark.parametrize("column", ALTERED)
def test_an_altered_entry_is_named(chain: WorkspaceRef, column: str) -> None:
    """PR-22: whichever member of an entry is altered, the walk names that entry."""
    seq = length(chain) - 2
    alter(chain, seq, f"{column} = {ALTERED[column]}")
    assert verify(chain) == ChainState(entries=seq - 1, first_bad=seq)


def test_facts_that_have_no_canonical_form_are_named(chain: WorkspaceRef) -> None:
    """PR-22: an alteration that cannot even be hashed is named like any other."""
    seq = length(chain)
    for number in ("1e400", "123456789012345678901234567890"):
        alter(chain, seq, f"facts = jsonb_build_object('n', {number}::numeric)")
        assert verify(chain).first_bad == seq


def test_a_number_that_no_double_holds_is_not_nothing(aurora: WorkspaceRef) -> None:
    """PR-22: a fast writer takes an infinite number for null: an entry that is altered so is named all the same."""
    seq = write(aurora, facts={"n": None}).seq
    alter(aurora, seq, "facts = jsonb_build_object('n', 1e400::numeric)")
    assert verify(aurora).first_bad == seq


def test_a_time_before_christ_is_another_time(chain: WorkspaceRef) -> None:
    """PR-22: a time that reads the same but for its era is an alteration."""
    seq = length(chain)
    alter(chain, seq, "at = (at::text || ' BC')::timestamptz")
    assert verify(chain).first_bad == seq


def test_a_removed_entry_is_named(chain: WorkspaceRef) -> None:
    """PR-22: of a gap the walk names the place, at the end of the chain too."""
    for back in (3, 0):
        seq = length(chain) - back
        with transaction.atomic():
            remove(chain, seq)
            assert verify(chain) == ChainState(entries=seq - 1, first_bad=seq)
            transaction.set_rollback(True)
        assert verify(chain).first_bad is None


def test_a_closed_gap_is_named(chain: WorkspaceRef) -> None:
    """PR-22: an entry that is taken out and the numbers closed behind it shows at its place."""
    seq = length(chain) - 2
    remove(chain, seq)
    for later in (seq + 1, seq + 2):
        alter(chain, later, "seq = seq - 1")
    assert verify(chain).first_bad == seq


def test_swapped_entries_are_named(chain: WorkspaceRef) -> None:
    """PR-22: two entries in each other's place show at the first of them."""
    seq = length(chain) - 2
    swap(chain, seq)
    assert verify(chain) == ChainState(entries=seq - 1, first_bad=seq)


def test_a_rewritten_tail_does_not_end_at_the_head(chain: WorkspaceRef) -> None:
    """PR-22: a tail that is rewritten consistently ends in another hash than the head's."""
    entries = length(chain)
    rewrite_from(chain, entries - 2)
    assert verify(chain) == ChainState(entries=entries, first_bad=entries + 1)


def test_a_head_that_is_moved_is_named(chain: WorkspaceRef) -> None:
    """PR-22: a head that was set back, forward or away leaves entries that do not belong."""
    entries = length(chain)
    with access.bound(chain.id):
        head = AuditHead.objects.get()
        earlier = AuditEntry.objects.get(seq=entries - 1)
        for seq, found in (
            (entries - 1, bytes(earlier.hash)),
            (entries + 1, bytes(head.hash)),
            (entries, bytes(32)),
        ):
            AuditHead.objects.update(seq=seq, hash=found)
            assert verify(chain).first_bad is not None
        AuditHead.objects.all().delete()
        assert verify(chain).first_bad == 1


def test_an_entry_of_another_workspace_does_not_fit(chain: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PR-22, PL-1: the name of its chain is in every hash: a chain moved whole to another workspace does not verify."""
    tamper("DELETE FROM {} WHERE workspace_id = %s", boreal.id)
    tamper("UPDATE {} SET workspace_id = %s WHERE workspace_id = %s", boreal.id, chain.id)
    with access.bound(chain.id):
        head = AuditHead.objects.get()
    with access.bound(boreal.id):
        AuditHead.objects.update(seq=head.seq, hash=bytes(head.hash))
    assert verify(boreal) == ChainState(entries=0, first_bad=1)


def test_the_deployments_chain_is_kept_alike(db: None) -> None:
    """PR-21, PR-22: acts outside every workspace have a chain of their own, in which an alteration is named."""
    for _ in range(4):
        with transaction.atomic():
            audit.record_outside("thing.do", actor=ACTOR, now=timezone.now())
    state = audit.verify_deployment_chain()
    assert state.first_bad is None
    assert state.entries == DeploymentAuditEntry.objects.count() >= 4
    tamper("UPDATE {} SET result = 'x' WHERE seq = %s", state.entries - 1, table=OUTSIDE)
    assert audit.verify_deployment_chain().first_bad == state.entries - 1


def test_a_deployment_without_an_act_verifies(db: None) -> None:
    """PR-22: a chain that has no entry yet, and no head, is whole."""
    tamper("DELETE FROM {}", table=OUTSIDE)
    DeploymentAuditHead.objects.all().delete()
    assert audit.verify_deployment_chain() == ChainState(entries=0)


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("verify_audit", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_names_the_chain_and_the_entry(chain: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PR-22: `verify_audit` says of each chain how far it verifies, and fails where one does not."""
    seq = length(chain)
    assert f"{chain.slug}: {seq} entries verify" in command()
    alter(chain, seq, "act = 'x'")
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("verify_audit", stdout=out)
    assert f"{chain.slug}: entry {seq} is the first that does not verify" in out.getvalue()
    assert f"{boreal.slug}: {length(boreal)} entries verify" in out.getvalue()
    assert chain.slug not in command("--workspace", boreal.slug)
    with pytest.raises(CommandError):
        command("--workspace", chain.slug)
    with pytest.raises(CommandError, match="no workspace"):
        command("--workspace", "no-such-workspace")


def test_sixteen_writers_make_one_chain(committed: None) -> None:
    """PR-22: sixteen writers at once append to one chain without a gap, a fork or a loss, in both kinds of chain."""
    workspace = factories.make_workspace()
    before, outside = length(workspace), audit.verify_deployment_chain().entries

    def act(number: int) -> None:
        for _ in range(4):
            write(workspace, number)
            with transaction.atomic():
                audit.record_outside("thing.do", actor=ACTOR, now=timezone.now())

    assert not raised(at_once(16, act))
    assert verify(workspace) == ChainState(entries=before + 64)
    assert audit.verify_deployment_chain() == ChainState(entries=outside + 64)
    with access.bound(workspace.id):
        by_writer = AuditEntry.objects.filter(act="thing.do").values_list("object_id", flat=True)
        assert sorted(by_writer) == sorted(str(number) for number in range(16) for _ in range(4))


def test_a_chain_verifies_while_others_append_to_it(committed: None) -> None:
    """PR-22: the walk judges the chain as it stood; an entry that is appended meanwhile is no fault."""
    workspace, done = factories.make_workspace(), threading.Event()

    def act(number: int) -> list[ChainState]:
        if number:
            for _ in range(40):
                write(workspace, number)
            done.set()
            return []
        found = [verify(workspace)]
        while not done.is_set():
            found.append(verify(workspace))
        return found

    states, *_ = at_once(3, act)
    assert len({state.entries for state in states}) > 1
    assert {state.first_bad for state in states} == {None}


@pytest.mark.long
def test_a_hundred_thousand_entries_verify_in_seconds(committed: None) -> None:
    """PR-22: 100,000 entries verify in under 5 seconds (asserted at ten times that)."""
    workspace = factories.make_workspace()
    with access.bound(workspace.id):
        head, rows = AuditHead.objects.get(), []
        previous = bytes(head.hash)
        for seq in range(head.seq + 1, head.seq + 100_001):
            entry = AuditEntry(
                act="thing.do",
                seq=seq,
                at=timezone.now(),
                result="done",
                facts={"n": seq},
                previous_hash=previous,
                actor_kind="system",
                actor_id=str(uuid4()),
                actor_name="tests",
                object_kind="thing",
                object_id=str(seq),
            )
            entry.hash = previous = audit.entry_hash(entry, chain=str(workspace.id))
            rows.append(entry)
        AuditEntry.objects.bulk_create(rows, batch_size=5000)
        AuditHead.objects.update(seq=head.seq + 100_000, hash=previous)
        began = timezone.now()
        assert audit.verify_chain().first_bad is None
    assert timezone.now() - began < timedelta(seconds=50)


def test_a_reader_of_the_chain_is_not_stopped_by_its_writer(committed: None) -> None:
    """PR-22: verification takes no lock: it ends while a writer holds the head."""
    workspace = factories.make_workspace()
    finished: list[ChainState] = []

    def look() -> None:
        with suppress(DatabaseError):
            finished.append(verify(workspace))
        connection.close()

    with access.bound(workspace.id), transaction.atomic():
        audit.record("thing.do", actor=ACTOR, now=timezone.now())
        reader = threading.Thread(target=look)
        reader.start()
        reader.join(timeout=20)
        assert finished == [ChainState(entries=1)]
