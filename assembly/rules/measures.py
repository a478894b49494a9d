"""What is said of a result of which only the beginning was measured (CA-16)."""

from dataclasses import replace

from lastro.assembly.graph.measuring import Measures
from lastro.assembly.snapshot import Form, Size

MEASURED_BYTES = 1024**2
"""Up to this size a result is measured whole."""
HEAD_BYTES = 256 * 1024
"""Of a longer one this much is measured, and counted on at its rate."""
MOST_TOKENS = 2**31 - 1

_GROWS: Form = "raw"


def of_whole(head: Measures, *, head_bytes: int, size_bytes: int) -> Measures:
    """Give the measures of a result by those of its beginning: as many tokens and bytes for each byte."""

    def grown(size: Size) -> Size:
        tokens, taken = (value * size_bytes // head_bytes for value in (size.tokens, size.bytes))
        return Size(min(tokens, MOST_TOKENS), taken)

    sizes = {form: grown(size) if form == _GROWS else size for form, size in head.sizes.items()}
    return replace(head, sizes=sizes, naive=grown(head.naive), result_bytes=size_bytes)


def whole_characters(head: bytes) -> bytes:
    """Leave out a character that the end of a beginning has cut, so that a text stays one."""
    for cut in range(1, min(4, len(head)) + 1):
        if head[-cut] >= 0xC0:
            return head[:-cut] if cut < _length(head[-cut]) else head
        if head[-cut] < 0x80:
            return head
    return head


def _length(lead: int) -> int:
    return 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2
