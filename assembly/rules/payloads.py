"""Which bytes of a record stand outside of it, where, and to whom they are shown (CA-4)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from assembly.types import Outside
from lastro.assembly.locators import canonical, digest_of
from lastro.assembly.records import Payload, Record, ToolArtifact, ToolCall

INLINE_BYTES = 65_536
"""So many bytes of arguments stand in their record, and of a result beside it; what is more is a blob."""
MAX_PAYLOAD_BYTES = 1024**3
SHOWN_BYTES = 16 * 1024**2
"""The most that the bound `raw_bytes` of a policy may be: nothing longer is ever shown, nor read for it."""

UNKNOWN_TYPE = "application/octet-stream"
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,127}"
_TYPE = re.compile(rf"{_WORD}/{_WORD}(?: ?; ?{_WORD}=(?:{_WORD}|\"[ !#-\[\]-~]*\"))*")


def parted(record: Record) -> tuple[Record, tuple[Outside, ...]]:
    """Part a record from the bytes that are kept outside of it, which it says by their size and digest from then on.

    A result always is; arguments above 64 KiB are, and those that a PUT will bring.
    """
    outside: list[Outside] = []
    kept: dict[str, Payload] = {}
    if isinstance(record, ToolArtifact) and record.result:
        outside.append(_outside("result", record.result))
        kept["result"] = _said(outside[-1])
    if isinstance(record, ToolArtifact | ToolCall) and record.arguments and _is_large(record.arguments):
        outside.append(_outside("arguments", record.arguments))
        kept["arguments"] = _said(outside[-1])
    return (replace(record, **kept) if kept else record), tuple(outside)  # type: ignore[arg-type]


def contents_of(records: Iterable[Record]) -> Iterator[bytes]:
    """Give the bytes that records bring and that are kept outside of them."""
    outside = (part for record in records for part in parted(record)[1])
    return (part.content for part in outside if part.content is not None)


def _is_large(payload: Payload) -> bool:
    return payload.sha256 is not None or len(canonical(payload.value)) > INLINE_BYTES


def _outside(role: str, payload: Payload) -> Outside:
    if payload.sha256 is not None:
        return Outside(role, payload.bytes or 0, payload.sha256, payload.media_type)  # type: ignore[arg-type]
    content = canonical(payload.value)
    return Outside(role, len(content), digest_of(content), payload.media_type, content)  # type: ignore[arg-type]


def _said(outside: Outside) -> Payload:
    return Payload(bytes=outside.size_bytes, sha256=outside.sha256, media_type=outside.media_type)


def is_hidden(*, visibility: str, privacy: str) -> bool:
    """Tell whether others than its source may not even know that there is a payload (CA-4)."""
    return visibility == "audit" or privacy == "secret"


def served_type(media_type: str) -> str:
    """Give the media type to serve a payload as: the one declared, where it is well-formed (RFC 9110)."""
    return media_type if _TYPE.fullmatch(media_type) else UNKNOWN_TYPE
