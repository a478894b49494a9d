"""Sending and getting the bytes of payloads, in this process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.test import Client


class Got(msgspec.Struct, frozen=True):
    """What a GET answered: its status, its bytes and its headers."""

    status: int
    content: bytes
    headers: dict[str, str]

    @property
    def code(self) -> str:
        """Give the problem's code."""
        return str(msgspec.json.decode(self.content)["code"])


def path_of(payload_id: UUID) -> str:
    """Give the route of a payload."""
    return f"/v1/graph/artifacts/{payload_id}/payload"


def get(key: str, payload_id: UUID, *, method: str = "GET") -> Got:
    """Get a payload."""
    client = Client(raise_request_exception=False)
    answer: Any = client.generic(method, path_of(payload_id), headers={"Authorization": f"Bearer {key}"})
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Got(status=answer.status_code, content=content, headers=headers)


def blobs() -> dict[str, bytes]:
    """Give every file of the blob store, by its name."""
    folder = Path(settings.STORAGES["payloads"]["OPTIONS"]["location"])
    return {str(path.relative_to(folder)): path.read_bytes() for path in _files(folder)}


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
