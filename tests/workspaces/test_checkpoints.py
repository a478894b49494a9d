"""Signed checkpoints outside the database: what a chain alone cannot show, and a restore (PR-22, PR-15b)."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from console import health
from console.schedule import SCHEDULE
from tests import factories
from tests.workspaces import tampering
from tests.workspaces.acts import ACTOR
from tests.workspaces.tampering import length, write
from workspaces import access, outside, signing, tasks
from workspaces.audit import DEPLOYMENT
from workspaces.models import AuditEntry, AuditHead, DeploymentAuditEntry, Outgoing, SigningKey
from workspaces.services import chains, checkpoints
from workspaces.services.signing import rotate_signing_key
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.owner
"""Nobody else can tamper with a chain."""

LONG_AGO = timedelta(hours=2)


@pytest.fixture
def place(db: None, tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """A folder that checkpoints are delivered to."""
    settings.CHECKPOINTS_URL = f"file://{tmp_path}"
    health.forget_history()
    yield tmp_path
    health.forget_history()


@pytest.fixture
def chain(aurora: WorkspaceRef, place: Path) -> WorkspaceRef:
    """A chain with a checkpoint, three more entries, another checkpoint, and two entries after it."""
    now = timezone.now()
    deliver(now - LONG_AGO)
    for number in range(3):
        write(aurora, number)
    deliver(now - LONG_AGO / 2)
    for number in range(2):
        write(aurora, number)
    return aurora


def deliver(now: datetime | None = None) -> None:
    checkpoints.make_checkpoints(now=now or timezone.now())
    outside.deliver_waiting()


def verify(*arguments: str) -> tuple[bool, str]:
    """Run the command; tell whether it succeeded, and what it said."""
    out = StringIO()
    try:
        call_command("verify_audit", *arguments, stdout=out)
    except CommandError:
        return False, out.getvalue()
    return True, out.getvalue()


def delivered(workspace: WorkspaceRef) -> list[dict[str, Any]]:
    return [kept.document for kept in outside.kept("checkpoint", under=str(workspace.id))]


def test_every_chain_has_its_checkpoint(chain: WorkspaceRef, boreal: WorkspaceRef, place: Path) -> None:
    """PR-20b, PR-22: of each chain its name, number, hash and time, with the public keys and their validity, signed."""
    write(chain)
    with access.bound(chain.id):
        head = AuditHead.objects.get()
    deliver()
    last = delivered(chain)[-1]
    assert (last["kind"], last["chain"]) == ("checkpoint", str(chain.id))
    assert (last["seq"], last["hash"]) == (head.seq, bytes(head.hash).hex())
    assert [key["public_key"] for key in last["keys"]] == [key.public_key for key in signing.public_keys()]
    assert {"id", "public_key", "valid_from", "valid_to"} == last["keys"][0].keys()
    signing.verify(last, [last["keys"][-1]["public_key"]])
    assert len(delivered(boreal)) == 1
    assert {path.stat().st_mode & 0o777 for path in place.rglob("*.json")} == {0o600}


def test_without_a_place_no_checkpoint_is_made(aurora: WorkspaceRef, settings: Settings) -> None:
    """PR-22: checkpoints that could not leave are not made."""
    settings.CHECKPOINTS_URL = ""
    before = set(Outgoing.objects.values_list("id", flat=True))
    assert checkpoints.make_checkpoints(now=timezone.now()) == 0
    assert set(Outgoing.objects.values_list("id", flat=True)) == before


def due(now: datetime) -> int:
    """Do what beat asks for every minute; give how many checkpoints of the workspaces of this test left."""
    found = access.workspaces_with("lastro_with_due_checkpoints", now, checkpoints.EVERY)
    made = checkpoints.make_due_checkpoints(found, now=now)
    outside.deliver_waiting()
    return made


def test_each_leaves_once_an_hour(aurora: WorkspaceRef, boreal: WorkspaceRef, place: Path) -> None:
    """PR-22: the first with the first look, whoever looks and however often, and the next one within the hour."""
    write(aurora)
    now = timezone.now()
    tasks.make_checkpoints()
    outside.deliver_waiting()
    due(now)
    assert [len(delivered(each)) for each in (aurora, boreal)] == [1, 1]
    for minutes in (0, 1, 30, 58):
        assert due(now + timedelta(minutes=minutes)) == 0, "A restart makes none sooner."
    new = factories.make_workspace("Cirrus")
    due(now + timedelta(minutes=58))
    assert [len(delivered(each)) for each in (aurora, boreal, new)] == [1, 1, 1]
    due(now + timedelta(hours=1))
    assert [len(delivered(each)) for each in (aurora, boreal, new)] == [2, 2, 1]


def test_a_chain_is_not_kept_back(chain: WorkspaceRef, place: Path) -> None:
    """PR-22: a time in the future, which nobody writes, does not keep checkpoints back; nor do two who look at once."""
    with access.bound(chain.id):
        AuditHead.objects.update(checkpoint_at=timezone.now() + timedelta(days=400))
    before = len(delivered(chain))
    due(timezone.now())
    due(timezone.now())
    assert len(delivered(chain)) == before + 1


def test_a_withheld_one_is_named_once_an_hour(chain: WorkspaceRef, caplog: pytest.LogCaptureFixture) -> None:
    """PR-15b, PR-22: of a chain that is behind none is made, and the log says so as often as one were due."""
    tampering.cut_to(chain, delivered(chain)[0]["seq"])
    before, now = delivered(chain), timezone.now() + timedelta(hours=1)
    for minutes in range(3):
        due(now + timedelta(minutes=minutes))
    assert delivered(chain) == before
    withheld = [line for line in caplog.records if line.message == "checkpoint.withheld"]
    assert [line.__dict__["chain"] for line in withheld] == [str(chain.id)]


def test_beat_looks_every_minute() -> None:
    """PR-22: the first checkpoint leaves within a minute of the start, and not an hour later."""
    assert SCHEDULE["audit.checkpoints"]["schedule"] == 60.0


def test_an_untouched_chain_agrees(chain: WorkspaceRef, place: Path) -> None:
    """PR-22: with and without checkpoints it verifies, by the database's own key or one that was kept."""
    assert verify()[0]
    good, said = verify("--checkpoints", str(place))
    assert good
    assert f"{chain.slug}: {length(chain)} entries verify, and 2 checkpoints agree" in said
    (key,) = [key for key in signing.public_keys() if key.valid_to is None]
    assert verify("--checkpoints", str(place), "--public-key", key.public_key)[0]


def test_a_rewritten_tail_is_found_and_named(chain: WorkspaceRef, place: Path) -> None:
    """PR-22: a tail whose every hash and the head were made anew verifies alone, and not beside its checkpoint."""
    first, second = (one["seq"] for one in delivered(chain))
    tampering.rewrite_to_the_head(chain, first + 2)
    assert verify("--workspace", chain.slug)[0]
    good, said = verify("--workspace", chain.slug, "--checkpoints", str(place))
    assert not good
    assert f"entry {second} is another one" in said
    assert f"something after entry {first} was rewritten" in said


def test_a_tail_that_was_cut_off_is_found_and_named(chain: WorkspaceRef, place: Path) -> None:
    """PR-22: entries and head set back together verify alone, and not beside the checkpoint."""
    first, second = (one["seq"] for one in delivered(chain))
    tampering.cut_to(chain, first + 1)
    assert verify("--workspace", chain.slug)[0]
    good, said = verify("--workspace", chain.slug, "--checkpoints", str(place))
    assert not good
    assert f"the chain ends at entry {first + 1}" in said
    assert str(second) in said


@pytest.mark.parametrize("way", ["altered", "removed", "swapped"])
def test_what_a_chain_shows_alone_is_named_with_checkpoints_too(
    chain: WorkspaceRef, place: Path, way: str
) -> None:
    """PR-22: one bit altered, an entry removed, two swapped: the first bad one is named, and the command fails."""
    seq = delivered(chain)[0]["seq"] + 1
    {
        "altered": lambda: tampering.alter(chain, seq, "hash = set_bit(hash, 7, 1 - get_bit(hash, 7))"),
        "removed": lambda: tampering.remove(chain, seq),
        "swapped": lambda: tampering.swap(chain, seq),
    }[way]()
    for arguments in ((), ("--checkpoints", str(place))):
        good, said = verify(*arguments)
        assert not good
        assert f"{chain.slug}: entry {seq} is the first that does not verify" in said


def test_an_altered_checkpoint_is_named(chain: WorkspaceRef, place: Path) -> None:
    """PR-20b, PR-22: a file that was touched fails by its signature, with its name."""
    file = sorted((place / "checkpoint" / str(chain.id)).iterdir())[0]
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"seq": document["seq"] + 1}))
    good, said = verify("--checkpoints", str(place))
    assert not good
    assert f"{chain.id}/{file.stem}: altered since it was signed" in said
    file.write_text("{")
    with pytest.raises(CommandError, match="not JSON"):
        call_command("verify_audit", checkpoints=place)


def test_a_forger_with_another_key_is_named(chain: WorkspaceRef, place: Path) -> None:
    """PR-22: who rewrites the chain and the folder with a key of their own is shown by the key that was kept."""
    (kept,) = [key.public_key for key in signing.public_keys() if key.valid_to is None]
    SigningKey.objects.all().delete()
    for file in place.rglob("*.json"):
        document = json.loads(file.read_text())
        file.write_text(json.dumps(signing.sign(document | {"keys": []})))
    assert verify("--checkpoints", str(place))[0]
    good, said = verify("--checkpoints", str(place), "--public-key", kept)
    assert not good
    assert "not among the given ones" in said


def test_the_first_key_is_enough_after_rotations(chain: WorkspaceRef, place: Path) -> None:
    """PR-20b, PR-22: a key that was kept once vouches for later ones, through the checkpoints that name them."""
    (kept,) = [key.public_key for key in signing.public_keys() if key.valid_to is None]
    for _ in range(2):
        deliver()
        rotate_signing_key(actor=ACTOR, now=timezone.now())
        deliver()
    good, said = verify("--checkpoints", str(place), "--public-key", kept)
    assert good, said
    for file in (place / "signing-key").iterdir():
        file.unlink()
    assert not verify("--checkpoints", str(place), "--public-key", kept)[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--checkpoints", "/no/such/folder"), "no such folder"),
        (("--public-key", "secret"), "base64 of 32 bytes"),
        (("--workspace", "nobody"), "no workspace"),
    ],
)
def test_a_bad_argument_is_said(db: None, arguments: tuple[str, ...], said: str) -> None:
    """PR-22: the command says in a sentence what it cannot use."""
    with pytest.raises(CommandError, match=said):
        call_command("verify_audit", *arguments)


def test_a_chain_that_is_gone_is_named(chain: WorkspaceRef, place: Path) -> None:
    """PR-22: checkpoints of a workspace that the database does not know are a finding."""
    folder = place / "checkpoint" / str(chain.id)
    signed = signing.sign(delivered(chain)[0] | {"chain": "00000000-0000-4000-8000-000000000000"})
    (folder / "of-nobody.json").write_text(json.dumps(signed))
    good, said = verify("--checkpoints", str(place))
    assert not good
    assert "00000000-0000-4000-8000-000000000000: 1 checkpoints, and this database has no such chain" in said


# The verification that runs by itself


def note(workspace: WorkspaceRef) -> AuditHead:
    chains.verify_and_note(str(workspace.id), now=timezone.now())
    with access.bound(workspace.id):
        return AuditHead.objects.get()


def test_a_verification_is_noted(chain: WorkspaceRef) -> None:
    """PR-22: what the last verification found, and when, stands beside the chain."""
    head = note(chain)
    assert (head.verified_seq, head.finding) == (length(chain), "")
    assert head.verified_at is not None


def test_a_finding_alerts_the_security_people_once(
    chain: WorkspaceRef, django_capture_on_commit_callbacks: Any
) -> None:
    """PR-22: of a chain that does not verify the security people get one mail, and nobody else does."""
    security = factories.make_person(chain, "security")
    factories.make_person(chain, "owner")
    first, _ = (one["seq"] for one in delivered(chain))
    tampering.rewrite_to_the_head(chain, first + 2)
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            head = note(chain)
    assert "was rewritten" in head.finding
    (sent,) = [found for found in mail.outbox if "does not verify" in found.subject]
    assert sent.to == [security.email]
    assert str(chain.id) in sent.body


def test_a_damaged_file_stops_neither_the_others_nor_their_verification(
    chain: WorkspaceRef, boreal: WorkspaceRef, place: Path
) -> None:
    """PR-22: a checkpoint that cannot be read is a finding of its chain; other chains get theirs."""
    (place / "checkpoint" / str(chain.id) / "29990101T000000.000000Z-9.json").write_text("{")
    assert "cannot be read" in note(chain).finding
    deliver()
    assert note(boreal).finding == ""
    assert len(delivered(boreal)) == 1


# After a restore


def ready() -> tuple[int, str]:
    answer = Client().get("/readyz")
    return answer.status_code, answer.json()["status"]


def test_a_restored_database_is_not_ready(chain: WorkspaceRef) -> None:
    """PR-15b: a head behind its last checkpoint outside makes the server not ready, until it is dealt with."""
    assert ready() == (200, "ready")
    first, second = (one["seq"] for one in delivered(chain))
    tampering.cut_to(chain, first)
    health.forget_history()
    assert ready() == (503, "restore_detected")
    (lost,) = checkpoints.accept_restore(actor=ACTOR, now=timezone.now(), reason="A backup was restored")
    assert (lost.chain, lost.checkpoint.seq, lost.found_seq) == (str(chain.id), second, first)
    assert ready() == (200, "ready")
    with access.bound(chain.id):
        entry = AuditEntry.objects.latest("seq")
    assert (entry.act, entry.object_id) == ("restore.accept", str(chain.id))
    assert entry.facts == {"after": first, "lost": second, "found": first}
    assert entry.reason == "A backup was restored"


def test_the_command_that_erases_again_makes_the_server_ready(chain: WorkspaceRef, place: Path) -> None:
    """PR-15b: `reapply_erasures FOLDER` runs the erasures again and then accepts the restore."""
    tampering.cut_to(chain, delivered(chain)[0]["seq"])
    assert ready() == (503, "restore_detected")
    out = StringIO()
    call_command("reapply_erasures", str(place), stdout=out)
    assert "1 audit chains had lost entries" in out.getvalue()
    assert ready() == (200, "ready")


def test_a_sound_database_is_looked_at_once_a_minute(
    chain: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-15b: readiness does not compare every chain at each question."""
    asked = Mock(return_value=[])
    monkeypatch.setattr(checkpoints, "lost_history", asked)
    assert [ready(), ready()] == [(200, "ready")] * 2
    assert asked.call_count == 1


def test_another_history_of_the_same_length_is_detected(chain: WorkspaceRef) -> None:
    """PR-15b: a restored database that went on from its backup is not the one that the checkpoint saw."""
    first, _ = (one["seq"] for one in delivered(chain))
    tampering.cut_to(chain, first)
    for number in range(10):
        write(chain, number)
    assert ready() == (503, "restore_detected")


def test_no_checkpoint_hides_a_restore(chain: WorkspaceRef) -> None:
    """PR-15b: of a chain that is behind its checkpoints none is made, which would be taken for the last."""
    before = delivered(chain)
    tampering.cut_to(chain, before[0]["seq"])
    deliver()
    assert delivered(chain) == before
    assert ready() == (503, "restore_detected")


def test_what_a_restore_lost_is_said_and_the_rest_still_verifies(chain: WorkspaceRef, place: Path) -> None:
    """PR-15b, PR-22: after it was accepted the lost checkpoints are named as given up, and all others still count."""
    first, _ = (one["seq"] for one in delivered(chain))
    tampering.cut_to(chain, first)
    checkpoints.accept_restore(actor=ACTOR, now=timezone.now() - LONG_AGO / 4)
    write(chain)
    deliver()
    good, said = verify("--workspace", chain.slug, "--checkpoints", str(place))
    assert good, said
    assert "1 checkpoints were given up by a restore that was accepted" in said
    tampering.rewrite_to_the_head(chain, first + 1)
    assert not verify("--workspace", chain.slug, "--checkpoints", str(place))[0]


def test_a_workspace_that_the_backup_did_not_know(chain: WorkspaceRef, place: Path) -> None:
    """PR-15b: a workspace that was made after the backup is missed, and its loss stands in the deployment's audit."""
    name = "00000000-0000-4000-8000-000000000000"
    folder = place / "checkpoint" / name
    folder.mkdir()
    signed = signing.sign(delivered(chain)[0] | {"chain": name})
    (folder / "20260101T000000.000000Z-1.json").write_text(json.dumps(signed))
    (place / "checkpoint" / "lost+found").mkdir()
    assert ready() == (503, "restore_detected")
    checkpoints.accept_restore(actor=ACTOR, now=timezone.now())
    assert ready() == (200, "ready")
    assert DeploymentAuditEntry.objects.latest("seq").object_id == name
    assert verify("--checkpoints", str(place))[0]


def test_the_deployments_own_chain_counts(chain: WorkspaceRef) -> None:
    """PR-15b: so does a deployment's chain that is behind."""
    rotate_signing_key(actor=ACTOR, now=timezone.now())
    deliver()
    last = outside.last_kept("checkpoint", under=DEPLOYMENT)
    assert last is not None
    signed = signing.sign(last.document | {"seq": last.document["seq"] + 5})
    file = outside.folder()
    assert file is not None
    (file / "checkpoint" / DEPLOYMENT / "29990101T000000.000000Z-9.json").write_text(json.dumps(signed))
    assert ready() == (503, "restore_detected")
    checkpoints.accept_restore(actor=ACTOR, now=datetime.fromisoformat("2999-01-02T00:00:00Z"))
    assert ready() == (200, "ready")


def test_a_place_that_cannot_be_read_is_warned_about(chain: WorkspaceRef, place: Path) -> None:
    """PR-15b: a damaged file makes nobody wait: the server is ready, with a warning."""
    (place / "checkpoint" / str(chain.id) / "29990101T000000.000000Z-9.json").write_text("{")
    body = Client().get("/readyz").json()
    assert (body["status"], body["warnings"]) == ("ready", ["checkpoints_unreadable"])


def test_documents_that_wait_are_warned_about(chain: WorkspaceRef) -> None:
    """PR-22: what has waited for a quarter of an hour to leave is a warning."""
    Outgoing.objects.create(
        kind="erasure", name="x", document={}, made_at=timezone.now() - timedelta(minutes=16)
    )
    body = Client().get("/readyz").json()
    assert (body["status"], body["warnings"]) == ("ready", ["documents_wait_to_leave"])
