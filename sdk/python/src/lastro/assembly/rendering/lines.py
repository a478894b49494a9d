"""One recorded thing as a small JSON object: what is shown of a memory, a payload, an open call (CA-19).

A line is data: whatever a tool wrote stands inside of a JSON string, so no text of it ends the line or begins another.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from lastro.assembly.records import (
    ContinuationCheckpoint,
    Failure,
    RetryContract,
    RunFinished,
    SkillState,
    ToolArtifact,
    ToolCall,
    ToolMemory,
)
from lastro.assembly.rules.situation import Standing
from lastro.assembly.snapshot import Candidate

Line = dict[str, Any]

ARGUMENTS_BYTES = 2_048

_HEADS = frozenset({"memory", "stale", "withheld", "raw", "open", "resume", "report"})
_PLAIN: Mapping[str, tuple[str, ...]] = {
    "tool": (),
    "status": (),
    "from": ("from",),
    "ask_again": ("ask",),
    "seen": ("seen",),
    "age": ("age",),
    "skills": ("skills",),
}
_SAYINGS = frozenset({"says", "about", "content"})
_LINE_ENDS = re.compile("[\u0085\u2028\u2029]")
_WORD = re.compile(r"[A-Za-z0-9_.:,@-]{1,512}")
_AGING = frozenset({"volatile", "session", "bounded"})


@dataclass(frozen=True, slots=True)
class _Shown:
    candidate: Candidate
    standing: Standing
    content: bytes | None
    as_of: datetime | None


def line_of(
    candidate: Candidate,
    standing: Standing,
    *,
    content: bytes | None = None,
    as_of: datetime | None = None,
) -> Line:
    """Give what is shown of a record that is no message, in the form in which it stands.

    Without `as_of` a marker of staleness gives the time instead of the age: never less than what is shown later.
    """
    form = "recovery" if isinstance(candidate.record, ContinuationCheckpoint) else standing.form
    line = _FORMS[form](_Shown(candidate, standing, content, as_of))
    if standing.conflicts:
        line["conflicts_with"] = ",".join(standing.conflicts)
    return {name: value for name, value in line.items() if not _is_empty(value)}


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def written(line: Line) -> str:
    """Write a line for a model: what it is, its id and its tool, then the rest as compact JSON, strict UTF-8 (X6).

    A rest of one text is that text alone. Every text that another wrote stands in JSON, so none ends the line.
    """
    words: list[str] = []
    rest: Line = {}
    for name, value in line.items():
        if name in _HEADS:
            words += [name, str(value)]
        elif name in _PLAIN and _WORD.fullmatch(str(value)):
            words += [*_PLAIN[name], str(value)]
        else:
            rest[name] = value
    alone = next(iter(rest.values())) if len(rest) == 1 and rest.keys() <= _SAYINGS else rest
    return " ".join([*words, *([compact(alone)] if rest else [])])


def compact(value: Any) -> str:
    """Write compact JSON on one line; what some readers take for the end of a line is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def moment(value: datetime | None) -> str | None:
    """Write a time of UTC as short as it is exact: no seconds where there are none."""
    if value is None:
        return None
    utc = value.astimezone(UTC)
    return utc.strftime("%Y-%m-%dT%H:%MZ" if not utc.second else "%Y-%m-%dT%H:%M:%SZ")


def age(seen: datetime, as_of: datetime | None) -> str | None:
    """Write how old an observation is, in whole minutes, hours or days: a model has no clock to compare a time with."""
    if as_of is None:
        return moment(seen)
    minutes = max(int((as_of - seen).total_seconds()) // 60, 0)
    if minutes < 60:
        return f"{minutes}min"
    return f"{minutes // 60}h" if minutes < 48 * 60 else f"{minutes // 1_440}d"


def text_of(content: bytes) -> Line:
    """Give a payload as text, or in base64 where it is none."""
    try:
        return {"content": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _memory(shown: _Shown) -> Line:
    record = shown.candidate.record
    if isinstance(record, RunFinished):
        return _finished(record, shown.standing)
    memory = cast(ToolMemory, record)
    child = memory.participant if memory.parent_run else None
    return {
        "memory": memory.id,
        "tool": _tools(memory),
        "from": child,
        **_seen(memory),
        **_said(memory, shown.standing),
    }


def _said(record: ToolMemory, standing: Standing) -> Line:
    sure = record.confidence
    return {
        "says": record.summary,
        "data": record.data,
        "confidence": sure.value if sure and standing.conflicts else None,
        "by": sure.source if sure and standing.conflicts else None,
        "unclear": list(record.ambiguities),
        "limits": list(record.limits),
    }


def _seen(record: ToolMemory) -> Line:
    return {"seen": moment(record.observed_at) if record.freshness in _AGING else None}


def _tools(record: ToolMemory) -> str:
    return ",".join(record.tools)


def _marker(shown: _Shown) -> Line:
    record = cast(ToolMemory, shown.candidate.record)
    return {
        "stale": record.id,
        "about": record.about,
        "tool": _tools(record) if not record.revalidate_with else None,
        "age": age(record.observed_at, shown.as_of),
        "ask_again": ",".join(record.revalidate_with),
    }


def _hint(shown: _Shown) -> Line:
    record = shown.candidate.record
    line: Line = {"withheld": record.id}
    if isinstance(record, ToolMemory):
        line |= {"about": record.about, "tool": _tools(record), "ask_again": ",".join(record.revalidate_with)}
    if isinstance(record, ToolArtifact):
        line |= {"tool": record.tool, "status": record.status}
    if isinstance(record, RunFinished):
        line |= {"run": record.run, "status": record.status}
    return line


def _raw(shown: _Shown) -> Line:
    record = shown.candidate.record
    seen = _seen(record) if isinstance(record, ToolMemory) else {}
    tool = _tools(record) if isinstance(record, ToolMemory) else cast(ToolArtifact, record).tool
    stale = {"stale": True} if shown.standing.stale else {}
    return {"raw": record.id, "tool": tool, **seen, **stale, **text_of(shown.content or b"")}


def _recovery(shown: _Shown) -> Line:
    record = shown.candidate.record
    if isinstance(record, ContinuationCheckpoint):
        return _resume(record, shown.standing)
    if isinstance(record, RunFinished):
        return _finished(record, shown.standing)
    return _open(shown.candidate, shown.standing)


def _resume(record: ContinuationCheckpoint, standing: Standing) -> Line:
    state = record.state if standing.allowed in ("raw", "memory") else None
    return {"resume": record.id, "state": state, "waits_for": list(record.waits_for)}


def _open(candidate: Candidate, standing: Standing) -> Line:
    record = candidate.record
    if isinstance(record, ToolCall):
        line: Line = {"open": record.id, "tool": record.tool, "status": "pending"}
        return {**line, "arguments": _arguments(record, standing)}
    failed = cast(ToolArtifact, record)
    return {
        "open": failed.call,
        "tool": failed.tool,
        "status": failed.status,
        "arguments": _arguments(candidate.call, standing) if not failed.retry else None,
        "error": _error(failed.error, standing),
        "retry": _retry(failed.retry, standing, tool=failed.tool),
    }


def _arguments(call: ToolCall | None, standing: Standing) -> Any:
    """Give a call's arguments where they may leave and are short: a model goes on with what it asked for."""
    if call is None or standing.allowed != "raw" or call.arguments.value is None:
        return None
    is_short = len(compact(call.arguments.value)) <= ARGUMENTS_BYTES
    return call.arguments.value if is_short else None


def _error(error: Failure | None, standing: Standing) -> Any:
    if error is None or standing.allowed == "never":
        return None
    says = error.message if standing.allowed in ("raw", "memory") else ""
    return f"{error.code}: {says}" if says else error.code


def _retry(retry: RetryContract | None, standing: Standing, *, tool: str = "") -> Line | None:
    if retry is None or standing.allowed == "never":
        return None
    line: Line = {
        "tool": retry.tool if retry.tool != tool else None,
        "not_before": moment(retry.not_before),
        "attempts_left": retry.attempts_left,
        "needs": retry.needs if standing.allowed in ("raw", "memory") else None,
        "key": retry.idempotency_key if standing.allowed == "raw" else None,
        "arguments": retry.arguments if standing.allowed == "raw" else None,
    }
    return {name: value for name, value in line.items() if value not in (None, "")}


def _finished(record: RunFinished, standing: Standing) -> Line:
    may_say = standing.allowed in ("raw", "memory")
    return {
        "report": record.run,
        "from": record.participant,
        "status": record.status if record.status != "succeeded" else None,
        "says": record.report if may_say else None,
        "files": [{"id": file.id, "name": file.name} for file in record.files] if may_say else None,
        "error": _error(record.error, standing),
        "retry": _retry(record.retry, standing),
    }


def _skill(shown: _Shown) -> Line:
    record = cast(SkillState, shown.candidate.record)
    names = [f"{skill.name}@{skill.version}" if skill.version else skill.name for skill in record.skills]
    return {"skills": ",".join(names), "plan": list(record.plan)}


_FORMS: Mapping[str, Callable[[_Shown], Line]] = {
    "memory": _memory,
    "stale_marker": _marker,
    "hint": _hint,
    "raw": _raw,
    "recovery": _recovery,
    "skill": _skill,
}
