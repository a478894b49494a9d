"""A workspace with everybody and everything in it once, and an address for each page of the console."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from agentstate.models import SweepRun
from console import page_urls
from console.schedule import SCHEDULED
from history.models import HistorySweep, Session
from privacy.models import ErasureRequest
from privacy.services import erasing, erasures, holds
from privacy.services.documents import propose_change
from privacy.services.erasures import Asker
from privacy.services.holds import HoldWish
from privacy.types import Target
from tests import factories
from tests.api import InProcess
from tests.console.assembled import keep_assemblies
from tests.history.talk import PINS, Talk, items, user
from tests.privacy.packages import build
from workspaces import access, documents
from workspaces.models import (
    ApiKey,
    AuditEntry,
    ChangeRequest,
    FourEyes,
    Invitation,
    Person,
    PersonalToken,
    Profile,
)
from workspaces.rules.handles import Handle, canonical
from workspaces.rules.rights import KEY_SCOPES, ROLES
from workspaces.scopes import scope_of
from workspaces.services import people, runs, usage
from workspaces.services.profiles import handle_of
from workspaces.types import Actor, ChangeWish, Origin, WorkspaceRef

# Nobody's words: where one of them turns up, content has left its place (WM-24, CO-12).
CANARY = "zq7xcanary"
PHONE = "+5511987650123"
EMAIL = f"{CANARY}@corp.example"
SCOPE_ID = f"scope-{CANARY}"
SECRETS = (CANARY, CANARY.upper(), "987650123", "98765-0123")

# The status of the request that a page is shown with, where it is not the one that has just come.
REQUESTS = {"erasure_receipt": "completed", "erasure_approve": "verified"}
# Others, whom requests for erasure and a hold are about.
OTHERS = {
    name: {"type": "email", "value": f"{CANARY}-{name}@corp.example"}
    for name in ("received", "completed", "held")
}
BACK_OFFICE = Actor(kind="key", id="back-office", name="back office (portal)")

# Words as long as people make them.
LONG = "integração-com-o-sistema-de-atendimento-ao-cliente-da-região-sul-e-sudeste"

AGENTS = ("order-taker", "closing", LONG, "claims-triage", "billing", "returns", "greeter")

EVERY_ROLE = "every role"
WITHOUT_ROLE = "no role"
STRANGER = "not a member"
NOBODY = "signed out"
MEMBERS = (*ROLES, WITHOUT_ROLE)
EVERYBODY = (*MEMBERS, STRANGER, NOBODY)


ORDER = factories.order_type()
LONG_TYPE = factories.order_type(
    type="a" * 40,
    agents=[LONG],
    fields={"b" * 40: {"type": "enum", "values": [LONG, "c" * 60], "label": LONG, "description": LONG * 2}},
    retention={"state": "30d"},
    purposes=[LONG],
    recipients=[LONG],
)


class House(msgspec.Struct, frozen=True):
    """Who is there and what the pages show; it stays for the whole run.

    `quiet` is another workspace of the person with every role: nothing is switched on or stored in it.
    """

    workspace: WorkspaceRef
    quiet: WorkspaceRef
    people: Mapping[str, Person]
    tokens: Mapping[str, UUID]
    invitation: str
    invitation_id: UUID
    profile: UUID
    key: UUID
    key_text: str
    entry: UUID
    requests: Mapping[str, UUID]
    hold: UUID
    held: UUID
    reserved: UUID
    change: UUID
    package: UUID
    assembly: UUID
    compared: UUID
    job: str
    scope: str

    def address(self, route: str, who: str = "security") -> str:
        """Give the address of a page, filled with what is in the house; `who` owns the token that it names."""
        pattern = next(found for found in page_urls.urlpatterns if found.name == route)
        values = self._values(route, who)
        return reverse(f"console:{route}", kwargs={name: values[name] for name in pattern.pattern.converters})

    def _values(self, route: str, who: str) -> dict[str, Any]:
        # Read again: the token for a new password holds only until the next sign-in.
        person = Person.objects.get(id=self.people.get(who, self.people["security"]).id)
        reset = route == "password_reset_confirm"
        return {
            "slug": self.workspace.slug,
            "profile_id": self.profile,
            "key_id": self.key,
            "entry_id": self.entry,
            "erasure_id": self.requests[REQUESTS.get(route, "received")],
            "hold_id": self.hold,
            "session_id": self.reserved,
            "form": "csv",
            "package_id": self.package,
            "assembly_id": self.assembly,
            "other_id": self.compared,
            "person_id": self.people["support"].id,
            "invitation_id": self.invitation_id,
            "token_id": self.tokens.get(who, self.tokens["security"]),
            "name": "order",
            "job_name": self.job,
            "key": "agent_state",
            "target": "conversation",
            "scope": self.scope,
            "kind": "masking",
            "request_id": self.change,
            "act": "deny",
            "uidb64": urlsafe_base64_encode(force_bytes(person.pk)),
            "token": default_token_generator.make_token(person) if reset else self.invitation,
        }


def page_names() -> Iterator[str]:
    """Name every page, from the server's own list."""
    for pattern in page_urls.urlpatterns:
        assert pattern.name
        yield pattern.name


def build_house() -> House:
    """Make the workspace; every kind of content in it carries the canary."""
    workspace = factories.make_ready_workspace("House", ORDER, LONG_TYPE)
    staff = {role: factories.make_person(workspace, role, name=role.title()) for role in ROLES}
    staff[WITHOUT_ROLE] = factories.make_person(workspace, "support", name="Nils")
    staff[EVERY_ROLE] = factories.make_person(workspace, *ROLES, name="Eva")
    for member, person in staff.items():
        factories.make_token(workspace, person, *ROLES.get(member, ("find_profiles",)))
    _take_roles(workspace, staff[WITHOUT_ROLE], by=staff["owner"])
    elsewhere = factories.make_ready_workspace("Elsewhere")
    staff[STRANGER] = factories.make_person(elsewhere, *ROLES, name="Stella")
    key_text = factories.make_key(workspace, "agent_state", name="of the house")
    factories.make_key(
        workspace, *KEY_SCOPES, name=LONG, source=LONG, agents=[LONG, "closing"], networks=["10.0.0.0/8"]
    )
    _write_canaries(InProcess(key_text))
    package = build(workspace, {"type": "phone_e164", "value": PHONE})
    count_a_month(workspace)
    run_schedule()
    _write_about(InProcess(key_text), *OTHERS.values())
    reserved = keep_sessions(workspace, {"type": "phone_e164", "value": PHONE})
    assembled = keep_assemblies(workspace, {"type": "phone_e164", "value": PHONE}, word=CANARY)
    requests, hold, held = ask_and_hold(workspace, staff)
    with access.bound(workspace.id):
        return House(
            workspace=workspace,
            quiet=_quiet(staff[EVERY_ROLE]),
            people=staff,
            tokens=_tokens(staff),
            invitation=_invited(workspace, staff["owner"]),
            invitation_id=Invitation.objects.get().id,
            profile=Profile.objects.order_by("created_at")[0].id,
            key=ApiKey.objects.get(name="of the house").id,
            key_text=key_text,
            entry=AuditEntry.objects.get(act="feature.enable", object_id="agent_state").id,
            change=ask_for_a_change(staff["engineer"]).id,
            package=package.id,
            assembly=assembled.traced,
            compared=assembled.plain,
            job=f"states-{SweepRun.objects.latest('id').id}",
            requests=requests,
            hold=hold,
            held=held,
            scope=scope_of(workspace, kind="conversation", id=f"{SCOPE_ID}-1").hash.hex(),
            reserved=reserved,
        )


def keep_sessions(workspace: WorkspaceRef, subject: Mapping[str, str]) -> UUID:
    """Keep sessions of history about somebody, with the canary in them, and leave decisions running.

    Gives the one whose decision has run for longest.
    """
    factories.switch(workspace, "history", on=True)
    agent = InProcess(factories.make_key(workspace, "history", source="chat backend", name="of history"))
    for name, worker in (("done", ""), ("short", "chat-7"), ("long", LONG), ("unlabelled", "")):
        talk = Talk(agent, session_id=f"{SCOPE_ID}-{name}")
        told = items(user(CANARY), {"role": "assistant", "content": CANARY}, key=CANARY)
        token = talk.token(conversation_id=f"{SCOPE_ID}-history", subject=subject)
        kept = talk.call("commit", reservation=token, items=told, pins=PINS | {"model": "gpt-4.1-mini"})
        assert kept.status == 200, kept.body
        if name != "done":
            talk.token(worker=worker)
    with access.bound(workspace.id):
        now = timezone.now()
        longest = Session.objects.get(worker=LONG)
        Session.objects.filter(id=longest.id).update(reserved_at=now - timedelta(hours=2))
        HistorySweep.objects.create(began_at=now, ended_at=now, removed={"sessions": 4, "items": 31})
        return longest.id


def count_a_month(workspace: WorkspaceRef) -> None:
    """Leave numbers of the last 30 days, more by day than by night, with an hour in which much failed."""
    now = timezone.now()
    for back in (*range(24), *range(24, 24 * 30, 8)):
        at = now - timedelta(hours=back)
        busy = 40 + 30 * (at.hour in range(9, 19)) + (back * 7) % 13
        numbers = {
            ("request", "2xx"): busy * 3,
            ("request", "4xx"): busy // 9 + 30 * (back == 5),
            ("request", "5xx"): 4 * (back % 11 == 3),
            ("refusal", "agent_state_conflict"): busy // 11,
            ("refusal", "decision_history_limit_exceeded"): busy // 30,
            ("refusal", "invalid_input"): 30 * (back == 5),
            ("not_stored", "over_cap"): busy // 40,
            ("not_stored", "not_declared_field"): 2 * (back % 5 == 0),
            ("tokens", "naive"): busy * 9000,
            ("tokens", "assembled"): busy * 2100,
            **{("write", agent): busy // number for number, agent in enumerate(AGENTS, 1)},
            **{("state", agent): busy // number // 6 for number, agent in enumerate(AGENTS, 1)},
        }
        for (kind, name), amount in numbers.items():
            usage.count(workspace.id, kind, name, now=at, amount=amount)
    usage.keep_counted()


def run_schedule() -> None:
    """Note a run of each scheduled task; one failed and one is late."""
    now = timezone.now()
    for number, name in enumerate(SCHEDULED):
        at = now - (timedelta(hours=9) if number == 1 else timedelta(seconds=5 + number))
        runs.note_run(
            name=name, sent_at=at - timedelta(milliseconds=40), began_at=at, is_done=number > 0, now=at
        )


def ask_and_hold(workspace: WorkspaceRef, staff: Mapping[str, Person]) -> tuple[dict[str, UUID], UUID, UUID]:
    """Leave a request for erasure in each status, with four eyes for them, and a hold for which one waits.

    Gives the requests by status, the hold and whom it is on.
    """
    with access.bound(workspace.id):
        FourEyes.objects.update(kinds=["erasure"])
        now = timezone.now()
        _asking, gone, held = (profile_of(workspace, other) for other in OTHERS.values())
        wish = HoldWish(
            target=Target(kind="profile", profile_id=held),
            reason=f"Case 2026-117, {LONG}",
            ends_at=now + timedelta(days=180),
        )
        hold = holds.place_hold(
            workspace=workspace, wish=wish, person_id=staff["privacy"].id, actor=factories.SYSTEM, now=now
        )
        asked = {
            "received": _ask(workspace, Target(kind="handle", handle=_handle("received")), is_verified=False),
            "verified": _ask(workspace, Target(kind="conversation", scope_id=f"{SCOPE_ID}-0")),
            "own": _ask(workspace, Target(kind="task", scope_id=SCOPE_ID), by=staff[EVERY_ROLE]),
            "waiting": _ask(workspace, Target(kind="profile", profile_id=held)),
            "completed": _ask(workspace, Target(kind="profile", profile_id=gone)),
            "refused": _ask(workspace, Target(kind="profile", profile_id=uuid4())),
        }
        for name in ("waiting", "completed"):
            erasures.approve(
                workspace=workspace, request_id=asked[name], actor=factories.SYSTEM, reason="", now=now
            )
        ErasureRequest.objects.filter(id=asked["received"]).update(regime="GDPR")
        ErasureRequest.objects.filter(id=asked["own"]).update(due_on=now.date() - timedelta(days=3))
        ErasureRequest.objects.filter(id=asked["waiting"]).update(due_on=now.date() + timedelta(days=3))
    assert erasing.run(workspace=workspace, request_id=asked["completed"])
    with access.bound(workspace.id):
        SweepRun.objects.create(began_at=now, ended_at=now, removed={"states": 12, "fields": 3}, backlog=1)
    return asked, hold.id, held


def profile_of(workspace: WorkspaceRef, subject: Mapping[str, str]) -> UUID:
    """Give the id of a person whom a handle names, made where nobody has named them yet."""
    with access.bound(workspace.id):
        value = canonical(subject["type"], subject["value"], "")
        return handle_of(workspace=workspace, value=value, now=timezone.now()).profile_id


def _handle(name: str) -> Handle:
    return canonical(OTHERS[name]["type"], OTHERS[name]["value"], "")


def _ask(
    workspace: WorkspaceRef, target: Target, *, is_verified: bool = True, by: Person | None = None
) -> UUID:
    actor = people.actor_of(by, Origin()) if by else BACK_OFFICE
    asker = Asker(actor, is_verified=is_verified)
    return erasures.request_erasure(
        workspace=workspace, target=target, asker=asker, reason="For a test", now=timezone.now()
    ).id


def ask_for_a_change(author: Person) -> ChangeRequest:
    """Let somebody propose other regions for the masking of the bound workspace."""
    live = documents.live("masking")["masking"]
    wish = ChangeWish(
        kind="masking",
        document={**live.body, "regions": ["BR", "PT"]},
        reason="A new country",
        replaces=live.version,
    )
    actor = people.actor_of(author, Origin())
    return propose_change(wish=wish, author_id=author.id, actor=actor, now=timezone.now()).change


def _quiet(person: Person) -> WorkspaceRef:
    workspace = factories.make_workspace("Quiet")
    with access.bound(workspace.id):
        people.join(person=person, roles=ROLES, actor=factories.SYSTEM, now=timezone.now())
    return workspace


def _take_roles(workspace: WorkspaceRef, person: Person, *, by: Person) -> None:
    with access.bound(workspace.id):
        people.change_roles(
            person=person,
            roles=[],
            changer=by,
            reason="For a test",
            actor=factories.SYSTEM,
            now=timezone.now(),
        )


def _tokens(staff: Mapping[str, Person]) -> dict[str, UUID]:
    names = {person.id: name for name, person in staff.items()}
    return {names[token.person_id]: token.id for token in PersonalToken.objects.all()}


def _invited(workspace: WorkspaceRef, owner: Person) -> str:
    return people.invite(
        workspace=workspace,
        email="invited@example.com",
        roles=["support"],
        inviter=owner,
        actor=factories.SYSTEM,
        now=timezone.now(),
    )


def _write_canaries(agent: InProcess) -> None:
    """Store the canary as a value of every kind, as a scope id and in handles."""
    body = {
        "step": "cart",
        "cart": [{"item": CANARY, "qty": 1}],
        "delivery": {"street": CANARY},
        "note": f"{CANARY} {PHONE}",
        "phone": PHONE,
        "remark": CANARY,
        "anything": [CANARY, {"deep": CANARY}],
    }
    _write_long(agent)
    subjects = ({"type": "phone_e164", "value": PHONE}, {"type": "email", "value": EMAIL})
    for number, subject in enumerate(subjects):
        scope = factories.scope(f"{SCOPE_ID}-{number}")
        stored = agent.write(factories.write(body, scope=scope, subject=subject))
        assert stored.status == 200, stored.body


def _write_about(agent: InProcess, *subjects: Mapping[str, str]) -> None:
    """Store a state about each of these people."""
    for number, subject in enumerate(subjects):
        scope = factories.scope(f"{SCOPE_ID}-other-{number}")
        stored = agent.write(factories.write({"remark": CANARY}, scope=scope, subject=subject))
        assert stored.status == 200, stored.body


def _write_long(agent: InProcess) -> None:
    """Store a state of the agent with the long name about the first of the two people."""
    wish = factories.write({"b" * 40: LONG}, agent=LONG, subject={"type": "phone_e164", "value": PHONE})
    stored = agent.write(wish)
    assert stored.status == 200, stored.body
