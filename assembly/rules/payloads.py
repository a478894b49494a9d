"""Which bytes of a record stand outside of it (CA-4)."""

from dataclasses import replace

from assembly.types import Outside
from lastro.assembly.locators import canonical, digest_of
from lastro.assembly.records import Payload, Record, ToolArtifact, ToolCall

INLINE_BYTES = 65_536
"""So many bytes of arguments stand in their record, and of a result beside it; what is more is a blob."""


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


def _is_large(payload: Payload) -> bool:
    return payload.sha256 is not None or len(canonical(payload.value)) > INLINE_BYTES


def _outside(role: str, payload: Payload) -> Outside:
    if payload.sha256 is not None:
        return Outside(role, payload.bytes or 0, payload.sha256, payload.media_type)  # type: ignore[arg-type]
    content = canonical(payload.value)
    return Outside(role, len(content), digest_of(content), payload.media_type, content)  # type: ignore[arg-type]


def _said(outside: Outside) -> Payload:
    return Payload(bytes=outside.size_bytes, sha256=outside.sha256, media_type=outside.media_type)
