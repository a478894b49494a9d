"""Blobs: what is altered is refused, what nobody has goes, and none is ever unknown (CA-4, PL-12, PR-20)."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from assembly import blobs as store
from assembly.encryption import blob_name, graph_key, make_blob_key, open_record
from assembly.models import Graph, GraphRecord, LooseBlob, Payload
from assembly.rules.measures import HEAD_BYTES, MEASURED_BYTES, whole_characters
from assembly.rules.payloads import INLINE_BYTES
from assembly.selectors.payloads import reader
from assembly.services import payloads as services
from assembly.tasks import sweep_blobs
from lastro.assembly.locators import canonical, digest_of
from tests.api import InProcess
from tests.assembly.artifacts import blobs, declare, get, path_of, said
from tests.assembly.graphs import Story
from workspaces import access
from workspaces.chunks import CHUNK_BYTES
from workspaces.encryption import SEAL_BYTES
from workspaces.errors import Tampered
from workspaces.types import WorkspaceRef

LARGE = INLINE_BYTES + 1
CHUNK = CHUNK_BYTES + SEAL_BYTES


def _turn(sealed: bytes) -> bytes:
    return sealed[:-1] + bytes([sealed[-1] ^ 1])


HARM: dict[str, Callable[[Path, bytes], Any]] = {
    "a bit is turned": lambda file, sealed: file.write_bytes(_turn(sealed)),
    "the last chunk is gone": lambda file, sealed: file.write_bytes(sealed[: 3 * CHUNK]),
    "it is cut inside a chunk": lambda file, sealed: file.write_bytes(sealed[:-1]),
    "two chunks are exchanged": lambda file, sealed: file.write_bytes(
        sealed[:CHUNK] + sealed[2 * CHUNK : 3 * CHUNK] + sealed[CHUNK : 2 * CHUNK] + sealed[3 * CHUNK :]
    ),
    "something follows": lambda file, sealed: file.write_bytes(sealed + b"\x00"),
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_harmed_blob_breaks_off(
    story: Story, api: InProcess, own_store: Path, harm: Callable[[Path, bytes], Any]
) -> None:
    """CA-4, PL-12: no byte of a chunk that does not verify leaves, and no download ends as if it were whole."""
    content = os.urandom(3 * CHUNK_BYTES + 1000)
    payload_id = declare(story, content)
    assert api.put(path_of(payload_id), content).status == 200
    (name,) = blobs()
    sealed = (own_store / name).read_bytes()
    harm(own_store / name, sealed)
    with pytest.raises(Tampered):
        get(api, payload_id)
    (own_store / name).write_bytes(sealed)
    assert get(api, payload_id).content == content


@pytest.mark.parametrize("harm", ["its beginning", "its file", "the file of another"])
def test_a_blob_that_is_harmed_at_once_is_a_problem(
    home: WorkspaceRef, story: Story, api: InProcess, own_store: Path, harm: str
) -> None:
    """CA-4, PL-8: what can be said before the first byte is said as a problem, without content."""
    contents = [os.urandom(LARGE) for _ in range(2)]
    ids = [declare(story, content) for content in contents]
    for payload_id, content in zip(ids, contents, strict=True):
        assert api.put(path_of(payload_id), content).status == 200
    with access.bound(home.id):
        first, second = (own_store / Payload.objects.get(id=payload_id).blob for payload_id in ids)
    if harm == "its beginning":
        first.write_bytes(b"\x00" + first.read_bytes()[1:])
    elif harm == "its file":
        first.unlink()
    else:
        first.write_bytes(second.read_bytes())
    got = get(api, ids[0])
    assert (got.status, got.code) == (500, "stored_data_damaged")
    assert get(api, ids[1]).content == contents[1]


def test_a_key_of_one_blob_opens_no_other(own_store: Path) -> None:
    """PL-12: a blob is bound to its workspace, its name and its key."""
    workspace, key = UUID(int=1), make_blob_key()
    name = blob_name(key, "a digest")
    store.write(workspace, name, key, [b"some", b"", b"thing"])
    assert b"".join(store.read(workspace, name, key)) == b"something"
    for wrong in ((UUID(int=2), name, key), (workspace, name, make_blob_key())):
        with pytest.raises(Tampered):
            list(store.read(*wrong))


def test_a_store_that_is_full_or_away_answers_503(
    story: Story, api: InProcess, own_store: Path, settings: Any
) -> None:
    """CA-4: the payload is awaited as before, and the same PUT succeeds once the store is there."""
    content = os.urandom(LARGE)
    payload_id = declare(story, content)
    (own_store / "taken").write_bytes(b"")
    there = settings.STORAGES
    away = {**there["payloads"]["OPTIONS"], "location": str(own_store / "taken")}
    settings.STORAGES = {**there, "payloads": {**there["payloads"], "OPTIONS": away}}
    answer = api.put(path_of(payload_id), content)
    assert (answer.status, answer.code) == (503, "unavailable")
    settings.STORAGES = there
    assert api.put(path_of(payload_id), content).body["outcome"] == "stored"
    assert get(api, payload_id).content == content


@pytest.mark.parametrize("size", [INLINE_BYTES, LARGE, 2_000_000])
def test_a_large_result_in_a_record_is_a_blob_too(
    home: WorkspaceRef, story: Story, api: InProcess, own_store: Path, size: int
) -> None:
    """CA-4: what comes inside of a batch is kept by the same rule, once, and given back as canonical JSON."""
    rows = {"rows": "x" * (size - len(canonical({"rows": ""})))}
    batch = [*story.opening(), *(record for name in ("a", "b") for record in _inline(story, name, rows))]
    ids = [item["payload_id"] for item in story.stored(*batch)["records"] if item["payload_id"]]
    assert len(blobs()) == (size > INLINE_BYTES)
    assert {get(api, UUID(payload_id)).content for payload_id in ids} == {canonical(rows)}
    again = story.send(*batch, **{"Idempotency-Key": "again"})
    assert {item["outcome"] for item in again.body["records"]} == {"unchanged"}
    assert len(blobs()) == (size > INLINE_BYTES)
    assert story.send(*_inline(story, "c", rows), story.branch(parent="none")).status == 422
    with access.bound(home.id):
        assert len(blobs()) == (size > INLINE_BYTES)
        assert not LooseBlob.objects.exists()


def test_arguments_that_are_large_are_a_blob_too(story: Story, api: InProcess, own_store: Path) -> None:
    """CA-4: raw arguments over 64 KiB stand beside their record, and their source gets them."""
    asked = {"q": "x" * LARGE}
    call = story.call("long", arguments={"value": asked})
    item = story.stored(*story.opening(), call)["records"][-1]
    assert len(blobs()) == 1
    assert get(api, UUID(item["arguments_payload_id"])).content == canonical(asked)


def test_a_blob_goes_with_the_last_that_has_it(
    home: WorkspaceRef,
    story: Story,
    api: InProcess,
    own_store: Path,
    django_capture_on_commit_callbacks: Any,
) -> None:
    """CA-21: one that others share stays; a removal that is rolled back removes nothing."""
    content = os.urandom(LARGE)
    ids = [declare(story, content) for _ in range(2)]
    for payload_id in ids:
        assert api.put(path_of(payload_id), content).status == 200
    with access.bound(home.id):
        for payload_id, left in zip(ids, (1, 0), strict=True):
            with transaction.atomic():
                services.remove(Payload.objects.filter(id=payload_id), now=timezone.now())
                transaction.set_rollback(True)
            assert len(blobs()) == 1
            with django_capture_on_commit_callbacks(execute=True):
                assert services.remove(Payload.objects.filter(id=payload_id), now=timezone.now()) == 1
            assert len(blobs()) == left
        assert not LooseBlob.objects.exists()


def test_what_a_crash_leaves_is_swept(home: WorkspaceRef, story: Story, own_store: Path) -> None:
    """PR-20: a blob whose rows have gone is removed at once, one that may still be written after a day."""
    content = os.urandom(LARGE)
    payload_id = declare(story, content)
    assert story.api.put(path_of(payload_id), content).status == 200
    with access.bound(home.id):
        # Nothing runs on commit here, as after a crash.
        services.remove(Payload.objects.filter(id=payload_id), now=timezone.now())
        key = make_blob_key()
        store.write(home.id, blob_name(key, "x"), key, [content])
        tomorrow = timezone.now() + timedelta(days=1)
        LooseBlob.objects.create(name=blob_name(key, "x"), due_at=tomorrow)
    assert len(blobs()) == 2
    sweep_blobs()
    assert list(blobs()) == [blob_name(key, "x")]
    with access.bound(home.id):
        assert services.sweep_blobs(now=tomorrow) == 1
        assert not LooseBlob.objects.exists()
    assert blobs() == {}


@pytest.mark.parametrize("size", [500, 100_000])
def test_what_came_apart_is_measured_as_if_it_had_come_inside(
    home: WorkspaceRef, story: Story, own_store: Path, size: int
) -> None:
    """CA-14, CA-16: sizes of the artifact, and of a memory whose locator was unchecked until its bytes came."""
    text = "0123456789 cells of a table\n" * (size // 28)
    locator = {"lines": [2, 3], "digest": digest_of(canonical(text)[28:83])}
    story.stored(*story.opening())
    for name, result in (("inside", {"value": text}), ("apart", said(canonical(text)))):
        story.stored(*_inline(story, name, None, result=result))
        where = {**locator, "artifact": story.id(f"artifact-{name}")}
        answer = story.stored(story.memory(f"memory-{name}", f"artifact-{name}", locators=[where]))
        assert answer["records"][0]["outcome"] == "stored"
    before = _measured(home, story, "memory-apart")
    assert before != _measured(home, story, "memory-inside")
    with access.bound(home.id):
        payload_id = Payload.objects.get(state="awaited").id
    assert story.api.put(path_of(payload_id), canonical(text)).status == 200
    for kind in ("artifact", "memory"):
        apart, inside = (_measured(home, story, f"{kind}-{name}") for name in ("apart", "inside"))
        assert (apart.naive, apart.result_bytes) == (inside.naive, inside.result_bytes)
        assert apart.provenance == inside.provenance
        assert apart.sizes.keys() == inside.sizes.keys()
        # Their ids differ, and ids are tokens too.
        assert all(abs(size.tokens - inside.sizes[form].tokens) < 10 for form, size in apart.sizes.items())


def test_a_long_result_is_measured_by_its_beginning(
    home: WorkspaceRef, story: Story, own_store: Path
) -> None:
    """CA-16: over 1 MiB the sizes are those of the first 256 KiB, counted on; the length is exact."""
    line = "é 0123456789 cells of a table\n".encode()
    content = line * (2 * MEASURED_BYTES // len(line))
    payload_id = declare(story, content, "long")
    assert story.api.put(path_of(payload_id), content).status == 200
    measures = _measured(home, story, "artifact-long")
    assert measures.result_bytes == len(content)
    assert abs(measures.naive.bytes / len(content) - 1) < 0.01
    with access.bound(home.id):
        row = GraphRecord.objects.get(name=story.id("artifact-long"))
    assert (row.naive_tokens, row.naive_bytes) == (measures.naive.tokens, measures.naive.bytes)


@given(text=st.text(min_size=4), cut=st.integers(0, 3))
def test_the_end_of_a_beginning_cuts_no_character(text: str, cut: int) -> None:
    """CA-16: a text stays one wherever it is cut; bytes that are no text stay as they are."""
    head = text.encode()[: len(text.encode()) - cut]
    kept = whole_characters(head)
    assert text.startswith(kept.decode())
    assert len(head) - len(kept) < 4
    assert whole_characters(b"\xff\xfe\x80\x80\x80\x80") == b"\xff\xfe\x80\x80\x80\x80"
    assert HEAD_BYTES < MEASURED_BYTES


def test_an_assembler_reads_what_it_asks_for(
    home: WorkspaceRef, story: Story, own_store: Path, django_assert_num_queries: Any
) -> None:
    """CA-11: the rows of several in one query; nothing of what is absent, awaited, expired or too long."""
    contents = {"small": b"a", "large": os.urandom(LARGE), "longer": os.urandom(2 * LARGE)}
    for name, content in contents.items():
        assert story.api.put(path_of(declare(story, content, name)), content).status == 200
    declare(story, b"never sent", "awaited")
    names = [story.id(f"artifact-{name}") for name in (*contents, "awaited", "none")]
    with access.bound(home.id):
        graph = Graph.objects.get()
        key = graph_key(home, graph)
        with django_assert_num_queries(1):
            read = reader(home, graph, key, ahead=names, most_bytes=LARGE)
            found = [read(name) for name in names]
        assert found == [contents["small"], contents["large"], None, None, None]
        assert reader(home, graph, key)(names[2]) == contents["longer"]


def _inline(
    story: Story, name: str, value: Any, result: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    call = story.call(f"call-{name}")
    return [
        call,
        story.artifact(f"artifact-{name}", call=f"call-{name}", result=result or {"value": value}),
    ]


def _measured(workspace: WorkspaceRef, story: Story, name: str) -> Any:
    with access.bound(workspace.id):
        row = GraphRecord.objects.select_related("graph").get(name=story.id(name))
        return open_record(workspace, row, graph_key(workspace, row.graph)).measures
