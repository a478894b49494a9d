"""The shapes of history on the wire (HI-21). Ids travel in bodies only."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from history.types import Identity, Naming, SessionHead, StoredItem, SummaryValue
from lastro.history.records import ContentMode, Interface, Kind, NewItem, Pins, Provider
from workspaces.errors import InvalidInput
from workspaces.http.serializers import HandleShape, handle_value
from workspaces.rules import handles
from workspaces.types import FieldProblem, Moment

MAX_ITEMS = 1000
_TEXT = r"^(?![\s\S]*\x00)"
_NAME = Meta(max_length=200, pattern=_TEXT)
Name = Annotated[str, _NAME]
GivenName = Annotated[str, Meta(min_length=1, max_length=200, pattern=_TEXT)]
Token = Annotated[str, Meta(min_length=1, max_length=128, description="The token that `begin` answered.")]


class SessionShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which session of the key's source: `session_id`, or `run_id`, `invocation_id` and `agent_ref` together."""

    session_id: Name = ""
    run_id: Name = ""
    invocation_id: Name = ""
    agent_ref: Name = ""
    namespace: Annotated[str, _NAME, Meta(description="A label that narrows the source; empty for none.")] = (
        ""
    )


class PinsShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the first decision fixes; another value later is refused."""

    provider: Provider
    model: GivenName
    interface: Interface = "native"
    content_mode: ContentMode = "inline"


class ItemShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message to keep, byte for byte, or a record beside the messages (`opaque`, `removal`)."""

    message: Annotated[
        dict[str, Any], Meta(description="As its provider writes it; kept and served unchanged.")
    ]
    kind: Annotated[
        Kind,
        Meta(
            description="`observation`: a result that the runtime reported. `not_executed`: its record that a call was "
            "not executed. `opaque`: another framework's record. `removal`: says which of those are gone."
        ),
    ] = "message"
    id: Annotated[str, _NAME, Meta(description="Names it in its session; made where empty.")] = ""
    parent: Annotated[
        str, _NAME, Meta(description="The item that it follows; where empty, the one before.")
    ] = ""
    key: Annotated[
        str, _NAME, Meta(description="The caller's own: what a key stored once is not stored again.")
    ] = ""
    provisional: Annotated[bool, Meta(description="A result that is not the final one yet.")] = False
    recorded_at: Annotated[
        Moment | None,
        Meta(description="When it was made, for late ones; one from before an erasure is refused."),
    ] = None
    expires_at: Annotated[Moment | None, Meta(description="An earlier end of its own.")] = None


Items = Annotated[tuple[ItemShape, ...], Meta(max_length=MAX_ITEMS)]
SubjectText = Annotated[
    str,
    Meta(min_length=1, max_length=600, pattern=_TEXT, description="`type:value` or `type:namespace:value`."),
]
Subject = Annotated[
    HandleShape | SubjectText | None,
    Meta(description="The person whom the session is about; erasure finds it by them."),
]
Conversation = Annotated[
    str,
    Meta(
        max_length=512,
        pattern=_TEXT,
        description="The company's conversation that it belongs to; erasure finds it by that.",
    ),
]
Create = Annotated[bool, Meta(description="Make the session where there is none; else that is 404.")]


class BeginHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision that wants to begin."""

    session: SessionShape
    create: Create = False
    conversation_id: Conversation = ""
    subject: Subject = None
    pins: PinsShape | None = None
    worker: Annotated[
        str,
        Meta(max_length=200, pattern=_TEXT, description="A label of the worker, shown to who finds it busy."),
    ] = ""


class AppendHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Items to add; without `reservation` outside of any decision."""

    session: SessionShape
    items: Annotated[tuple[ItemShape, ...], Meta(min_length=1, max_length=MAX_ITEMS)]
    reservation: Annotated[Token | None, Meta(description="The token, while a decision runs.")] = None
    create: Create = False
    conversation_id: Conversation = ""
    subject: Subject = None


class CommitHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a decision leaves."""

    session: SessionShape
    reservation: Token
    items: Items = ()
    leaf: Annotated[str, _NAME, Meta(description="Where the branch ends; empty: at the last message.")] = ""
    pins: PinsShape | None = None
    summary: SummaryValue | None = None
    conversation_id: Conversation = ""
    subject: Subject = None


class AbortHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which decision gives up."""

    session: SessionShape
    reservation: Token


class WindowHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which window."""

    session: SessionShape
    provider: Annotated[Provider | None, Meta(description="Needed until the first decision pinned it.")] = (
        None
    )
    leaf: Annotated[str, _NAME, Meta(description="The end of another branch; empty: the session's own.")] = ""
    max_messages: Annotated[int, Meta(ge=1, le=10_000)] = 128
    max_bytes: Annotated[int, Meta(ge=1, le=8 * 2**20)] = 262_144
    repair: Annotated[bool, Meta(description="Leave out what breaks a rule of the provider.")] = False
    dialect: Name = ""
    reservation: Annotated[Token | None, Meta(description="With it, what its decision appended is seen.")] = (
        None
    )


class ReadHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which session to read whole."""

    session: SessionShape


class ForkHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which messages a new session shares."""

    session: SessionShape
    to: Annotated[SessionShape, Meta(description="The new session; it must not be there yet.")]
    at: Annotated[GivenName, Meta(description="The id of the last message that is shared.")]


class DeleteHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which session to remove."""

    session: SessionShape


class RecoverHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose reservation to free: a source names the session, a person its `id`."""

    worker_stopped: Annotated[
        bool, Meta(description="The word that the worker has stopped; else it is refused.")
    ]
    session: SessionShape | None = None
    id: Annotated[UUID | None, Meta(description="The id by which the console lists the reservation.")] = None


class ListItems(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which items of a session to list."""

    session: SessionShape
    of: Annotated[
        Literal["opaque", "path", "instructions", "key"],
        Meta(
            description="`opaque`: the records that were not removed, newest first. `path`: messages from a leaf to "
            "the root. `instructions`: those that stand first on it. `key`: what a key stored."
        ),
    ] = "opaque"
    leaf: Annotated[str, _NAME, Meta(description="Where the path begins; empty: the session's own leaf.")] = (
        ""
    )
    key: Annotated[str, _NAME, Meta(description="For `key`: the caller's own.")] = ""
    cursor: Annotated[
        Annotated[str, Meta(max_length=10, pattern=r"^[0-9]{1,10}(?![\s\S])")] | None,
        Meta(description="`next_cursor` of the page before."),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    reservation: Annotated[Token | None, Meta(description="With it, what its decision appended is seen.")] = (
        None
    )
    with_head: Annotated[
        bool, Meta(description="Answer the head too; then a session on which a decision runs is refused.")
    ] = False


class RemoveRecords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which records are gone: those named, or all that are there."""

    session: SessionShape
    ids: Annotated[
        Annotated[tuple[GivenName, ...], Meta(min_length=1, max_length=MAX_ITEMS)] | None,
        Meta(description="Null for all that are there."),
    ] = None
    key: Annotated[str, _NAME, Meta(description="The caller's own, so that it is recorded once.")] = ""


class SessionDeleted(msgspec.Struct, frozen=True):
    """The answer to a deletion: whether there was a session."""

    deleted: bool


class SessionRecovered(msgspec.Struct, frozen=True):
    """The answer to a recovery: whether there was a reservation. It says nothing of what its worker did."""

    recovered: bool


class ListedItems(msgspec.Struct, frozen=True):
    """A page of a session's items, and its head where that was asked for."""

    items: tuple[StoredItem, ...]
    next_cursor: Annotated[str | None, Meta(description="The `cursor` of the next page, null on the last.")]
    head: SessionHead | None


class SessionAborted(msgspec.Struct, frozen=True):
    """The answer to an abort: the record is as it was."""

    aborted: bool = True


def identity_of(shape: SessionShape) -> Identity:
    """Give an identity as a value."""
    return Identity(shape.namespace, shape.session_id, shape.run_id, shape.invocation_id, shape.agent_ref)


def naming_of(conversation_id: str, subject: HandleShape | str | None) -> Naming:
    """Give whom and what a session names, canonical, or refuse it with pointers (422)."""
    if not isinstance(subject, str):
        return Naming(conversation_id, handle_value(subject, "/subject") if subject else None)
    try:
        return Naming(conversation_id, handles.parse_text(subject))
    except InvalidInput as error:
        sentence = "A subject is named as <type>:<value> or <type>:<namespace>:<value>."
        raise InvalidInput(errors=(FieldProblem("/subject", "wrong_form", sentence),)) from error


def pins_of(shape: PinsShape | None) -> Pins | None:
    """Give pins as the pure code knows them."""
    if shape is None:
        return None
    return Pins(shape.provider, shape.model, shape.interface, shape.content_mode)


def items_of(shapes: tuple[ItemShape, ...]) -> tuple[NewItem, ...]:
    """Give items as the pure code knows them."""
    return tuple(_item(shape) for shape in shapes)


def _item(shape: ItemShape) -> NewItem:
    return NewItem(
        message=shape.message,
        kind=shape.kind,
        id=shape.id,
        parent=shape.parent,
        key=shape.key,
        provisional=shape.provisional,
        recorded_at=_seconds(shape.recorded_at),
        expires_at=_seconds(shape.expires_at),
    )


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None
