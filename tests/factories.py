"""The things that tests are about, made by the services that make them in life."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
from django.utils import timezone

from agentstate.serializers import WriteState, state_write
from agentstate.services.states import store_state
from agentstate.types import StoredState
from privacy.services.documents import change_document, switch_feature
from workspaces import access, documents
from workspaces.models import FourEyes, Person
from workspaces.selectors.credentials import caller_of
from workspaces.services import credentials, people, workspaces
from workspaces.services.credentials import KeyWish
from workspaces.types import Actor, Caller, ChangeWish, Origin, WorkspaceRef

LATELY = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
"""A full hour that has just passed: what is kept since then has not expired, on whatever day the tests run."""
SYSTEM = Actor(kind="system", id="tests", name="tests")
PASSWORD = "correct horse battery staple"

ORDER_TYPE: dict[str, Any] = {
    "type": "order",
    "version": "1",
    "ownership": "agent",
    "agents": ["order-taker"],
    "fields": {
        "step": {"type": "enum", "values": ["cart", "delivery", "done"]},
        "cart": {"type": "list"},
        "qty": {"type": "integer"},
        "total": {"type": "money"},
        "delivery": {"type": "object"},
        "phone": {"type": "string", "pii": "phone"},
        "note": {"type": "text", "pii": True},
        "remark": {"type": "string"},
        "anything": {"type": "any"},
    },
    "retention": {"state": "30d", "phone": "24h"},
    "agent_state": {"scopes": ["conversation", "task", "object", "subject"], "cap_bytes": 4096},
}


def make_workspace(name: str = "Aurora", *, now: datetime | None = None) -> WorkspaceRef:
    """Make a workspace with a slug of its own, so that tests never meet."""
    slug = f"{name.lower()}-{uuid4().hex[:10]}"
    return workspaces.create_workspace(slug=slug, name=name, actor=SYSTEM, now=now or timezone.now())


def make_person(workspace: WorkspaceRef, *roles: str, name: str = "Ana") -> Person:
    """Make a member of a workspace with some roles; the password is PASSWORD."""
    now = timezone.now()
    email = f"{name.lower()}-{uuid4().hex[:8]}@example.com"
    person = Person.objects.create_user(email=email, name=name, password=PASSWORD, joined_at=now)
    with access.bound(workspace.id):
        people.join(person=person, roles=roles, actor=SYSTEM, now=now)
    return person


def make_person_quietly(workspace: WorkspaceRef, *roles: str, name: str = "Ana") -> Person:
    """Make a member as if from before four eyes held: approving roles take an approval since."""
    with access.bound(workspace.id):
        kinds = FourEyes.objects.get().kinds
        FourEyes.objects.update(kinds=[])
        person = make_person(workspace, *roles, name=name)
        FourEyes.objects.update(kinds=kinds)
    return person


def make_key(workspace: WorkspaceRef, *scopes: str, **wish: Any) -> str:
    """Make a source's key; give its text."""
    parts = {"source": "chat backend", "name": "tests", "scopes": scopes or ("agent_state",), **wish}
    with access.bound(workspace.id):
        return credentials.make_api_key(
            wish=KeyWish(**parts), maker=None, actor=SYSTEM, now=timezone.now()
        ).text


def make_token(workspace: WorkspaceRef, person: Person, *permissions: str) -> str:
    """Make a personal token; give its text."""
    with access.bound(workspace.id):
        return credentials.make_token(
            workspace=workspace,
            person=person,
            name="tests",
            permissions=permissions,
            life=timedelta(days=1),
            actor=SYSTEM,
            now=timezone.now(),
        ).text


def publish(
    workspace: WorkspaceRef, kind: str, document: dict[str, Any], *, drop: Iterable[str] = ()
) -> None:
    """Publish a version of a document over the live one."""
    with access.bound(workspace.id):
        replaces = documents.live(kind)[kind].version
        wish = ChangeWish(
            kind=kind, document=document, reason="For a test", replaces=replaces, drop=tuple(drop)
        )
        change_document(wish=wish, person_id=None, actor=SYSTEM, now=timezone.now())


def publish_types(workspace: WorkspaceRef, *types: dict[str, Any], drop: Iterable[str] = ()) -> None:
    """Publish these object types."""
    publish(workspace, "object-types", {"types": list(types)}, drop=drop)


def switch(workspace: WorkspaceRef, feature: str, *, on: bool) -> None:
    """Switch a feature on or off."""
    with access.bound(workspace.id):
        switch_feature(
            feature=feature,
            on=on,
            reason="For a test",
            replaces=documents.live("features")["features"].version,
            person_id=None,
            actor=SYSTEM,
            now=timezone.now(),
        )


def make_ready_workspace(name: str = "Aurora", *types: dict[str, Any]) -> WorkspaceRef:
    """Make a workspace in which working memory is on, with ORDER_TYPE or other types."""
    workspace = make_workspace(name)
    publish_types(workspace, *(types or (ORDER_TYPE,)))
    switch(workspace, "agent_state", on=True)
    return workspace


def order_type(**changes: Any) -> dict[str, Any]:
    """Give ORDER_TYPE with other members."""
    return ORDER_TYPE | changes


def scope(id: str | None = None, kind: str = "conversation") -> dict[str, str]:
    """Give a scope on the wire; without an id a new one."""
    return {"kind": kind, "id": id or f"c-{uuid4().hex}"}


def write(body: Any = None, **members: Any) -> dict[str, Any]:
    """Give the body of a write: a merge of one field into a new conversation, unless told otherwise."""
    base = {"scope": scope(), "agent": "order-taker", "mode": "merge_by_key"}
    return {**base, "body": {"step": "cart"} if body is None else body, **members}


def make_caller(workspace: WorkspaceRef, **members: Any) -> Caller:
    """Give the caller that a new key of a source stands for."""
    text = make_key(workspace, **members)
    return caller_of(text, origin=Origin(), now=timezone.now())


def make_state(workspace: WorkspaceRef, *, now: datetime | None = None, **members: Any) -> StoredState:
    """Store a state as of a moment, by the service that stores states."""
    caller = make_caller(workspace)
    shape = msgspec.convert(write(**members), WriteState)
    with access.bound(workspace.id):
        wanted = state_write(shape, raw=b"", idempotency_key=None)
        return store_state(caller=caller, write=wanted, now=now or timezone.now())
