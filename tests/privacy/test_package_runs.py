"""A package over its life: asked for, followed, downloaded, revoked, expired, erased (PR-18, PR-19, PR-20)."""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from console.logging import ContentFreeFormatter
from privacy.models import PackageChunk, PackageRun
from privacy.selectors import packages as selectors
from privacy.services import packages
from privacy.tasks import build_packages, sweep_all_packages
from tests import factories
from tests.api import InProcess
from tests.privacy.packages import (
    JOANA,
    MARIA,
    build,
    content,
    download,
    link,
    opened,
    profile_of,
    request,
    token,
)
from workspaces import access, encryption
from workspaces.errors import Conflict, KeyDestroyed, Tampered
from workspaces.models import AuditEntry, Profile
from workspaces.types import WorkspaceRef

Zip = Callable[[Any], Iterator[bytes]]


@pytest.fixture
def maria(aurora: WorkspaceRef, agent: InProcess) -> Profile:
    """A person in Aurora whom a state names."""
    assert agent.write(factories.write({"remark": "two lemons"}, subject=MARIA)).body["stored"]
    return profile_of(aurora, MARIA)


@contextmanager
def within(workspace: WorkspaceRef, run: PackageRun) -> Iterator[PackageRun]:
    with access.bound(workspace.id):
        yield run.refresh()


def make_large(monkeypatch: pytest.MonkeyPatch, *, size_bytes: int) -> None:
    """Let every package be this long: the bytes of its zip are random, and no state is stored for them."""
    import os

    def parts(_: Any) -> Iterator[bytes]:
        for start in range(0, size_bytes, 100_000):
            yield os.urandom(min(100_000, size_bytes - start))

    monkeypatch.setattr(selectors.Contents, "parts", parts)


def test_a_package_is_asked_for_followed_and_downloaded(
    aurora: WorkspaceRef, admin: InProcess, maria: Profile
) -> None:
    """PR-18: 202 with the run to follow; then the link, the digest of each file and of the zip."""
    asked = admin.post("/v1/export", {"profile_id": str(maria.id), "reason": "Request 42"})
    assert (asked.status, asked.body["status"]) == (202, "waiting")
    assert (asked.body["download_url"], asked.body["files"], asked.body["sha256"]) == (None, {}, None)
    build_packages()
    followed = admin.get(f"/v1/export/{asked.body['run_id']}")
    assert (followed.status, followed.body["status"]) == (200, "ready")
    answer = download(followed.body["download_url"])
    raw = content(answer)
    assert followed.body["sha256"] == hashlib.sha256(raw).hexdigest()
    found = opened(raw)
    assert followed.body["files"] == {
        name: hashlib.sha256(text).hexdigest() for name, text in found.files.items()
    }
    assert followed.body["counts"] == {
        "handles.jsonl": 1,
        "agent_states.jsonl": 1,
        "history.jsonl": 0,
        "graph.jsonl": 0,
        "erasures.jsonl": 0,
    }


def test_a_package_that_is_built_in_time_is_answered_with_201(
    aurora: WorkspaceRef, admin: InProcess, maria: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-18: the call waits, and answers 201 with the link; a person is named by any spelling of a handle."""
    monkeypatch.setattr(selectors, "WAIT_SECONDS", 4.0)
    monkeypatch.setattr("privacy.views.packages.wake_builder", build_packages)
    answer = admin.post("/v1/export", {"handle": {"type": "wa_id", "value": "5511912345678"}})
    assert (answer.status, answer.body["profile_id"]) == (201, str(maria.id))
    assert answer.body["download_url"]
    assert content(download(answer.body["download_url"]))


def test_one_call_of_a_process_waits(
    aurora: WorkspaceRef, admin: InProcess, maria: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-18: while one call waits, another answers 202 at once; so does one that asks not to be kept waiting."""
    monkeypatch.setattr(selectors, "WAIT_SECONDS", 30.0)
    began = time.monotonic()
    with selectors._waiting:
        answer = admin.post("/v1/export", {"profile_id": str(maria.id)})
    assert answer.status == 202
    impatient = admin.post("/v1/export", {"profile_id": str(maria.id)}, Prefer="respond-async")
    assert impatient.status == 202
    assert time.monotonic() - began < 20


def test_a_request_sent_again_gets_the_same_package(
    aurora: WorkspaceRef, admin: InProcess, maria: Profile
) -> None:
    """PR-18, PL-10: the same Idempotency-Key gives the same run, and its link once there is one; none is kept."""
    from workspaces.models import RememberedAnswer

    body, headers = {"profile_id": str(maria.id)}, {"Idempotency-Key": "export-1"}
    first = admin.post("/v1/export", body, **headers)
    build_packages()
    again = admin.post("/v1/export", body, **headers)
    assert (first.status, again.status) == (202, 201)
    assert again.body["run_id"] == first.body["run_id"]
    with access.bound(aurora.id):
        assert RememberedAnswer.objects.get().answer == {"run_id": first.body["run_id"]}
    other = admin.post("/v1/export", {"handle": MARIA}, **headers)
    assert (other.status, other.code) == (409, "conflict")


def test_who_asks_meanwhile_gets_the_same_package(
    aurora: WorkspaceRef, admin: InProcess, maria: Profile
) -> None:
    """PR-18: two requests for one person, while none is built, are one package; a later one is another."""
    first, second = (admin.post("/v1/export", {"profile_id": str(maria.id)}).body["run_id"] for _ in range(2))
    assert first == second
    build_packages()
    assert admin.post("/v1/export", {"profile_id": str(maria.id)}).body["run_id"] != first
    with access.bound(aurora.id):
        joined = [
            entry.facts["joined"]
            for entry in AuditEntry.objects.filter(act="package.request").order_by("seq")
        ]
    assert joined == [False, True, False]


def test_a_download_is_an_attachment_that_nobody_keeps(
    aurora: WorkspaceRef, maria: Profile, caplog: pytest.LogCaptureFixture
) -> None:
    """PR-19: attachment, no-store, nosniff, sandboxed; the token is in no log line."""
    caplog.set_level(logging.DEBUG)
    run = build(aurora)
    address = link(aurora, run)
    answer = download(address)
    raw = content(answer)
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"] == f'attachment; filename="package-{run.id}.zip"'
    assert answer["Cache-Control"] == "no-store"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer["Content-Length"] == str(len(raw))
    lines = "\n".join(map(ContentFreeFormatter().format, caplog.records))
    assert '"route":"package-download"' in lines
    assert token(address) not in lines


def test_each_download_is_audited(aurora: WorkspaceRef, maria: Profile) -> None:
    """PR-19, PR-21, PR-24: an entry for each download, before its first byte, with no token in it."""
    run = build(aurora)
    address = link(aurora, run)
    answer = download(address)
    with access.bound(aurora.id):
        assert AuditEntry.objects.filter(act="package.download").count() == 1
    content(answer)
    content(download(address))
    with within(aurora, run) as found:
        entries = list(
            AuditEntry.objects.filter(object_kind="package", object_id=str(run.id)).order_by("seq")
        )
        assert [entry.act for entry in entries] == ["package.build", "package.download", "package.download"]
        assert [entry.facts.get("number") for entry in entries] == [None, 1, 2]
        assert (entries[1].actor_kind, entries[1].address) == ("link", "127.0.0.1")
        assert found.downloads == 2
        whole = repr([vars(entry) for entry in AuditEntry.objects.all()])
    assert token(address) not in whole


def test_looking_at_a_link_is_no_download(aurora: WorkspaceRef, maria: Profile) -> None:
    """PR-19: HEAD, which programs send to links, is refused and counts as nothing."""
    run = build(aurora)
    address = link(aurora, run)
    assert Client(raise_request_exception=False).head(address).status_code == 405
    with within(aurora, run) as found:
        assert found.downloads == 0


def test_a_token_has_256_bits_and_is_stored_hashed(aurora: WorkspaceRef, maria: Profile) -> None:
    """PR-19: 43 characters of base64 are 256 bits; the row holds their SHA-256 and nothing else of them."""
    run = build(aurora)
    text = token(link(aurora, run))
    with within(aurora, run) as found:
        assert len(text) == 43
        assert bytes(found.token_hash or b"") == hashlib.sha256(text.encode()).digest()
        assert text not in repr(vars(found))


REFUSED: dict[str, Callable[[str], str]] = {
    "another token": lambda address: address[:-1] + ("A" if address[-1] != "A" else "B"),
    "no token": lambda address: address.partition("?")[0],
    "an empty token": lambda address: address.partition("=")[0] + "=",
    "a token with a NUL": lambda address: address + "%00",
    "half a surrogate pair": lambda address: address.partition("=")[0] + "=%ED%A0%80",
    "the package of another": lambda address: f"/v1/packages/{uuid4()}/download?" + address.partition("?")[2],
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_a_link_that_is_not_right_opens_nothing(
    aurora: WorkspaceRef, maria: Profile, change: Callable[[str], str]
) -> None:
    """PR-19, PL-8: 404, as for a package that does not exist; the link itself opens it."""
    address = link(aurora, build(aurora))
    answer = download(change(address))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert download(address).status_code == 200


def test_an_expired_link_opens_nothing(aurora: WorkspaceRef, admin: InProcess, maria: Profile) -> None:
    """PR-19, PR-20: 24 hours after it was built by default, whether or not the sweep ran."""
    run = build(aurora)
    address = link(aurora, run)
    with within(aurora, run) as found:
        assert found.built_at is not None
        assert found.expires_at == found.built_at + timedelta(hours=24)
        PackageRun.objects.update(expires_at=timezone.now())
    assert download(address).status_code == 404
    followed = admin.get(f"/v1/export/{run.id}")
    assert (followed.body["status"], followed.body["download_url"]) == ("expired", None)


def test_the_time_is_that_of_the_retention_document(aurora: WorkspaceRef, maria: Profile) -> None:
    """PR-19: `packages` of the retention document says how long a package is kept."""
    from workspaces.rules.documents import DEFAULTS

    factories.publish(aurora, "retention", DEFAULTS["retention"] | {"packages": "3d"})
    with within(aurora, build(aurora)) as run:
        assert run.built_at is not None
        assert run.expires_at == run.built_at + timedelta(days=3)


def test_a_fresh_link_replaces_the_one_before(aurora: WorkspaceRef, maria: Profile) -> None:
    """PR-19: one link opens a package at a time."""
    run = build(aurora)
    before = link(aurora, run)
    with access.bound(aurora.id):
        packages.renew_link(
            workspace=aurora, run_id=run.id, reason="Lost", actor=factories.SYSTEM, now=timezone.now()
        )
    after = link(aurora, run)
    assert before != after
    assert download(before).status_code == 404
    assert content(download(after))


@pytest.fixture
def lasting(committed: None) -> WorkspaceRef:
    """A workspace whose writes are committed, with two people in it."""
    workspace = factories.make_ready_workspace("Paquete")
    for number, handle in enumerate((MARIA, JOANA)):
        factories.make_state(workspace, body={"remark": f"of {number}"}, subject=handle)
    return workspace


def revoke(workspace: WorkspaceRef, run: PackageRun) -> None:
    with access.bound(workspace.id):
        packages.revoke_package(
            workspace=workspace, run_id=run.id, reason="A mistake", actor=factories.SYSTEM, now=timezone.now()
        )


def test_a_revoked_package_is_gone(lasting: WorkspaceRef) -> None:
    """PR-19, PR-15: its link opens nothing, its key is destroyed at once, and the sweep removes its chunks."""
    run = build(lasting)
    address, key_id = link(lasting, run), run.data_key_id
    revoke(lasting, run)
    assert download(address).status_code == 404
    with within(lasting, run) as found:
        assert (found.status, found.token_hash, found.chunks) == ("revoked", None, 1)
        with pytest.raises(KeyDestroyed):
            encryption.open_key(lasting, key_id)
    sweep_all_packages()
    with within(lasting, run) as found:
        assert (found.chunks, PackageChunk.objects.count()) == (0, 0)
    with pytest.raises(Conflict):
        revoke(lasting, run)


def test_the_sweep_removes_what_has_expired(lasting: WorkspaceRef, monkeypatch: pytest.MonkeyPatch) -> None:
    """PR-19, PR-20: in bounded batches; a package of somebody else stays."""
    make_large(monkeypatch, size_bytes=700_000)
    run, other = build(lasting), build(lasting, JOANA)
    monkeypatch.setattr(packages, "SWEPT_AT_ONCE", 4)
    with access.bound(lasting.id):
        assert PackageChunk.objects.count() == 22
        PackageRun.objects.filter(id=run.id).update(expires_at=timezone.now())
        now = timezone.now()
        batches = [packages.sweep_packages(workspace=lasting, now=now) for _ in range(4)]
        assert [batch.expired for batch in batches] == [1, 0, 0, 0]
        assert [batch.chunks for batch in batches] == [4, 4, 3, 0]
        assert PackageChunk.objects.values_list("run_id").distinct().get() == (other.id,)
    with within(lasting, run) as found:
        assert (found.status, found.chunks, found.data_key_id) == ("expired", 0, None)
    assert content(download(link(lasting, other)))


def test_an_erasure_takes_the_packages_of_a_person(
    lasting: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-10, PR-13: nothing of their packages is left, each counts once, and those of others stay."""
    make_large(monkeypatch, size_bytes=700_000)
    runs = [build(lasting), build(lasting)]
    other = build(lasting, JOANA)
    waiting = request(lasting)
    ids, total = [runs[0].profile_id], packages.Erased()
    with access.bound(lasting.id):
        while True:
            batch = packages.erase_packages(workspace=lasting, profile_ids=ids, limit=5)
            assert batch.chunks <= 5
            total = packages.Erased(total.packages + batch.packages, total.chunks + batch.chunks)
            if batch == packages.Erased():
                break
        assert (total.packages, total.chunks) == (3, 22)
        assert not PackageRun.objects.filter(id=waiting.id)
        assert [run.id for run in PackageRun.objects.all()] == [other.id]
        for run in runs:
            with pytest.raises(KeyDestroyed):
                encryption.open_key(lasting, run.data_key_id)
    assert content(download(link(lasting, other)))


HARM: dict[str, Callable[[list[PackageChunk]], None]] = {
    "the last is gone": lambda chunks: chunks[-1].delete() and None,
    "one is gone": lambda chunks: chunks[5].delete() and None,
    "two are exchanged": lambda chunks: exchange(chunks[3], chunks[4]),
    "a bit is turned": lambda chunks: turn(chunks[20]),
}


def exchange(first: PackageChunk, second: PackageChunk) -> None:
    first.sealed, second.sealed = second.sealed, first.sealed
    first.save()
    second.save()


def turn(chunk: PackageChunk) -> None:
    sealed = bytearray(chunk.sealed)
    sealed[-1] ^= 1
    chunk.sealed = bytes(sealed)
    chunk.save()


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_harmed_package_is_refused(
    aurora: WorkspaceRef,
    maria: Profile,
    monkeypatch: pytest.MonkeyPatch,
    harm: Callable[[list[PackageChunk]], None],
) -> None:
    """PL-12, PR-19: the download breaks off before the first byte that does not verify."""
    make_large(monkeypatch, size_bytes=2_000_000)
    run = build(aurora)
    whole = content(download(link(aurora, run)))
    with access.bound(aurora.id):
        harm(list(PackageChunk.objects.order_by("index")))
    answer = download(link(aurora, run))
    got = []
    with pytest.raises(Tampered):
        got.extend(answer.streaming_content)
    assert len(b"".join(got)) < len(whole)
    assert whole.startswith(b"".join(got))


def test_a_package_whose_beginning_is_harmed_is_a_problem(aurora: WorkspaceRef, maria: Profile) -> None:
    """PL-12, PL-8: what can be said before the first byte is said as a problem."""
    run = build(aurora)
    with access.bound(aurora.id):
        turn(PackageChunk.objects.get(index=0))
    answer = Client(raise_request_exception=False).get(link(aurora, run))
    assert (answer.status_code, answer.json()["code"]) == (500, "stored_data_damaged")


def test_a_package_revoked_on_its_way_breaks_off(
    aurora: WorkspaceRef, maria: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-19: who is in the middle of a download gets no more than the megabyte that was read."""
    make_large(monkeypatch, size_bytes=5_000_000)
    run = build(aurora)
    stream = iter(download(link(aurora, run)).streaming_content)
    got = [next(stream)]
    revoke(aurora, run)
    with pytest.raises(Tampered):
        got.extend(stream)
    assert len(b"".join(got)) < 1_100_000


def test_nobody_else_sees_a_package(
    aurora: WorkspaceRef, stranger: InProcess, agent: InProcess, maria: Profile
) -> None:
    """PL-1, PL-3: another workspace's admin and a key without the scope get nothing."""
    run = build(aurora)
    assert stranger.get(f"/v1/export/{run.id}").status == 404
    assert stranger.post("/v1/export", {"profile_id": str(maria.id)}).status == 404
    assert stranger.post("/v1/export", {"handle": MARIA}).status == 404
    assert agent.get(f"/v1/export/{run.id}").code == "scope_missing"
    assert agent.post("/v1/export", {"profile_id": str(maria.id)}).code == "scope_missing"


BAD: list[tuple[str, Any, str]] = [
    ("nothing is named", {}, ""),
    ("both are named", {"profile_id": str(uuid4()), "handle": MARIA}, ""),
    ("a profile that is no id", {"profile_id": "maria"}, "/profile_id"),
    ("a handle of no type", {"handle": {"type": "name", "value": "Maria"}}, "/handle/type"),
    ("a handle that is none", {"handle": {"type": "phone_e164", "value": "Maria"}}, "/handle/value"),
    ("a reason that is a story", {"handle": MARIA, "reason": "x" * 501}, "/reason"),
    ("a reason with a NUL", {"handle": MARIA, "reason": "\0"}, "/reason"),
    ("a member that is unknown", {"handle": MARIA, "format": "pdf"}, ""),
]


@pytest.mark.parametrize(("body", "pointer"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_bad_request_is_refused(admin: InProcess, maria: Profile, body: Any, pointer: str) -> None:
    """PL-8: 422 with the place of what is wrong; the good request is taken."""
    answer = admin.post("/v1/export", body)
    assert (answer.status, answer.code) == (422, "invalid_input")
    assert [problem["pointer"] for problem in answer.body["errors"]] == [pointer]
    assert admin.post("/v1/export", {"handle": MARIA, "reason": "Request 42"}).status == 202


def test_a_reason_is_kept_without_a_person(aurora: WorkspaceRef, admin: InProcess, maria: Profile) -> None:
    """PR-23: what the detectors find in a reason is masked before it is kept."""
    admin.post("/v1/export", {"handle": MARIA, "reason": "Asked by maria.silva@example.com"})
    with access.bound(aurora.id):
        assert "silva" not in PackageRun.objects.get().reason
        assert "silva" not in AuditEntry.objects.get(act="package.request").reason


def test_a_package_is_built_although_the_feature_is_off(aurora: WorkspaceRef, maria: Profile) -> None:
    """PR-4, PR-18: turning a feature off deletes nothing, so what is stored is told."""
    factories.switch(aurora, "agent_state", on=False)
    run = build(aurora)
    assert len(opened(content(download(link(aurora, run)))).lines("agent_states.jsonl")) == 1
