"""Documents are proposed and published; a feature is switched by the same way (PR-1 to PR-4)."""

from datetime import datetime
from uuid import UUID

import msgspec
from django.db import transaction

from agentstate.types import TypeEffects
from privacy.rules import documents as rules
from privacy.selectors.documents import preview
from privacy.services import alerts
from privacy.types import Preview
from workspaces import access, audit, documents
from workspaces.errors import Conflict, InvalidDocument, InvalidInput, WrongVersion
from workspaces.models import ChangeRequest, Document, DocumentHead
from workspaces.rules.documents import FEATURES, KINDS
from workspaces.selectors.approvals import EDITABLE, OPEN, require_cleared
from workspaces.services import approvals
from workspaces.types import Actor, ChangeWish, Decider, FieldProblem


class Proposal(msgspec.Struct, frozen=True):
    """A proposed change, and of object types what it would do to the states that are stored (PR-3)."""

    change: ChangeRequest
    effects: TypeEffects | None = None


@transaction.atomic
def propose_change(*, wish: ChangeWish, author_id: UUID | None, actor: Actor, now: datetime) -> Proposal:
    """Propose a version of a document (PR-2).

    Raises NotFound for an unknown kind, WrongVersion when the live version is not the one that it replaces, and
    InvalidDocument with every problem for one that could not be published, such as a held field that is removed and
    not listed in `drop` (PR-3).
    """
    found = _require_acceptable(wish)
    change = approvals.open_request(wish=wish, author_id=author_id, actor=actor, now=now)
    alerts.tell_change_waits(change)
    return Proposal(change, found.types)


@transaction.atomic
def edit_change(*, change_id: UUID, wish: ChangeWish, by: Decider, now: datetime) -> Proposal:
    """Let the author say something else in their open change; approvals of what it said before count no more (PR-2b).

    A change that failed or was scheduled waits for an approval and a publication again. Raises what `propose_change`
    raises, OwnChange for anybody else, and Conflict where the change is closed or of another kind.
    """
    change = approvals.locked(change_id, statuses=EDITABLE)
    if change.kind != wish.kind:
        raise Conflict("A change stays one of its kind: make another one.")
    found = _require_acceptable(wish)
    approvals.edit_request(request=change, wish=wish, by=by, now=now)
    alerts.tell_change_waits(change)
    return Proposal(change, found.types)


@transaction.atomic
def publish_change(*, change_id: UUID, publisher_id: UUID | None, actor: Actor, now: datetime) -> Document:
    """Publish a proposed version; it holds from the commit on, in every process (PR-4).

    1. Wait for the writes that are under way, and keep new ones waiting, so that one publication goes at a time.
    2. Refuse with ApprovalRequired where four eyes hold and nobody else approved exactly this (PR-2b), and with
       WrongVersion or InvalidDocument when the live version moved, or what is stored would break now.
    3. Write the version, move the head, and write the audit entry, in this transaction.
    """
    approvals.hold()
    documents.hold_alone()
    change = access.one(ChangeRequest.objects.select_for_update(), id=change_id, kind__in=KINDS)
    if change.status not in OPEN:
        raise Conflict(f"The change was {change.status} before.")
    require_cleared(change)
    if change.publish_at is not None and change.publish_at > now and not change.is_glass_broken:
        raise Conflict("Its time has not come.")
    # Not joined with the document: who waited for the lock would get no row, since the head moved meanwhile.
    head = DocumentHead.objects.select_for_update().get(kind=change.kind)
    before = head.document
    if before.version != change.replaces:
        raise WrongVersion(f"Version {before.version} is live, the change replaces {change.replaces}.")
    found = _require_publishable(change.kind, change.body, tuple(change.drop))
    document = Document.objects.create(
        kind=change.kind,
        version=before.version + 1,
        body=change.body,
        drop=change.drop,
        reason=change.reason,
        published_by_id=publisher_id,
        published_at=now,
    )
    head.document = document
    head.save(update_fields=["document"])
    change.published = document
    approvals.close_published(request=change, publisher_id=publisher_id)
    _record_publication(document, before, found, actor=actor, now=now)
    return document


@transaction.atomic
def change_document(*, wish: ChangeWish, person_id: UUID | None, actor: Actor, now: datetime) -> Document:
    """Propose a version and publish it at once, as one person may where no second one is asked for (PR-2).

    Where four eyes hold it is refused with ApprovalRequired, and nothing is kept.
    """
    proposal = propose_change(wish=wish, author_id=person_id, actor=actor, now=now)
    return publish_change(change_id=proposal.change.id, publisher_id=person_id, actor=actor, now=now)


def feature_wish(*, feature: str, on: bool, reason: str, replaces: int) -> ChangeWish:
    """Give the change of the `features` document that switches one feature."""
    live = documents.live("features")["features"]
    enabled = [name for name in FEATURES if (on if name == feature else documents.is_on(live, name))]
    return ChangeWish(kind="features", document={"enabled": enabled}, reason=reason, replaces=replaces)


@transaction.atomic
def switch_feature(
    *,
    feature: str,
    on: bool,
    reason: str,
    replaces: int,
    person_id: UUID | None,
    actor: Actor,
    now: datetime,
) -> Document:
    """Switch one feature on or off. Turning it off stops access at once and deletes nothing (PR-1, PR-4)."""
    wish = feature_wish(feature=feature, on=on, reason=reason, replaces=replaces)
    return change_document(wish=wish, person_id=person_id, actor=actor, now=now)


def _require_acceptable(wish: ChangeWish) -> Preview:
    """Refuse what could not be published as things stand."""
    rules.require_kind(wish.kind)
    approvals.require_reason(wish.reason)
    _require_drop(wish.drop)
    _require_live(wish.kind, wish.replaces)
    return _require_publishable(wish.kind, wish.document, wish.drop)


def _require_drop(drop: tuple[str, ...]) -> None:
    if not all("." in name and len(name) <= rules.MAX_DROP_LENGTH for name in drop):
        problem = FieldProblem("/drop", "wrong_form", "Each is named as type.field.")
        raise InvalidInput(errors=(problem,))


def _require_live(kind: str, version: int) -> None:
    live = documents.live(kind)[kind]
    if live.version != version:
        raise WrongVersion(f"Version {live.version} is live.")


def _require_publishable(kind: str, document: object, drop: tuple[str, ...]) -> Preview:
    found = preview(kind, document, drop=drop)
    if found.problems:
        raise InvalidDocument(errors=found.problems)
    return found


def _record_publication(
    document: Document, before: Document, found: Preview, *, actor: Actor, now: datetime
) -> None:
    """Write each act of a publication, with the fields that states lose by it."""
    dropped = [f"{lost.type}.{lost.field}" for lost in found.types.removed] if found.types else []
    for act in rules.acts_of(document.kind, before.body, document.body):
        audit.record(
            act.name,
            actor=actor,
            now=now,
            on=act.on,
            reason=document.reason,
            facts={"document": document.kind, "version": document.version, "drop": dropped},
        )
