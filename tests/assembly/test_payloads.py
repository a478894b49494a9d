"""Payloads come and go byte for byte, to their source alone, and nothing else of them stands anywhere (CA-4)."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assembly.models import Graph, GraphRecord, LooseBlob, Payload
from assembly.rules.payloads import INLINE_BYTES, MAX_PAYLOAD_BYTES
from assembly.selectors.payloads import open_download
from assembly.services import payloads as services
from tests import factories
from tests.api import InProcess
from tests.assembly.artifacts import blobs, declare, get, path_of
from tests.assembly.graphs import Story
from workspaces import access
from workspaces.errors import NotFound
from workspaces.types import WorkspaceRef

LARGE = INLINE_BYTES + 1
KINDS: dict[str, bytes] = {
    "nothing": b"",
    "a zero byte": b"\x00",
    "text": "Número 1\r\nnumber 2\u2028\n".encode(),
    "no UTF-8": bytes(range(256)) * 7,
    "half a character": "é".encode()[:1],
    "just not a blob": os.urandom(INLINE_BYTES),
    "just a blob": os.urandom(LARGE),
    "a chunk as it is sealed": os.urandom(2 * 64 * 1024),
    "zeros, which compress to nothing": bytes(3_000_000),
    "a zip in a zip": hashlib.sha256(b"x").digest() * 40_000,
}


@pytest.mark.parametrize("content", KINDS.values(), ids=KINDS)
def test_bytes_come_back_as_they_were_sent(
    home: WorkspaceRef, story: Story, api: InProcess, content: bytes
) -> None:
    """CA-4: of every kind and size, with their declared type, as an attachment that no browser opens."""
    payload_id = declare(story, content)
    answer = api.put(path_of(payload_id), content, **{"Content-Type": "application/x-whatever"})
    stored = {
        "payload_id": str(payload_id),
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    assert (answer.status, answer.body) == (200, {**stored, "outcome": "stored"})
    got = get(api, payload_id)
    assert (got.status, got.content) == (200, content)
    wanted = {
        "content-type": "text/csv",
        "content-length": str(len(content)),
        "content-disposition": f'attachment; filename="payload-{payload_id}"',
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; sandbox",
    }
    assert wanted.items() <= got.headers.items()
    assert api.put(path_of(payload_id), content).body["outcome"] == "unchanged"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.binary(max_size=64), sizes=st.tuples(st.integers(0, 300_000), st.integers(1, 300_000)))
def test_any_bytes_come_back(
    home: WorkspaceRef, story: Story, api: InProcess, seed: bytes, sizes: tuple[int, int]
) -> None:
    """CA-4: whatever is repeated how often, and wherever the parts of a request are cut."""
    size, cut = sizes
    content = (seed * (size // max(len(seed), 1) + 1))[:size]
    with access.bound(home.id):
        payload_id = declare(story, content)
        caller = factories.make_caller(home, scopes=("context",))
        parts = (content[at : at + cut] for at in range(0, len(content), cut))
        services.store(caller=caller, payload_id=payload_id, parts=parts, now=timezone.now())
    assert get(api, payload_id).content == content


@pytest.mark.parametrize("size", [10, LARGE])
def test_other_bytes_are_refused_and_nothing_is_kept(
    home: WorkspaceRef, story: Story, api: InProcess, own_store: Path, size: int
) -> None:
    """CA-4: another size or another digest is 422; the payload is awaited as before, and then taken."""
    content = os.urandom(size)
    payload_id = declare(story, content)
    turned = bytes([content[0] ^ 1]) + content[1:]
    for other in (b"", content[:-1], content + b"\x00", turned):
        answer = api.put(path_of(payload_id), other)
        assert (answer.status, answer.code) == (422, "payload_mismatch")
        assert (get(api, payload_id).status, get(api, payload_id).code) == (409, "payload_awaited")
    assert blobs() == {}
    with access.bound(home.id):
        assert not LooseBlob.objects.exists()
    assert api.put(path_of(payload_id), content).status == 200
    assert api.put(path_of(payload_id), turned).code == "payload_mismatch"
    assert get(api, payload_id).content == content


@pytest.mark.parametrize(
    ("columns", "refusal"),
    [
        ({}, (403, "forbidden")),
        ({"visibility": "audit"}, (404, "not_found")),
        ({"privacy": "secret"}, (404, "not_found")),
    ],
)
def test_only_the_source_that_recorded_it(
    home: WorkspaceRef,
    story: Story,
    api: InProcess,
    columns: dict[str, str],
    refusal: tuple[int, str],
) -> None:
    """CA-4: another source of the workspace neither gets nor sends it; of `audit` and `secret` it learns nothing."""
    content = b"of one source"
    payload_id = declare(story, content, **columns)
    other = InProcess(factories.make_key(home, "context", source="another backend"))
    for stage in ("awaited", "stored"):
        sent = other.put(path_of(payload_id), content)
        got = get(other, payload_id)
        assert (sent.status, sent.code) == (got.status, got.code) == refusal, stage
        assert api.put(path_of(payload_id), content).status == 200
    same_source = InProcess(factories.make_key(home, "context"))
    assert get(same_source, payload_id).content == content


def _expire_record(payload_id: UUID) -> None:
    GraphRecord.objects.update(expires_at=timezone.now())


def _expire_graph(payload_id: UUID) -> None:
    Graph.objects.update(due_at=timezone.now())


def _erase_record(payload_id: UUID) -> None:
    GraphRecord.objects.update(erasure_id=uuid4())


def _erase_graph(payload_id: UUID) -> None:
    Graph.objects.update(erasure_id=uuid4())


GONE: tuple[Callable[[UUID], None], ...] = (_expire_record, _expire_graph, _erase_record, _erase_graph)


@pytest.mark.parametrize("go", GONE)
def test_what_is_over_is_not_there(
    home: WorkspaceRef, story: Story, api: InProcess, go: Callable[[UUID], None]
) -> None:
    """PR-11, PR-20: expired or being erased, a payload is as if it had never been, to its own source too."""
    payload_id = declare(story, b"short-lived")
    assert api.put(path_of(payload_id), b"short-lived").status == 200
    with access.bound(home.id):
        go(payload_id)
    assert get(api, payload_id).status == 404
    assert api.put(path_of(payload_id), b"short-lived").status == 404


def test_a_download_ends_with_an_erasure(home: WorkspaceRef, story: Story, api: InProcess) -> None:
    """PR-11: who is in the middle of a payload gets no more than a megabyte of it."""
    content = os.urandom(3_000_000)
    payload_id = declare(story, content)
    assert api.put(path_of(payload_id), content).status == 200
    with access.bound(home.id):
        caller = factories.make_caller(home, scopes=("context",))
        download = open_download(caller, payload_id, now=timezone.now())
        got = [next(download.parts)]
        _erase_record(payload_id)
    with pytest.raises(NotFound):
        got.extend(download.parts)
    assert len(b"".join(got)) <= 1024 * 1024
    assert content.startswith(b"".join(got))


@pytest.mark.parametrize("size", [100, LARGE])
def test_a_head_answers_as_a_get_without_its_bytes(
    home: WorkspaceRef, story: Story, api: InProcess, size: int
) -> None:
    """CA-4: the length and the type are told, and no byte."""
    content = bytes(size)
    payload_id = declare(story, content)
    assert get(api, payload_id, method="HEAD").status == 409
    assert api.put(path_of(payload_id), content).status == 200
    got = get(api, payload_id, method="HEAD")
    assert (got.status, got.content, got.headers["content-length"]) == (200, b"", str(size))
    ranged = api.call("HEAD", path_of(payload_id), Range="bytes=0-1")
    assert (ranged.status, "accept-ranges" in ranged.headers) == (200, False)


@pytest.mark.parametrize(
    ("declared", "served"),
    [
        ("image/png", "image/png"),
        ('text/plain; charset="utf-8"', 'text/plain; charset="utf-8"'),
        ("text/plain; charset=utf-8", "text/plain; charset=utf-8"),
        ("a picture", "application/octet-stream"),
        ("text/plain\r\nSet-Cookie: a=b", "application/octet-stream"),
        ("text", "application/octet-stream"),
        ("texte/é", "application/octet-stream"),
    ],
)
def test_a_declared_type_is_served_where_it_is_one(
    home: WorkspaceRef, story: Story, api: InProcess, declared: str, served: str
) -> None:
    """CA-4, PL-19: what is no media type becomes no header."""
    payload_id = declare(story, b"x")
    with access.bound(home.id):
        Payload.objects.update(media_type=declared)
    assert api.put(path_of(payload_id), b"x").status == 200
    assert get(api, payload_id).headers["content-type"] == served


def test_a_body_over_the_limit_is_refused_by_its_length(
    home: WorkspaceRef, story: Story, api: InProcess
) -> None:
    """PL-10: 1 GiB is the most; no byte of more is waited for."""
    payload_id = declare(story, b"x")
    length = {"Content-Length": str(MAX_PAYLOAD_BYTES + 1)}
    answer = api.put(path_of(payload_id), b"x", **length)
    assert (answer.status, answer.code) == (413, "payload_too_large")


def test_one_content_is_one_blob_in_a_conversation_and_another_in_the_next(
    home: WorkspaceRef, story: Story, api: InProcess, own_store: Path
) -> None:
    """CA-4: within a graph the same bytes are kept once; of two graphs neither name nor byte is the same."""
    content = os.urandom(LARGE)
    here = [declare(story, content) for _ in range(2)]
    there = declare(Story(api), content)
    for payload_id in here:
        assert api.put(path_of(payload_id), content).body["outcome"] == "stored"
    assert len(blobs()) == 1
    assert api.put(path_of(there), content).body["outcome"] == "stored"
    (first, second) = blobs().items()
    assert first[0] != second[0]
    assert first[1][:64] != second[1][:64]
    assert all(get(api, payload_id).content == content for payload_id in (*here, there))
    with access.bound(home.id):
        rows = {row.id: row for row in Payload.objects.all()}
    assert rows[here[0]].blob == rows[here[1]].blob != rows[there].blob
    assert bytes(rows[here[0]].blob_key or b"") != bytes(rows[here[1]].blob_key or b"")


def test_who_shares_a_blob_has_sent_it(
    home: WorkspaceRef, story: Story, api: InProcess, own_store: Path
) -> None:
    """CA-4: that another source has stored the same digest opens nothing to who does not have the bytes."""
    content = os.urandom(LARGE)
    assert api.put(path_of(declare(story, content)), content).status == 200
    other = InProcess(factories.make_key(home, "context", source="another backend"))
    theirs = declare(Story(other, story.chat), content)
    assert get(other, theirs).code == "payload_awaited"
    assert other.put(path_of(theirs), os.urandom(LARGE)).code == "payload_mismatch"
    assert other.put(path_of(theirs), content).status == 200
    assert len(blobs()) == 1


@pytest.mark.parametrize("size", [200, 200_000])
def test_nothing_of_a_payload_stands_in_clear(
    home: WorkspaceRef, story: Story, api: InProcess, own_store: Path, size: int
) -> None:
    """PL-12: a canary is in no column of a payload and in no file of the blob store, nor is its digest."""
    canary = f"canary-{uuid4().hex}".encode()
    content = (canary * (size // len(canary) + 1))[:size]
    payload_id = declare(story, content)
    assert api.put(path_of(payload_id), content).status == 200
    digest = hashlib.sha256(content).digest()
    marks = [canary, canary.hex().encode(), digest, digest.hex().encode()]
    with access.bound(home.id), connection.cursor() as cursor:
        cursor.execute(
            "SELECT p::text || r::text FROM assembly_payload p JOIN assembly_graphrecord r ON true"
        )
        rows = "".join(row[0] for row in cursor.fetchall()).encode()
    for kept in (rows, *blobs().values(), *(name.encode() for name in blobs())):
        assert kept
        assert not any(mark in kept for mark in marks)
    assert len(blobs()) == (size > INLINE_BYTES)
