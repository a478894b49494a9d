"""A request as it comes from a host (CA-9)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lastro.assembly.errors import Problem, RecordsInvalid
from lastro.assembly.records.parsing import parse_shape
from lastro.assembly.snapshot import AssemblyRequest

_OURS = ("workspace",)


def parse_request(value: Mapping[str, Any], *, workspace: str, pointer: str = "") -> AssemblyRequest:
    """Read what a host asks for; raises RecordsInvalid with every problem and its JSON pointer."""
    for name in _OURS:
        if name in value:
            raise RecordsInvalid((Problem(f"{pointer}/{name}", "unknown_member", "No such member."),))
    asked = parse_shape(AssemblyRequest, dict(value), pointer=pointer)
    _require_kind(asked, pointer)
    return replace(asked, workspace=workspace)


def _require_kind(asked: AssemblyRequest, pointer: str) -> None:
    needs = {"parent_resume": "checkpoint", "subagent_child": "run", "branch_send": "parents"}
    member = needs.get(asked.kind)
    if member and not getattr(asked, member):
        raise RecordsInvalid((Problem(f"{pointer}/{member}", "missing", f"A {asked.kind} names it."),))
