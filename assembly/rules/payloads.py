"""Which payloads are shown to whom, and where their bytes stand (CA-4)."""

import re

INLINE_BYTES = 64 * 1024
"""Up to this size a payload is sealed in its row, above it in a blob."""
MAX_PAYLOAD_BYTES = 1024**3
SHOWN_BYTES = 16 * 1024**2
"""The most that the bound `raw_bytes` of a policy may be: nothing longer is ever shown, nor read for it."""

UNKNOWN_TYPE = "application/octet-stream"
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,127}"
_TYPE = re.compile(rf"{_WORD}/{_WORD}(?: ?; ?{_WORD}=(?:{_WORD}|\"[ !#-\[\]-~]*\"))*")


def is_hidden(*, visibility: str, privacy: str) -> bool:
    """Tell whether others than its source may not even know that there is a payload (CA-4)."""
    return visibility == "audit" or privacy == "secret"


def served_type(media_type: str) -> str:
    """Give the media type to serve a payload as: the one declared, where it is well-formed (RFC 9110)."""
    return media_type if _TYPE.fullmatch(media_type) else UNKNOWN_TYPE
