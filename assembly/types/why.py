"""Why a model saw a record, or did not (CA-17)."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from assembly.types.assemblies import NamedRecord


class RuleValue(msgspec.Struct, frozen=True):
    """What one rule said of a record: `passed`, or the reason for which it left it out."""

    rule: str
    outcome: str
    form: str | None
    detail: str


class LocatorValue(msgspec.Struct, frozen=True):
    """Where in an artifact something stands, and the SHA-256 of what stood there."""

    artifact: str
    digest: str
    pointer: str | None = None
    lines: Annotated[tuple[int, ...] | None, Meta(description="The first and the last, from 1.")] = None
    bytes: Annotated[tuple[int, ...] | None, Meta(description="The first, from 0, and the end.")] = None


class ProvenanceStep(msgspec.Struct, frozen=True, kw_only=True):
    """One record on the way from a memory to what it came from: its artifacts, their calls, the run that asked."""

    type: str
    id: str
    tool: str = ""
    comes_from: tuple[NamedRecord, ...] = ()
    locators: tuple[LocatorValue, ...] = ()


class AssemblerVersions(msgspec.Struct, frozen=True):
    """The version of the assembler that decided then, and the one that evaluates now."""

    then: str
    now: str


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a model saw a record, or did not (CA-17)."""

    outcome: Literal["included", "omitted", "absent"]
    form: str | None
    reason: str | None
    rules: tuple[RuleValue, ...]
    provenance: tuple[ProvenanceStep, ...]
    assembler: AssemblerVersions
    is_reproduced: Annotated[
        bool, Meta(description="Whether the same evaluation now gives the digest that was kept.")
    ]
    gone: Annotated[int, Meta(description="How many records up to that position are not there any more.")]
