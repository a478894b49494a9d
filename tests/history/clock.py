"""History at a moment that the test chooses: the services themselves, with a clock that only the test moves."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec

from history.access import place_of
from history.documents import retention_of
from history.models import Item, Session
from history.selectors import records, windows
from history.serializers import AppendHistory, CommitHistory, items_of, naming_of, pins_of
from history.services import appends, commits, reservations, sessions, sweep
from history.services.sweep import Swept
from history.types import (
    Appended,
    AppendWish,
    BeginWish,
    Begun,
    CommitWish,
    Identity,
    ListWish,
    Place,
    Retention,
    SessionHead,
    SessionRead,
    StoredItem,
    WindowRead,
    WindowWish,
)
from tests import factories
from tests.history.talk import PINS, PROVIDER, items
from workspaces import access, documents
from workspaces.selectors.credentials import caller_of
from workspaces.types import Origin, WorkspaceRef


class Clocked:
    """An agent's code and the sweep in one workspace, at `now`, about one session."""

    def __init__(
        self, workspace: WorkspaceRef, *, now: datetime = factories.LATELY, id: str = "", source: str = ""
    ) -> None:
        self.workspace, self.now = workspace, now
        key = factories.make_key(workspace, "history", source=source or "chat backend")
        self.caller = caller_of(key, origin=Origin(), now=now)
        self.place = self.place_of(id or uuid4().hex)

    def place_of(self, id: str) -> Place:
        """Give the place of a session of this source."""
        assert self.caller.source_id is not None
        with access.bound(self.workspace.id):
            return place_of(self.workspace, self.caller.source_id, Identity(session_id=id))

    def another(self) -> "Clocked":
        """Turn to a new session of the same source, at the same time."""
        other = object.__new__(Clocked)
        other.workspace, other.now, other.caller = self.workspace, self.now, self.caller
        other.place = self.place_of(uuid4().hex)
        return other

    def wait(self, **time: float) -> "Clocked":
        """Move the clock: `wait(hours=24)`."""
        self.now += timedelta(**time)
        return self

    @property
    def retention(self) -> Retention:
        """Give the live bounds; the workspace is bound."""
        return retention_of(documents.live("retention"))

    def begin(self, *, create: bool = True, worker: str = "") -> Begun:
        """Reserve the session."""
        with access.bound(self.workspace.id):
            wish = BeginWish(create=create, worker=worker)
            return reservations.begin(place=self.place, wish=wish, retention=self.retention, now=self.now)

    def append(
        self, *messages: dict[str, Any], token: str | None = None, create: bool = True, **members: Any
    ) -> Appended:
        """Add messages, each with the same other members of an item."""
        naming: dict[str, Any] = {
            name: members.pop(name) for name in ("conversation_id", "subject") if name in members
        }
        body: dict[str, Any] = {"session": {}, "items": items(*messages, **members), **naming}
        shape = msgspec.convert(body, AppendHistory)
        wish = AppendWish(
            items=items_of(shape.items),
            token=token,
            create=create,
            naming=naming_of(shape.conversation_id, shape.subject),
        )
        with access.bound(self.workspace.id):
            return appends.append(place=self.place, wish=wish, retention=self.retention, now=self.now)

    def commit(self, token: str, *messages: dict[str, Any], **members: Any) -> Appended:
        """End a decision."""
        naming = {"pins": PINS, **members}
        body = {"session": {}, "reservation": token, "items": items(*messages), **naming}
        shape = msgspec.convert(body, CommitHistory)
        wish = CommitWish(
            token=token,
            items=items_of(shape.items),
            pins=pins_of(shape.pins),
            summary=shape.summary,
            naming=naming_of(shape.conversation_id, shape.subject),
        )
        with access.bound(self.workspace.id):
            return commits.commit(place=self.place, wish=wish, retention=self.retention, now=self.now)

    def decide(self, *messages: dict[str, Any], **members: Any) -> Appended:
        """Take a whole decision."""
        return self.commit(self.begin().reservation, *messages, **members)

    def read(self) -> SessionRead:
        """Read the whole session."""
        with access.bound(self.workspace.id):
            return windows.read_session(place=self.place, retention=self.retention, now=self.now)

    def window(self, **wish: Any) -> WindowRead:
        """Read the window."""
        with access.bound(self.workspace.id):
            return windows.read_window(
                place=self.place,
                wish=WindowWish(**{"provider": PROVIDER, **wish}),
                holds=b"",
                retention=self.retention,
                now=self.now,
            )

    def messages(self) -> list[dict[str, Any]]:
        """Read the messages of the whole session."""
        return [msgspec.json.decode(item.message) for item in self.read().items]

    def served(self, **wish: Any) -> list[dict[str, Any]]:
        """Read the messages of the window."""
        return [msgspec.json.decode(message) for message in self.window(**wish).messages]

    def records(self) -> tuple[StoredItem, ...]:
        """List the opaque records."""
        with access.bound(self.workspace.id):
            wish = ListWish(limit=100)
            page = records.list_items(place=self.place, wish=wish, retention=self.retention, now=self.now)
            return page.items

    def delete(self) -> bool:
        """Remove the session."""
        with access.bound(self.workspace.id):
            return sessions.delete(place=self.place, retention=self.retention, now=self.now)

    def fork(self, to: Place, *, at: str) -> SessionHead:
        """Fork the session."""
        with access.bound(self.workspace.id):
            return sessions.fork(place=self.place, to=to, at=at, retention=self.retention, now=self.now)

    def recover(self, *, worker_stopped: bool = True) -> bool:
        """Free the session."""
        with access.bound(self.workspace.id):
            return reservations.recover(
                place=self.place,
                worker_stopped=worker_stopped,
                actor=self.caller.actor,
                retention=self.retention,
                now=self.now,
            )

    def sweep(self) -> Swept:
        """Sweep the workspace once."""
        with access.bound(self.workspace.id):
            ended = sweep.sweep_sessions(workspace=self.workspace, retention=self.retention, now=self.now)
            emptied, _ = sweep.sweep_items(workspace=self.workspace, now=self.now)
            return ended + emptied

    def row(self) -> Session:
        """Give the newest row of the session, past every rule."""
        with access.bound(self.workspace.id):
            return Session.objects.filter(identity_hash=self.place.identity_hash).latest("created_at")

    def rows(self) -> int:
        """Count the rows of sessions and items in the workspace."""
        with access.bound(self.workspace.id):
            return Session.objects.count() + Item.objects.count()
