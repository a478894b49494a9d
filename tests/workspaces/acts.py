"""Every governance act that there is, each with what the audit must say about it (PR-21)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pyotp
from django.db import connection, transaction
from django.utils import timezone

from agentstate.services.profiles import show_states
from console.sessions import SessionStore
from history.access import place_of
from history.documents import retention_of
from history.services import reservations
from history.types import BeginWish, Identity, Place, Retention
from privacy.models import ErasureRequest
from privacy.services import approvals, erasures, holds, links
from privacy.services.documents import edit_change, propose_change, publish_change, switch_feature
from privacy.services.erasures import Asker
from privacy.services.holds import HoldWish
from privacy.services.workspaces import close_workspace
from privacy.types import Target
from tests import factories
from tests.workspaces.cast import Cast, row_id
from workspaces import access, documents
from workspaces.models import FourEyes, Handle, Hold, Invitation, Person
from workspaces.rules import handles
from workspaces.rules.rights import ROLES
from workspaces.selectors.credentials import caller_of
from workspaces.selectors.sign_ins import unconfirmed_secret
from workspaces.services import (
    credentials,
    openid,
    people,
    profiles,
    second_factors,
    sessions,
    signing,
    workspaces,
)
from workspaces.services.approvals import deny_request, set_four_eyes, withdraw_request
from workspaces.services.credentials import KeyWish
from workspaces.services.openid import OpenIdClaims
from workspaces.types import Actor, ChangeWish, Decider, Origin

ORIGIN = Origin(address="192.0.2.9", request_id="req-of-an-act")
ACTOR = Actor(
    kind="token", id="t-1", name="ana@example.com", address=ORIGIN.address, request_id=ORIGIN.request_id
)
REASON = "A reason"
ENTRIES, OUTSIDE = "workspaces_auditentry", "workspaces_deploymentauditentry"


class Ground(msgspec.Struct, frozen=True):
    """What acts are done to."""

    cast: Cast
    person: Person
    owner: Person
    key: str
    token: str
    change: Any
    own: Any
    erasure: UUID
    waiting: UUID
    hold: UUID
    reserved: Place

    @property
    def now(self) -> Any:
        return timezone.now()


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """A deed, the act and kind of object that its one entry names, and whether it carries a reason."""

    name: str
    deed: Callable[[Ground], Any]
    on: str
    with_reason: bool = False
    outside: bool = False


def make_ground(cast: Cast) -> Ground:
    """Make, in the bound workspace, what the acts below change."""
    person = factories.make_person(cast.workspace, "support", "security")
    begin_app(person)
    return Ground(
        cast=cast,
        person=person,
        owner=factories.make_person(cast.workspace, "owner"),
        key=factories.make_key(cast.workspace),
        token=factories.make_token(cast.workspace, person, "find_profiles"),
        change=propose(None).change,
        own=propose(None, author=person, publish_at=timezone.now() + timedelta(days=1)).change,
        erasure=ask(cast).id,
        waiting=ask(cast, is_verified=True).id,
        hold=hold(cast).id,
        reserved=reserve(cast),
    )


def ask(cast: Cast, *, is_verified: bool = False) -> ErasureRequest:
    """Ask for an erasure that waits: for its asker to be identified, or for an approval."""
    FourEyes.objects.update(kinds=["erasure"] if is_verified else [])
    target = Target(kind="conversation", scope_id=uuid4().hex)
    asker = Asker(ACTOR, is_verified=is_verified)
    request = erasures.request_erasure(
        workspace=cast.workspace, target=target, asker=asker, reason=REASON, now=timezone.now()
    )
    FourEyes.objects.update(kinds=[])
    ErasureRequest.objects.filter(id=request.id).update(regime="GDPR")
    return request


def hold(cast: Cast) -> Hold:
    target = Target(kind="conversation", scope_id=uuid4().hex)
    wish = HoldWish(target=target, reason=REASON, ends_at=timezone.now() + timedelta(days=1))
    return holds.place_hold(
        workspace=cast.workspace, wish=wish, person_id=None, actor=ACTOR, now=timezone.now()
    )


def begin_app(person: Person) -> None:
    """Leave a person in the middle of setting up an app, signed in somewhere."""
    second_factors.begin_setup(person=person, now=timezone.now())
    session = SessionStore()
    session["_auth_user_id"] = str(person.id)
    session.create()


def set_up_app(person: Person) -> None:
    """Take the app into use by its first code."""
    now = timezone.now()
    code = pyotp.TOTP(unconfirmed_secret(person.id)).at(now)
    second_factors.finish_setup(person=person, code=code, session_key="", origin=ORIGIN, now=now)


def reserve(cast: Cast) -> Place:
    """Reserve a session; give its place."""
    now = timezone.now()
    caller = caller_of(cast.keys["history"], origin=ORIGIN, now=now)
    assert caller.source_id is not None
    place = place_of(cast.workspace, caller.source_id, Identity(session_id=uuid4().hex))
    reservations.begin(place=place, wish=BeginWish(create=True), retention=_retention(), now=now)
    return place


def _retention() -> Retention:
    return retention_of(documents.live("retention"))


def decided(ground: Ground, deed: Callable[..., Any], **more: Any) -> Any:
    """Decide about the request of the ground."""
    return deed(request_id=ground.erasure, actor=ACTOR, reason=REASON, now=ground.now, **more)


def propose(_: Ground | None, *, author: Person | None = None, publish_at: Any = None) -> Any:
    author_id = author.id if author else None
    return propose_change(wish=wish_of(publish_at), author_id=author_id, actor=ACTOR, now=timezone.now())


def wish_of(publish_at: Any = None) -> ChangeWish:
    live = documents.live("masking")["masking"]
    return ChangeWish(
        kind="masking",
        document=dict(live.body),
        reason=REASON,
        replaces=live.version,
        publish_at=publish_at,
    )


def decider(ground: Ground, person: Person | None = None) -> Decider:
    return Decider((person or ground.person).id, ROLES["security"], ACTOR)


def approve(ground: Ground) -> Any:
    """Approve as somebody who may not publish: else there is a second act."""
    FourEyes.objects.update(kinds=["masking"])
    by = Decider(ground.owner.id, frozenset({"approve_documents"}), ACTOR)
    return approvals.approve(change_id=ground.change.id, reason=REASON, by=by, now=ground.now)


def switch(feature: str, *, on: bool) -> Any:
    live = documents.live("features")["features"]
    return switch_feature(
        feature=feature,
        on=on,
        reason=REASON,
        replaces=live.version,
        person_id=None,
        actor=ACTOR,
        now=timezone.now(),
    )


def make_key(ground: Ground) -> Any:
    wish = KeyWish(source="voice bot", name="n", scopes=("agent_state",))
    return credentials.make_api_key(wish=wish, maker=None, actor=ACTOR, now=ground.now)


def join(ground: Ground) -> Any:
    person = Person.objects.create(email=f"{uuid4().hex}@example.com", name="New", joined_at=ground.now)
    return people.join(person=person, roles=["support"], actor=ACTOR, now=ground.now)


def withdraw(ground: Ground) -> Any:
    invitation = Invitation.objects.filter(accepted_at=None).latest("made_at")
    return people.withdraw_invitation(invitation_id=invitation.id, reason=REASON, actor=ACTOR, now=ground.now)


def person() -> UUID:
    """Make a person with no handle."""
    now = timezone.now()
    return profiles.make_profile(created_at=now, last_seen_at=now).id


def linked_handle(ground: Ground) -> handles.Handle:
    """Make a handle that is one of two of a person."""
    both = [handles.canonical("anon_id", uuid4().hex) for _ in range(2)]
    rows = [
        profiles.handle_of(workspace=ground.cast.workspace, value=value, now=ground.now) for value in both
    ]
    Handle.objects.filter(id=rows[1].id).update(profile=rows[0].profile_id)
    return both[1]


@transaction.atomic
def close(ground: Ground) -> Any:
    """Close the workspace, after what keeps it open."""
    Hold.objects.update(lifted_at=ground.now)
    ErasureRequest.objects.update(ended_at=ground.now)
    return close_workspace(workspace=ground.cast.workspace, actor=ACTOR, reason=REASON, now=ground.now)


ACTS: tuple[Act, ...] = (
    Act(name="key.create", deed=make_key, on="key"),
    Act(
        name="key.rotate",
        on="key",
        deed=lambda ground: credentials.rotate_api_key(
            key_id=row_id(ground.key), overlap=timedelta(hours=1), maker=None, actor=ACTOR, now=ground.now
        ),
    ),
    Act(
        name="key.revoke",
        on="key",
        with_reason=True,
        deed=lambda ground: credentials.revoke_api_key(
            key_id=row_id(ground.key), reason=REASON, actor=ACTOR, now=ground.now
        ),
    ),
    Act(
        name="token.create",
        on="token",
        deed=lambda ground: credentials.make_token(
            workspace=ground.cast.workspace,
            person=ground.person,
            name="n",
            permissions=["find_profiles"],
            life=timedelta(days=1),
            actor=ACTOR,
            now=ground.now,
        ),
    ),
    Act(
        name="token.revoke",
        on="token",
        deed=lambda ground: credentials.revoke_token(
            token_id=row_id(ground.token), person=ground.person, actor=ACTOR, now=ground.now
        ),
    ),
    Act(
        name="person.invite",
        on="invitation",
        deed=lambda ground: people.invite(
            workspace=ground.cast.workspace,
            email="new@example.com",
            roles=["support"],
            inviter=None,
            actor=ACTOR,
            now=ground.now,
        ),
    ),
    Act(name="person.withdraw_invitation", on="invitation", with_reason=True, deed=withdraw),
    Act(name="person.join", on="person", deed=join),
    Act(
        name="role.change",
        on="person",
        with_reason=True,
        deed=lambda ground: people.change_roles(
            person=ground.person,
            roles=["auditor"],
            changer=ground.owner,
            reason=REASON,
            actor=ACTOR,
            now=ground.now,
        ),
    ),
    Act(name="document.propose", on="document", with_reason=True, deed=propose),
    Act(
        name="document.edit",
        on="document",
        with_reason=True,
        deed=lambda ground: edit_change(
            change_id=ground.own.id, wish=wish_of(), by=decider(ground), now=ground.now
        ),
    ),
    Act(name="document.approve", on="document", with_reason=True, deed=approve),
    Act(
        name="document.schedule",
        on="document",
        with_reason=True,
        deed=lambda ground: approvals.publish(change_id=ground.own.id, by=decider(ground), now=ground.now),
    ),
    Act(
        name="document.deny",
        on="document",
        with_reason=True,
        deed=lambda ground: deny_request(
            request_id=ground.change.id, reason=REASON, by=decider(ground), now=ground.now
        ),
    ),
    Act(
        name="document.withdraw",
        on="document",
        with_reason=True,
        deed=lambda ground: withdraw_request(
            request_id=ground.own.id, reason=REASON, by=decider(ground), now=ground.now
        ),
    ),
    Act(
        name="four_eyes.change",
        on="workspace",
        with_reason=True,
        deed=lambda ground: set_four_eyes(
            kinds=["masking"],
            replaces=FourEyes.objects.get().version,
            reason=REASON,
            by=decider(ground),
            now=ground.now,
        ),
    ),
    Act(
        name="document.publish",
        on="document",
        with_reason=True,
        deed=lambda ground: publish_change(
            change_id=ground.change.id, publisher_id=None, actor=ACTOR, now=ground.now
        ),
    ),
    Act(name="erasure.request", on="erasure", with_reason=True, deed=lambda ground: ask(ground.cast)),
    Act(
        name="erasure.verify",
        on="erasure",
        with_reason=True,
        deed=lambda ground: decided(ground, erasures.verify_identity),
    ),
    Act(
        name="erasure.approve",
        on="erasure",
        with_reason=True,
        deed=lambda ground: erasures.approve(
            workspace=ground.cast.workspace,
            request_id=ground.waiting,
            actor=ACTOR,
            reason=REASON,
            now=ground.now,
        ),
    ),
    Act(
        name="erasure.refuse",
        on="erasure",
        with_reason=True,
        deed=lambda ground: decided(ground, erasures.refuse, refusal="identity_not_verified"),
    ),
    Act(
        name="erasure.extend",
        on="erasure",
        with_reason=True,
        deed=lambda ground: decided(ground, erasures.extend),
    ),
    Act(name="hold.place", on="hold", with_reason=True, deed=lambda ground: hold(ground.cast)),
    Act(
        name="hold.lift",
        on="hold",
        with_reason=True,
        deed=lambda ground: holds.lift_hold(
            hold_id=ground.hold, person_id=None, actor=ACTOR, reason=REASON, now=ground.now
        ),
    ),
    Act(
        name="profile.find",
        on="profile",
        deed=lambda ground: profiles.find(
            workspace=ground.cast.workspace, query=ground.cast.pseudonym, actor=ACTOR, now=ground.now
        ),
    ),
    Act(
        name="profile.view",
        on="profile",
        deed=lambda ground: show_states(profile_id=ground.cast.profile, actor=ACTOR, now=ground.now),
    ),
    Act(
        name="history.recover",
        on="history_session",
        deed=lambda ground: reservations.recover(
            place=ground.reserved, worker_stopped=True, actor=ACTOR, retention=_retention(), now=ground.now
        ),
    ),
    Act(
        name="workspace.create",
        on="workspace",
        deed=lambda ground: workspaces.create_workspace(
            slug=f"w-{uuid4().hex}", name="W", actor=ACTOR, now=ground.now
        ),
    ),
    Act(
        name="profile.link",
        on="profile",
        with_reason=True,
        deed=lambda ground: links.link(
            workspace=ground.cast.workspace,
            targets=[
                Target(kind="profile", profile_id=profile) for profile in (ground.cast.profile, person())
            ],
            actor=ACTOR,
            reason=REASON,
            now=ground.now,
        ),
    ),
    Act(
        name="profile.unlink",
        on="profile",
        with_reason=True,
        deed=lambda ground: links.unlink(
            workspace=ground.cast.workspace,
            handle=linked_handle(ground),
            actor=ACTOR,
            reason=REASON,
            now=ground.now,
        ),
    ),
    Act(
        name="workspace.close",
        on="workspace",
        with_reason=True,
        deed=close,
    ),
    Act(
        name="person.sign_in",
        on="person",
        outside=True,
        deed=lambda ground: people.note_sign_in(person=ground.person, origin=ORIGIN, now=ground.now),
    ),
    Act(
        name="second_factor.enable",
        on="person",
        outside=True,
        deed=lambda ground: set_up_app(ground.person),
    ),
    Act(
        name="second_factor.disable",
        on="person",
        outside=True,
        deed=lambda ground: second_factors.disable(person=ground.person, origin=ORIGIN, now=ground.now),
    ),
    Act(
        name="second_factor.new_codes",
        on="person",
        outside=True,
        deed=lambda ground: second_factors.renew_codes(person=ground.person, origin=ORIGIN, now=ground.now),
    ),
    Act(
        name="second_factor.reset",
        on="person",
        with_reason=True,
        deed=lambda ground: second_factors.reset(
            person=ground.person, by=ground.owner, reason=REASON, actor=ACTOR, now=ground.now
        ),
    ),
    Act(
        name="session.end",
        on="person",
        outside=True,
        deed=lambda ground: sessions.end_other_sessions(
            person=ground.person, session_key="", origin=ORIGIN, now=ground.now
        ),
    ),
    Act(
        name="person.link_openid",
        on="person",
        outside=True,
        deed=lambda ground: openid.person_of(
            claims=OpenIdClaims("https://login.example", uuid4().hex, ground.person.email),
            origin=ORIGIN,
            now=ground.now,
        ),
    ),
    Act(
        name="person.new_password",
        on="person",
        outside=True,
        deed=lambda ground: people.choose_password(
            person=ground.person, password=factories.PASSWORD, origin=ORIGIN, now=ground.now
        ),
    ),
    Act(
        name="signing_key.rotate",
        on="signing_key",
        outside=True,
        deed=lambda ground: signing.rotate_signing_key(actor=ACTOR, now=ground.now),
    ),
    Act(
        name="person.sign_out",
        on="person",
        outside=True,
        deed=lambda ground: people.note_sign_out(person=ground.person, origin=ORIGIN, now=ground.now),
    ),
)

TWO_ENTRIES = {
    "feature.enable": lambda _: switch("context", on=True),
    "feature.disable": lambda _: switch("agent_state", on=False),
}
"""A switch by its button is proposed and published at once: an entry for each."""

TRIED_ELSEWHERE = {
    "sign_in.lock": "tests/workspaces/test_sign_ins.py",
    "keys.rotate": "tests/workspaces/test_key_rotation.py",
    "hash_key.retire": "tests/workspaces/test_hash_rotation.py",
    "master_key.rotate": "tests/workspaces/test_key_rotation.py",
    "workspace.export": "tests/privacy/test_closing.py",
    "erasure.complete": "tests/privacy/test_erasures_killed.py",
    "erasure.reapply": "tests/privacy/test_erasures_proof.py",
    "erasure.receipt": "tests/console/test_erasure_pages.py",
    "hold.end": "tests/privacy/test_holds.py",
    "hold.export": "tests/privacy/test_holds.py",
    "package.request": "tests/privacy/test_package_runs.py",
    "package.link": "tests/privacy/test_package_runs.py",
    "package.download": "tests/privacy/test_package_runs.py",
    "package.revoke": "tests/privacy/test_package_runs.py",
    "package.build": "tests/privacy/test_package_builds.py",
}
"""Acts of workers and commands, and those that change nothing beside their entry; and where they are tried."""

ALL_ACTS = {act.name for act in ACTS} | TWO_ENTRIES.keys() | TRIED_ELSEWHERE.keys()


def bound_to(ground: Ground, deed: Callable[[Ground], Any]) -> Any:
    """Do something in the cast's workspace."""
    with access.bound(ground.cast.workspace.id):
        return deed(ground)


def settle() -> None:
    """Check the constraints that wait for the end of the transaction: a table with such checks takes no ALTER."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
