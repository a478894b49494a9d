"""Assemblies in rows, filters and facts: names, versions and counts, never content (CA-16)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args
from uuid import UUID

import msgspec
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assembly.models import ContextAssembly
from assembly.selectors.answers import has_trace
from console.pages import asked, here
from console.presenters.lists import Table
from console.presenters.outcomes import REASON_WORDS
from console.presenters.rows import Fact, Filter
from lastro.assembly.records import RuntimeKind
from lastro.assembly.snapshot import Reason
from workspaces import documents

RECORD_ID = "[A-Za-z0-9_.:\\-]{1,64}"
NAMED = ("conversation", "participant")
FILTERS = (*NAMED, "kind", "policy", "omitted", "trace")
COLUMNS = (
    "assembled_at",
    "assembly",
    "conversation",
    "participant",
    "kind",
    "policy",
    "shown",
    "left_out",
    "transcript_tokens",
    "assembled_tokens",
    "saved_percent",
    "trace",
)
"""The columns of the list, as a file names them."""

KIND_WORDS: Mapping[str, Any] = {
    "chat": gettext_lazy("chat"),
    "multi_model": gettext_lazy("several models"),
    "autonomous": gettext_lazy("autonomous debate"),
    "subagent_child": gettext_lazy("sub-agent"),
    "parent_resume": gettext_lazy("resume of a parent"),
    "scheduled": gettext_lazy("scheduled task"),
    "branch_send": gettext_lazy("send to a branch"),
}


class AssemblyRow(msgspec.Struct, frozen=True):
    """An assembly as lists show it."""

    id: UUID
    at: datetime
    conversation: str
    participant: str
    branch: str
    kind: str
    kind_words: Any
    policy: str
    policy_version: int
    source: str
    shown: int
    left_out: int
    naive_tokens: int
    assembled_tokens: int
    saved_percent: int | None
    has_trace: bool
    url: str = ""


def asked_filters(request: Any) -> dict[str, str]:
    """Read the filters of the address; an id that is none does not filter."""
    chosen = {name: asked(request, name) for name in FILTERS}
    for name in NAMED:
        if not re.fullmatch(RECORD_ID, chosen[name]):
            chosen[name] = ""
    return chosen


def set_filters(chosen: Mapping[str, str]) -> dict[str, str]:
    """Keep the filters that are set: they go on into the pages of the list's rows (CO-4)."""
    return {name: value for name, value in chosen.items() if value}


def filters_of(chosen: Mapping[str, str], *, but: Sequence[str] = ()) -> list[Filter]:
    """Give the filters of a list of assemblies: choices, and ids of records, which are names."""
    offered = [
        _id_filter("conversation", _("Conversation"), chosen),
        _id_filter("participant", _("Participant"), chosen),
        _choices("kind", _("Runtime kind"), chosen, _words(KIND_WORDS, get_args(RuntimeKind))),
        _choices("policy", _("Policy"), chosen, _policies(chosen["policy"])),
        _choices("omitted", _("Left out"), chosen, _reasons()),
        _choices("trace", _("Trace"), chosen, [("full", _("full")), ("none", _("none"))]),
    ]
    return [each for each in offered if each.name not in but]


def _id_filter(name: str, label: str, chosen: Mapping[str, str]) -> Filter:
    return Filter(
        name=name, label=label, kind="text", value=chosen[name], hint=_("id of a record"), pattern=RECORD_ID
    )


def _choices(name: str, label: str, chosen: Mapping[str, str], choices: list[tuple[str, str]]) -> Filter:
    return Filter(name=name, label=label, kind="select", value=chosen[name], choices=choices)


def _words(words: Mapping[str, Any], values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, str(words.get(value, value))) for value in values]


def _reasons() -> list[tuple[str, str]]:
    return [(reason, str(REASON_WORDS[reason][0])) for reason in get_args(Reason)]


def _policies(chosen: str) -> list[tuple[str, str]]:
    """Offer the policies in force, and the one that a link led to."""
    live = documents.live("assembly-policy")["assembly-policy"].body["policies"]
    names = dict.fromkeys([*(policy["name"] for policy in live), *filter(None, [chosen])])
    return [(name, name) for name in names]


def row_of(request: Any, found: ContextAssembly, *, now: datetime, **query: str) -> AssemblyRow:
    """Describe an assembly for a list; the query keeps the list's filters inside of it (CO-4)."""
    return AssemblyRow(
        id=found.id,
        at=found.created_at,
        conversation=found.graph.name,
        participant=found.participant,
        branch=found.branch,
        kind=found.kind,
        kind_words=KIND_WORDS.get(found.kind, found.kind),
        policy=found.policy,
        policy_version=found.policy_version,
        source=found.source.name,
        shown=found.considered - left_out(found),
        left_out=left_out(found),
        naive_tokens=found.naive_tokens,
        assembled_tokens=found.assembled_tokens,
        saved_percent=saved_percent(found),
        has_trace=has_trace(found, now=now),
        url=here(request, "assembly", found.id, **query),
    )


def table_of(rows: Sequence[AssemblyRow]) -> Table:
    """Give the rows of a list as its file has them."""
    return Table("assemblies", COLUMNS, rows, cells=cells_of)


def cells_of(row: AssemblyRow) -> tuple[Any, ...]:
    """Give the cells of a row, in the order of COLUMNS."""
    return (
        row.at,
        str(row.id),
        row.conversation,
        row.participant,
        row.kind,
        f"{row.policy} v{row.policy_version}",
        row.shown,
        row.left_out,
        row.naive_tokens,
        row.assembled_tokens,
        row.saved_percent,
        "full" if row.has_trace else "none",
    )


def left_out(found: ContextAssembly) -> int:
    """Count what was left out, other branches too."""
    return int(sum(found.omitted.values())) + found.branch_exclusions


def saved_percent(found: ContextAssembly) -> int | None:
    """Give how much smaller than the transcript the context is, None where there was none."""
    if not found.naive_tokens:
        return None
    return round(100 * (found.naive_tokens - found.assembled_tokens) / found.naive_tokens)


def facts_of(request: Any, found: ContextAssembly) -> list[Fact]:
    """List who asked for what, decided by what, as of when."""
    version = str(found.policy_version)
    policy_url = here(request, "document", "assembly-policy", version=version)
    asked_for = found.request
    named = (
        (_("Message answered"), asked_for.get("answers")),
        (_("Run"), asked_for.get("run")),
        (_("Checkpoint"), asked_for.get("checkpoint")),
    )
    return [
        Fact(label=_("Policy"), value=f"{found.policy} v{version}", url=policy_url),
        Fact(
            label=_("Conversation"),
            value=found.graph.name,
            url=here(request, "assemblies", conversation=found.graph.name),
        ),
        Fact(label=_("Branch"), value=found.branch, mono=True),
        Fact(
            label=_("Participant"),
            value=found.participant,
            url=here(request, "assemblies", participant=found.participant),
        ),
        Fact(label=_("Runtime kind"), value=str(KIND_WORDS.get(found.kind, found.kind))),
        Fact(label=_("Provider route"), value=found.route, mono=True),
        *(Fact(label=label, value=value, mono=True) for label, value in named if value),
        Fact(label=_("Source"), value=found.source.name),
        Fact(label=_("As of"), at=found.as_of),
        Fact(label=_("Graph position"), value=str(found.position)),
        Fact(label=_("Assembler version"), value=found.assembler),
        Fact(label=_("Digest"), value=found.digest, mono=True, copy=_("Copy the digest")),
        Fact(label=_("Kept until"), at=found.expires_at),
        Fact(label=_("Trace kept until"), at=found.trace_expires_at),
    ]


def took_of(found: ContextAssembly) -> list[Fact]:
    """List how long the server took, step by step."""
    took = (
        (_("Query"), found.query_ms),
        (_("Policy"), found.policy_ms),
        (_("Rendering"), found.rendering_ms),
    )
    return [Fact(label=label, value=_("%s ms") % number_format(value, 1)) for label, value in took]
