"""Artifacts whose bytes are sent apart, and the sending of them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
from django.conf import settings
from django.test import Client

from tests.api import InProcess
from tests.assembly.graphs import Json, Story


class Got(msgspec.Struct, frozen=True):
    """What a GET answered: its status, its bytes and its headers."""

    status: int
    content: bytes
    headers: dict[str, str]

    @property
    def code(self) -> str:
        """Give the problem's code."""
        return str(msgspec.json.decode(self.content)["code"])


def said(content: bytes, media_type: str = "text/csv") -> Json:
    """Give what a record says of bytes that are sent apart."""
    return {
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "media_type": media_type,
    }


def declare(story: Story, content: bytes, name: str = "", **members: Any) -> UUID:
    """Record an artifact whose result comes apart; give the id of its payload."""
    name = name or uuid4().hex[:8]
    call, artifact = f"call-{name}", f"artifact-{name}"
    answer = story.stored(
        *story.opening(),
        story.call(call),
        story.artifact(artifact, call=call, **{"result": said(content), **members}),
    )
    return UUID(answer["records"][-1]["payload_id"])


def path_of(payload_id: UUID) -> str:
    """Give the route of a payload."""
    return f"/v1/graph/artifacts/{payload_id}/payload"


def get(api: InProcess, payload_id: UUID, *, method: str = "GET") -> Got:
    """Get a payload."""
    client = Client(raise_request_exception=False)
    answer: Any = client.generic(method, path_of(payload_id), headers={"Authorization": f"Bearer {api._key}"})
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Got(status=answer.status_code, content=content, headers=headers)


def blobs() -> dict[str, bytes]:
    """Give every file of the blob store, by its name."""
    folder = Path(settings.STORAGES["payloads"]["OPTIONS"]["location"])
    return {str(path.relative_to(folder)): path.read_bytes() for path in _files(folder)}


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
