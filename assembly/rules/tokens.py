"""Counting tokens, with one tokenizer that is named: o200k (CA-16)."""

from functools import cache
from typing import Any

TOKENIZER = "o200k_base"
# The encoder refuses what gives more than 200,000 tokens, and a character gives four at most. A cut costs about one.
_PIECE = 50_000


def count_tokens(text: str) -> int:
    """Count the tokens of a text."""
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return sum(len(_encoding().encode_ordinary(piece)) for piece in pieces)


@cache
def _encoding() -> Any:
    """Make the encoder once per process, when it is first asked for.

    It is imported here: with its tables it takes a second and 130 MiB, which only a process that records needs.
    """
    import bpe_openai

    return bpe_openai.get_encoding(TOKENIZER)
