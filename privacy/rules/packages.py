"""What the manifest of a subject package says, and how the package shows a record to a person (PR-18)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from agentstate.types import ExportedField, ExportedState, ObjectType
from assembly.types import ExportedGraph, ExportedPart, ExportedRecord
from history.types import ExportedMessage, ExportedSession
from privacy.rules.zips import ZippedFile
from privacy.types import PackagedHandle, PackageSubject, Shown, Word

FORMAT, FORMAT_VERSION = "lastro-subject-package", 1
SHOWN_BYTES = 2 * 1024 * 1024
"""How much of the records the page for people holds; the files hold all of them."""
SCOPES = {"conversation": Word("a conversation"), "task": Word("a task")}


class Gathered:
    """What is kept of the records while they are written: which types they have, and the first of them to show.

    Memory is bounded: beyond SHOWN_BYTES a record is only counted.
    """

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.sources: dict[str, set[str]] = {}
        self.history_sources: set[str] = set()
        self.graph_sources: set[str] = set()
        self.shown: dict[str, list[Shown]] = {}
        self.records: dict[str, int] = {}
        self._left_bytes = SHOWN_BYTES

    def note(self, file: str, record: Any, shown: Shown) -> None:
        """Keep what is needed of one record of a file."""
        self.records[file] = self.records.get(file, 0) + 1
        if isinstance(record, ExportedState) and record.type:
            self.types.add(record.type)
            self.sources.setdefault(record.type, set()).update({record.source} - {""})
        if isinstance(record, ExportedSession):
            self.history_sources.add(record.source)
        if isinstance(record, ExportedRecord):
            self.graph_sources.add(record.source)
        self._left_bytes -= shown.length
        if self._left_bytes >= 0:
            self.shown.setdefault(file, []).append(shown)


def manifest(
    subject: PackageSubject,
    *,
    package_id: str,
    files: Sequence[ZippedFile],
    gathered: Gathered,
    types: Iterable[ObjectType],
) -> bytes:
    """Write the manifest: what is in the package, under which documents, and what was declared about it."""
    met = [declared for declared in types if declared.type in gathered.types]
    body = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_id": package_id,
        "made_at": _moment(subject.now),
        "workspace": {"slug": subject.workspace.slug, "name": subject.workspace.name},
        "profile": {"profile_id": str(subject.profile_id), "pseudonym": subject.pseudonym},
        "counts": {file.name: file.records for file in files if file.name.endswith(".jsonl")},
        "files": {file.name: {"sha256": file.sha256, "bytes": file.bytes} for file in files},
        "documents": {kind: document.version for kind, document in sorted(subject.live.items())},
        "history": _history(subject, gathered.history_sources),
        "graph": _graph(subject, gathered.graph_sources),
        "object_types": [_declared(each, gathered.sources.get(each.type, set())) for each in met],
        "notes": [
            "Values stand here as they are stored: what was masked when it was stored stays masked.",
            "What had expired when the package was made is not in it.",
        ],
    }
    return json.dumps(body, ensure_ascii=False, indent=1).encode() + b"\n"


def _history(subject: PackageSubject, sources: Iterable[str]) -> dict[str, Any]:
    """Say of history from whom it came and how long it is kept."""
    kept = subject.live["retention"].body["history"]
    return {"sources": sorted(sources), "retention": {name: kept[name] for name in ("idle", "max_age")}}


def _graph(subject: PackageSubject, sources: Iterable[str]) -> dict[str, Any]:
    """Say of the runtime graph from whom it came and how long it is kept."""
    kept = subject.live["retention"].body
    return {
        "sources": sorted(sources),
        "retention": {name: kept[name] for name in ("artifacts", "memories", "assemblies")},
    }


def _declared(declared: ObjectType, sources: Iterable[str]) -> dict[str, Any]:
    return {
        "type": declared.type,
        "version": declared.version,
        "label": declared.label or None,
        "description": declared.description or None,
        "purposes": list(declared.purposes),
        "recipients": list(declared.recipients),
        "sources": sorted(sources),
        "retention_seconds": declared.state_retention_seconds,
        "fields": {
            name: {
                "label": field.label or None,
                "description": field.description or None,
                "type": field.type,
                "pii": field.pii,
                "sensitivity": field.sensitivity or None,
                "origin": field.origin or None,
                "retention_seconds": declared.field_retention_seconds.get(name),
            }
            for name, field in declared.fields.items()
        },
    }


def show_handle(handle: PackagedHandle) -> Shown:
    """Show a handle."""
    return Shown(
        title=handle.type,
        rows=((Word("Hint"), handle.hint, ()), (Word("First seen"), _moment(handle.created_at), ())),
    )


def show_state(state: ExportedState) -> Shown:
    """Show a state, a row for each field."""
    facts = [
        (Word("Kept by"), state.agent, ()),
        (Word("About"), SCOPES.get(state.scope_kind, state.scope_kind), ()),
        (Word("Received from"), state.source, ()),
        (Word("Last changed"), _moment(state.updated_at), ()),
        (Word("Kept until"), _moment(state.valid_until), ()),
    ]
    fields = [(field.label or field.name, _text(field.value), _note(field)) for field in state.fields]
    unread = [_unread(is_readable=state.is_readable)]
    title = Word("%(type)s, version %(version)s") if state.type else Word("state, version %(version)s")
    rows = tuple(row for row in (*facts, *unread, *fields) if row[1])
    return Shown(title=title, rows=rows, named={"type": state.type, "version": state.version})


def show_history(record: ExportedSession | ExportedMessage) -> Shown:
    """Show a session, or a message of the one before it."""
    return _show_session(record) if isinstance(record, ExportedSession) else _show_message(record)


def _show_session(session: ExportedSession) -> Shown:
    rows = [
        (Word("Received from"), session.source, ()),
        (Word("Sent to"), " ".join(filter(None, (session.provider, session.model))), ()),
        (Word("Began"), _moment(session.created_at), ()),
        (Word("Last changed"), _moment(session.touched_at), ()),
        (Word("Kept until"), _moment(session.valid_until), ()),
        (Word("Messages"), str(session.items), ()),
        (Word("Summary"), session.summary or "", ()),
        _unread(is_readable=session.is_readable),
    ]
    return Shown(
        title=Word("Session %(id)s"), rows=tuple(row for row in rows if row[1]), named={"id": session.session}
    )


def _show_message(message: ExportedMessage) -> Shown:
    said = msgspec.json.decode(message.message, type=dict[str, Any]) if message.message else {}
    rows = [
        (Word("Kind"), message.kind if message.kind != "message" else "", ()),
        (Word("Recorded"), _moment(message.recorded_at), ()),
        (Word("Kept until"), _moment(message.expires_at) if message.expires_at else "", ()),
        *((name, _text(value), ()) for name, value in said.items()),
        _unread(is_readable=message.is_readable),
    ]
    return Shown(
        title=Word("Message %(number)s"),
        rows=tuple(row for row in rows if row[1]),
        named={"number": message.position},
    )


def show_graph(record: ExportedGraph | ExportedRecord | ExportedPart) -> Shown:
    """Show a graph, a record of the one before it, or bytes of the record before them."""
    if isinstance(record, ExportedGraph):
        return _show_graph(record)
    return _show_record(record) if isinstance(record, ExportedRecord) else _show_part(record)


def _show_graph(graph: ExportedGraph) -> Shown:
    rows = [
        (Word("Began"), _moment(graph.created_at), ()),
        (Word("Last changed"), _moment(graph.touched_at), ()),
        (Word("Kept until"), _moment(graph.valid_until), ()),
        (
            Word("Holds"),
            "" if graph.is_whole else Word("What is this person's own of a conversation with others"),
            (),
        ),
        _unread(is_readable=graph.is_readable),
    ]
    return Shown(
        title=Word("Conversation %(id)s"),
        rows=tuple(row for row in rows if row[1]),
        named={"id": graph.conversation},
    )


def _show_record(record: ExportedRecord) -> Shown:
    said = msgspec.json.decode(record.content, type=dict[str, Any]) if record.content else {}
    rows = [
        (Word("Received from"), record.source, ()),
        (Word("Recorded"), _moment(record.recorded_at) if record.recorded_at else "", ()),
        (Word("Kept until"), _moment(record.expires_at) if record.expires_at else "", ()),
        *((name, _text(value), ()) for name, value in said.items() if name not in ("type", "id")),
        _unread(is_readable=record.is_readable),
    ]
    title = f"{record.type} {record.id}"
    return Shown(title=title, rows=tuple(row for row in rows if row[1]))


def _show_part(part: ExportedPart) -> Shown:
    rows = [
        (Word("Type"), part.media_type, ()),
        (Word("Bytes"), str(part.size_bytes), ()),
        (Word("Content"), part.text or "", ()),
        (Word("Part"), "" if part.part == 0 and part.is_last else str(part.part + 1), ()),
        _unread(is_readable=part.is_readable),
    ]
    return Shown(
        title=Word("%(role)s of %(record)s"),
        rows=tuple(row for row in rows if row[1]),
        named={"role": part.role, "record": f"{part.type} {part.id}"},
    )


def _unread(*, is_readable: bool) -> tuple[str, str, tuple[str, ...]]:
    problem = Word("What is stored does not verify and cannot be read.")
    return Word("Content"), "" if is_readable else problem, ()


def _note(field: ExportedField) -> tuple[str, ...]:
    """Say of a value where it came from and how it is classed, as declared."""
    words = [field.origin or "", field.sensitivity or "", Word("personal data") if field.pii else ""]
    return tuple(word for word in words if word)


def _text(value: Any) -> str:
    """Write a value for people: a text as it is, anything else as JSON."""
    plain = msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def sections(gathered: Gathered, titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """List what the page for people shows of each file, and how many records only the file has."""
    return [
        {
            "file": file,
            "title": title,
            "records": gathered.shown.get(file, []),
            "count": gathered.records.get(file, 0),
            "omitted": gathered.records.get(file, 0) - len(gathered.shown.get(file, [])),
        }
        for file, title in titles.items()
    ]
