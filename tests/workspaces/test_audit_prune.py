"""The retention of the audit: a prefix goes only for a signed checkpoint that takes its place (PR-22)."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from pytest_django import Settings

from tests import factories
from tests.database import rows
from tests.workspaces import tampering
from tests.workspaces.acts import ACTOR, settle
from tests.workspaces.tampering import length
from workspaces import access, audit, outside, signing
from workspaces.errors import ChainDamaged
from workspaces.models import AuditEntry, AuditHead
from workspaces.services import chains, checkpoints
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.owner
"""Only the owner of the tables removes anything."""

OLD = timedelta(days=8 * 365)


@pytest.fixture
def chain(aurora: WorkspaceRef) -> WorkspaceRef:
    """A chain whose last three entries are from now, and of which everything before is eight years old."""
    now = timezone.now()
    workspace = factories.make_workspace("Old", now=now - OLD)
    with access.bound(workspace.id), transaction.atomic():
        for number in range(4):
            audit.record("thing.do", actor=ACTOR, now=now - OLD + timedelta(days=number))
        for _ in range(3):
            audit.record("thing.do", actor=ACTOR, now=now)
    return workspace


def prune(workspace: WorkspaceRef) -> Any:
    return chains.prune(str(workspace.id), actor=ACTOR, now=timezone.now())


def verdict(workspace: WorkspaceRef) -> chains.Verdict:
    return chains.verify(str(workspace.id), keys=[key.public_key for key in signing.public_keys()])


def numbers(workspace: WorkspaceRef) -> list[int]:
    with access.bound(workspace.id):
        return list(AuditEntry.objects.order_by("seq").values_list("seq", flat=True))


def test_what_is_past_its_time_goes_and_a_checkpoint_stays(chain: WorkspaceRef) -> None:
    """PR-22: the beginning goes, a signed checkpoint stands in its place, and the chain verifies from there."""
    with access.bound(chain.id):
        last_old = AuditEntry.objects.get(seq=5)
    assert numbers(chain) == [1, 2, 3, 4, 5, 6, 7, 8]
    pruned = prune(chain)
    assert (pruned.through, pruned.entries) == (5, 5)
    assert numbers(chain) == [6, 7, 8, 9]
    with access.bound(chain.id):
        head = AuditHead.objects.get()
        entry = AuditEntry.objects.latest("seq")
    assert (head.base_seq, bytes(head.base_hash)) == (5, bytes(last_old.hash))
    signing.verify(head.base_checkpoint, [key.public_key for key in signing.public_keys()])
    assert (entry.act, entry.facts) == ("audit.prune", {"through": 5, "entries": 5})
    found = verdict(chain)
    assert (found.finding, found.state.base, found.state.entries) == ("", 5, 4)
    assert prune(chain) is None


def test_the_workspaces_own_retention_counts(chain: WorkspaceRef) -> None:
    """PR-22: the time is that of the retention document, seven years where nobody changed it."""
    with access.bound(chain.id):
        from workspaces import documents

        body = dict(documents.live("retention")["retention"].body)
    factories.publish(chain, "retention", body | {"audit": "9y"})
    assert prune(chain) is None


def test_a_damaged_chain_keeps_everything(chain: WorkspaceRef) -> None:
    """PR-22: of a chain that does not verify nothing is removed, so that nothing hides the damage."""
    tampering.alter(chain, 2, "act = 'x'")
    with pytest.raises(ChainDamaged, match="entry 2 is the first"):
        prune(chain)
    assert len(numbers(chain)) == 8


def test_the_base_is_verified(chain: WorkspaceRef) -> None:
    """PR-22: a base whose checkpoint is altered, or is of another entry, is a finding."""
    prune(chain)
    with access.bound(chain.id):
        head = AuditHead.objects.get()
        wrong: list[Any] = [None, {}, head.base_checkpoint | {"at": "2020-01-01T00:00:00Z"}]
        for checkpoint in wrong:
            AuditHead.objects.update(base_checkpoint=checkpoint)
            assert "entries 1 to 5" in verdict(chain).finding
        AuditHead.objects.update(base_checkpoint=head.base_checkpoint, base_seq=4)
    assert verdict(chain).finding


def test_more_than_was_signed_for_does_not_go_unseen(chain: WorkspaceRef) -> None:
    """PR-22: an entry behind the base that is gone too is named like any other."""
    prune(chain)
    tampering.remove(chain, 6)
    assert verdict(chain).finding == "entry 6 is the first that does not verify"


def test_checkpoints_of_what_went_do_not_matter(
    chain: WorkspaceRef, tmp_path: Path, settings: Settings
) -> None:
    """PR-22, PR-15b: older checkpoints outside are neither a finding nor a restore, and later ones still agree."""
    settings.CHECKPOINTS_URL = f"file://{tmp_path}"
    document = checkpoints.signed_checkpoint(
        chain=str(chain.id), seq=2, head_hash=b"x", at=timezone.now() - OLD
    )
    with transaction.atomic():
        outside.deliver("checkpoint", f"{chain.id}/2019-2", document)
    outside.deliver_waiting()
    prune(chain)
    assert [lost.chain for lost in checkpoints.lost_history() if lost.chain == str(chain.id)] == []
    checkpoints.make_checkpoints(now=timezone.now())
    outside.deliver_waiting()
    out = StringIO()
    call_command("verify_audit", "--workspace", chain.slug, "--checkpoints", str(tmp_path), stdout=out)
    assert "4 entries verify after 5 that were removed, and 2 checkpoints agree" in out.getvalue()


def call(chain: WorkspaceRef, document: dict[str, Any]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT lastro_maintain_prune_audit(%s, %s)", [str(chain.id), json.dumps(document)])


WRONG: dict[str, dict[str, Any]] = {
    "another kind": {"kind": "receipt"},
    "another chain": {"chain": "deployment"},
    "another hash": {"hash": "00" * 32},
    "another entry": {"seq": 4},
    "past the head": {"seq": 99},
    "no number": {"seq": None},
    "no signature": {"signature": None},
    "a key of nobody": {"key_id": "0" * 32},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
def test_without_its_checkpoint_nothing_goes(chain: WorkspaceRef, change: dict[str, Any]) -> None:
    """PR-22: the function refuses a checkpoint that is not signed, or is not of an entry of this chain."""
    with access.bound(chain.id):
        entry = AuditEntry.objects.get(seq=5)
    good = checkpoints.signed_checkpoint(
        chain=str(chain.id), seq=5, head_hash=bytes(entry.hash), at=timezone.now()
    )
    with pytest.raises(DatabaseError, match="checkpoint"):
        call(chain, good | change)
    assert len(numbers(chain)) == 8
    call(chain, good)
    assert numbers(chain) == [6, 7, 8]


def test_the_owner_removes_nothing_else(chain: WorkspaceRef) -> None:
    """PR-22: after a removal too the owner's own DELETE of what stays, and TRUNCATE, are refused."""
    prune(chain)
    settle()
    for statement in ("DELETE FROM workspaces_auditentry WHERE seq >= 6", "TRUNCATE workspaces_auditentry"):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            rows("default", statement)
    assert length(chain) == 4


def test_the_command_prunes_every_chain(chain: WorkspaceRef) -> None:
    """PR-22: `prune_audit` says of each chain what went."""
    out = StringIO()
    call_command("prune_audit", stdout=out)
    assert f"{chain.id}: 5 entries removed, up to 5" in out.getvalue()
    assert "deployment: nothing to remove" in out.getvalue()
    tampering.alter(chain, 7, "act = 'x'")
    with pytest.raises(CommandError, match="Nothing of it is removed"):
        call_command("prune_audit", stdout=out)
