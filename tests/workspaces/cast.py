"""A workspace in which everybody is there once, for the tables of rights and isolation."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
from django.utils import timezone

from agentstate.models import SweepRun
from agentstate.services import erasures as states
from assembly.models import GraphSweep, LooseBlob
from history.models import HistorySweep
from privacy.services.documents import propose_change
from privacy.services.erasures import Asker, request_erasure
from privacy.types import Target
from tests import factories
from tests.api import InProcess
from tests.assembly.graphs import Story
from tests.history.talk import Talk
from tests.privacy.packages import build
from workspaces import access, documents
from workspaces.barriers import digest_key
from workspaces.models import (
    ApiKey,
    Approval,
    ChangeRequest,
    Erasure,
    Hold,
    PersonalToken,
    Profile,
    RetiredKey,
)
from workspaces.rules.credentials import parse_key
from workspaces.rules.rights import KEY_SCOPES, ROLES
from workspaces.scopes import scope_of
from workspaces.services import credentials, people, usage
from workspaces.types import ChangeWish, WorkspaceRef

PHONE = "+5511912345678"
SCOPE_ID = "cast-conversation"
SESSION_ID = "cast-session"
GRAPH_ID = "cast-graph"


class Cast(msgspec.Struct, frozen=True):
    """Who is there: a token for each role, a key for each scope, and what no longer or never opened anything."""

    workspace: WorkspaceRef
    tokens: dict[str, str]
    keys: dict[str, str]
    dead: dict[str, str]
    profile: UUID
    pseudonym: str
    changes: dict[str, UUID]
    erasure: UUID
    hold: UUID
    package: UUID
    payload: UUID
    assembly: UUID

    def api(self, caller: str) -> InProcess:
        """Give a client: `role:<role>`, `key:<scope>`, `nobody`, or the name of a dead credential."""
        kind, _, name = caller.partition(":")
        if kind == "role":
            return InProcess(self.tokens[name])
        if kind == "key":
            return InProcess(self.keys[name])
        return InProcess(None if caller == "nobody" else self.dead[caller])


def make_cast() -> Cast:
    """Make a workspace with everybody in it, committed."""
    workspace = factories.make_ready_workspace("Cast")
    staff = {role: factories.make_person(workspace, role, name=role) for role in ROLES}
    tokens = {role: factories.make_token(workspace, person, *ROLES[role]) for role, person in staff.items()}
    keys = {name: factories.make_key(workspace, name, source=name) for name in KEY_SCOPES}
    _write_something(workspace, keys["agent_state"])
    factories.switch(workspace, "history", on=True)
    for key in (keys["history"], factories.make_key(workspace, "history")):
        _say_something(workspace, key)
    factories.switch(workspace, "context", on=True)
    story = Story(InProcess(keys["context"]), GRAPH_ID)
    recorded = story.stored(*story.whole({"type": "phone_e164", "value": PHONE}))
    payload = next(item["payload_id"] for item in recorded["records"] if item["payload_id"])
    assembly = story.assembled()["assembly_id"]
    hold = _hold_something(workspace, keys["agent_state"])
    erasure = _erase_something(workspace, keys["agent_state"])
    with access.bound(workspace.id):
        profile = Profile.objects.get()
        RetiredKey.objects.create(key_id=uuid4())
        LooseBlob.objects.create(name="none", due_at=timezone.now())
        people.invite(
            workspace=workspace,
            email="invited@example.com",
            roles=["support"],
            inviter=staff["owner"],
            actor=factories.SYSTEM,
            now=timezone.now(),
        )
    changes = {kind: propose_again(workspace, kind).id for kind in documents_of(workspace)}
    with access.bound(workspace.id):
        # An approval of a content that is gone: it counts for nothing.
        Approval.objects.create(
            request_id=changes["masking"],
            person=staff["security"],
            digest="0" * 64,
            approved_at=timezone.now(),
        )
    return Cast(
        workspace=workspace,
        tokens=tokens,
        keys=keys,
        dead=dead_credentials(workspace),
        profile=profile.id,
        pseudonym=profile.pseudonym,
        changes=changes,
        erasure=erasure,
        hold=hold,
        package=build(workspace, {"type": "phone_e164", "value": PHONE}).id,
        payload=UUID(payload),
        assembly=UUID(assembly),
    )


def documents_of(workspace: WorkspaceRef) -> dict[str, Any]:
    """Give the bodies of the live documents."""
    kinds = ("features", "object-types", "masking", "retention", "assembly-policy")
    with access.bound(workspace.id):
        return {kind: dict(live.body) for kind, live in documents.live(*kinds).items()}


def propose_again(workspace: WorkspaceRef, kind: str) -> ChangeRequest:
    """Propose the live document of a kind once more."""
    with access.bound(workspace.id):
        live = documents.live(kind)[kind]
        wish = ChangeWish(kind=kind, document=dict(live.body), reason="Once more", replaces=live.version)
        return propose_change(wish=wish, author_id=None, actor=factories.SYSTEM, now=timezone.now()).change


def dead_credentials(workspace: WorkspaceRef) -> dict[str, str]:
    """Make every kind of text that opens nothing, and a key that opens nothing from here."""
    live = factories.make_key(workspace, *KEY_SCOPES)
    other = factories.make_key(workspace, *KEY_SCOPES)
    revoked, expired = factories.make_key(workspace, *KEY_SCOPES), factories.make_key(workspace, *KEY_SCOPES)
    person = factories.make_person(workspace, "owner", name="Gone")
    token_revoked, token_expired = (
        factories.make_token(workspace, person, "manage_people") for _ in range(2)
    )
    now = timezone.now()
    with access.bound(workspace.id):
        credentials.revoke_api_key(
            key_id=row_id(revoked), reason="For a test", actor=factories.SYSTEM, now=now
        )
        credentials.revoke_token(
            token_id=row_id(token_revoked), person=person, actor=factories.SYSTEM, now=now
        )
        ApiKey.objects.filter(id=row_id(expired)).update(expires_at=now - timedelta(seconds=1))
        PersonalToken.objects.filter(id=row_id(token_expired)).update(expires_at=now - timedelta(seconds=1))
    return {
        "revoked key": revoked,
        "expired key": expired,
        "revoked token": token_revoked,
        "expired token": token_expired,
        "malformed key": live[:-1],
        "not a key": "secret",
        "wrong checksum": live[:-6] + other[-6:],
        "wrong secret": with_secret_of(live, other),
        "key of nobody": with_id_of(live, "0" * 12),
        "key outside its networks": factories.make_key(workspace, *KEY_SCOPES, networks=("198.51.100.0/24",)),
    }


def row_id(text: str) -> UUID:
    """Give the id of the row of a key or token."""
    parts = parse_key(text)
    assert parts is not None
    find = access.find_api_key if parts.prefix == "lst" else access.find_personal_token
    row = find(parts.key_id)
    assert row is not None
    return row.id


def with_secret_of(text: str, other: str) -> str:
    """Give a well-formed key with the id of one and the secret of another."""
    return _checked(text[:17] + other[17:-6])


def with_id_of(text: str, key_id: str) -> str:
    """Give a well-formed key with another id."""
    return _checked(text[:4] + key_id + text[16:-6])


def _checked(head: str) -> str:
    from workspaces.rules.credentials import _checksum

    return head + _checksum(head)


def _write_something(workspace: WorkspaceRef, key: str) -> None:
    stored = InProcess(key).write(
        factories.write(scope=factories.scope(SCOPE_ID), subject={"type": "phone_e164", "value": PHONE})
    )
    assert stored.status == 200
    usage.keep_counted()
    batch = InProcess(key).post("/v1/batch", {"items": [{}]}, **{"Idempotency-Key": "cast"})
    assert batch.status == 200


def _say_something(workspace: WorkspaceRef, key: str) -> None:
    """Keep a session of the key's source, and note a sweep of history and one of graphs."""
    items = [{"message": {"role": "user", "content": "Hello"}, "id": "cast-message"}]
    body = {"session": {"session_id": SESSION_ID}, "items": items, "create": True}
    assert InProcess(key).post("/v1/history/append", body).status == 200
    now = timezone.now()
    with access.bound(workspace.id):
        HistorySweep.objects.create(began_at=now, ended_at=now)
        GraphSweep.objects.create(began_at=now, ended_at=now)


def _hold_something(workspace: WorkspaceRef, key: str) -> UUID:
    """Hold a conversation, overwrite what it holds and delete its session; note a sweep too."""
    place, now = factories.scope("cast-held"), timezone.now()
    with access.bound(workspace.id):
        scope = scope_of(workspace, **place)
        SweepRun.objects.create(began_at=now, ended_at=now)
        hold = Hold.objects.create(
            scope_kind=scope.kind,
            scope_hash=scope.hash,
            reason="For a test",
            placed_at=now,
            ends_at=now + timedelta(days=1),
        )
    for step in ("cart", "done"):
        assert InProcess(key).write(factories.write({"step": step}, scope=place)).status == 200
    talk = Talk(InProcess(factories.make_key(workspace, "history")))
    assert talk.decide({"role": "user", "content": "Hello"}).status == 200
    token = talk.token(conversation_id=place["id"])
    given_up = [{"message": {"role": "user", "content": "Hello again"}}]
    assert talk.call("append", reservation=token, items=given_up).status == 200
    assert talk.call("abort", reservation=token).status == 200
    return hold.id


def _erase_something(workspace: WorkspaceRef, key: str) -> UUID:
    """Erase a conversation up to the last steps, and read it afterwards."""
    place, now = factories.scope("cast-erased"), timezone.now()
    assert InProcess(key).write(factories.write(scope=place)).status == 200
    with access.bound(workspace.id):
        target, asker = Target(kind="conversation", scope_id=place["id"]), Asker(factories.SYSTEM)
        request = request_erasure(workspace=workspace, target=target, asker=asker, now=now)
        erasure = Erasure.objects.get(id=request.id)
        states.erase_batch(workspace=workspace, erasure=erasure, key=digest_key(workspace, erasure))
    assert InProcess(key).read(place).body["version"] == 0
    return request.id
