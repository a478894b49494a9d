"""The forms of single values, written as types: what a member of a record may be, and how it is read."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text that matches a pattern as a whole."""

    pattern: str
    says: str


@dataclass(frozen=True, slots=True)
class Length:
    """A text of so many characters."""

    most: int
    least: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    """How many elements a list has."""

    most: int
    least: int = 0


@dataclass(frozen=True, slots=True)
class Between:
    """A number within bounds, both included."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class To:
    """The id of another record, by its type; `wire` is `""` where a member beside it names the type."""

    wire: str


class Quiet:
    """A value whose repr says what it is and nothing that it holds: reprs end up in logs (SD-11)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


_ID = Pattern(r"[A-Za-z0-9_.:-]{1,64}", "1 to 64 characters of A-Z a-z 0-9 _ . : -")
_SHA256 = Pattern(r"[0-9a-f]{64}", "64 hexadecimal digits")

Id = Annotated[str, _ID]
Digest = Annotated[str, _SHA256]
Name = Annotated[str, Length(most=256, least=1), Pattern(r"[^\x00]*", "no NUL")]
Line = Annotated[str, Length(most=1_000)]
Text = Annotated[str, Length(most=65_536)]
Data = Annotated[str, Length(most=8_388_608)]
Natural = Annotated[int, Between(0, 2**53)]
Share = Annotated[float, Between(0, 1)]
Json = Any
"""Any JSON value, kept as it came."""

ConversationId = Annotated[str, _ID, To("conversation")]
BranchId = Annotated[str, _ID, To("branch")]
ParticipantId = Annotated[str, _ID, To("participant")]
MessageId = Annotated[str, _ID, To("message")]
RunId = Annotated[str, _ID, To("model_run")]
CallId = Annotated[str, _ID, To("tool_call")]
ArtifactId = Annotated[str, _ID, To("tool_artifact")]
MemoryId = Annotated[str, _ID, To("tool_memory")]
