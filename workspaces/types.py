"""Values that travel through every app."""

import msgspec


class FieldProblem(msgspec.Struct, frozen=True):
    """One thing wrong with one place of an input: RFC 6901 pointer, a code, a sentence without content."""

    pointer: str
    code: str
    detail: str
