"""An authenticator app as the second factor, with codes for who has lost it (PL-4, RFC 6238)."""

import base64
import hashlib
import secrets
from datetime import datetime
from typing import Literal

import pyotp
from django.conf import settings
from django.db import transaction

from workspaces import access, audit, encryption
from workspaces.errors import SecondFactorStays
from workspaces.models import Membership, Person, RecoveryCode, SecondFactor
from workspaces.rules.sign_ins import matching_step
from workspaces.selectors.people import require_permission
from workspaces.selectors.sign_ins import needs_second_factor, seal_context, second_factor, secret_of
from workspaces.services import sessions
from workspaces.services.people import actor_of, note_failed_sign_in
from workspaces.types import Actor, AuditObject, Origin

RECOVERY_CODES = 10
RECOVERY_BYTES = 10
_GROUP = 4

Proof = Literal["", "app", "recovery_code"]


@transaction.atomic
def begin_setup(*, person: Person, now: datetime) -> None:
    """Make a secret for a person's app, in place of one that no code has confirmed. It counts for nothing yet."""
    if second_factor(person.id) is None:
        sealed = encryption.wrap_by_master(pyotp.random_base32().encode(), context=seal_context(person.id))
        fresh = {"sealed_secret": sealed, "began_at": now, "last_step": 0}
        SecondFactor.objects.update_or_create(person=person, defaults=fresh)


@transaction.atomic
def finish_setup(*, person: Person, code: str, session_key: str, origin: Origin, now: datetime) -> list[str]:
    """Take the app into use by its first code, and end the person's other sessions, which came without it.

    Gives the recovery codes, which are shown once; nothing for a wrong code.
    """
    factor = SecondFactor.objects.select_for_update().filter(person=person, confirmed_at=None).first()
    if factor is None or not _take_code(factor, code, now):
        return []
    factor.confirmed_at = now
    factor.save(update_fields=["confirmed_at"])
    sessions.drop_others(person=person, session_key=session_key)
    _note("second_factor.enable", person, origin, now)
    return _new_codes(person)


def is_own_code(*, person: Person, code: str, origin: Origin, now: datetime) -> Proof:
    """Tell whether a code is of the person's app, or a recovery code that is used up by this; "" for neither.

    A code is taken once. A wrong one is a failed sign-in, so that no form can guess it (PL-4).
    """
    proof: Proof = "" if person.is_locked(now) else _proof(person, code.replace(" ", ""), now)
    if not proof:
        note_failed_sign_in(email=person.email, origin=origin, now=now)
    return proof


@transaction.atomic
def disable(*, person: Person, origin: Origin, now: datetime) -> None:
    """Let a person sign in by the password alone again. Raises SecondFactorStays where a role needs it."""
    if settings.SECOND_FACTOR_REQUIRED and needs_second_factor(person):
        raise SecondFactorStays("One of your roles needs it.")
    _remove(person)
    _note("second_factor.disable", person, origin, now)


@transaction.atomic
def renew_codes(*, person: Person, origin: Origin, now: datetime) -> list[str]:
    """Give new recovery codes; those before open nothing any more."""
    _note("second_factor.new_codes", person, origin, now)
    return _new_codes(person)


@transaction.atomic
def reset(*, person: Person, by: Person, reason: str, actor: Actor, now: datetime) -> None:
    """Take the second factor from a member who lost it, and end their sessions; they set up another one.

    `by` must be another person who manages people in each of the member's workspaces: whoever owns one of them must
    not open the others. Raises SecondFactorStays, or NotFound for who is no member of the bound workspace.
    """
    access.one(Membership, person=person)
    require_may_reset(person=person, by=by)
    _remove(person)
    sessions.drop_others(person=person, session_key="")
    on = AuditObject("person", str(person.id))
    audit.record("second_factor.reset", actor=actor, now=now, on=on, reason=reason)


@transaction.atomic
def reset_by_operator(*, person: Person, actor: Actor, now: datetime) -> None:
    """Take the second factor from somebody whom no colleague can help, by whoever runs the server."""
    _remove(person)
    sessions.drop_others(person=person, session_key="")
    on = AuditObject("person", str(person.id))
    audit.record_outside("second_factor.reset", actor=actor, now=now, on=on)


def require_may_reset(*, person: Person, by: Person) -> None:
    """Refuse who would reset their own second factor, or that of somebody who works where they manage nobody."""
    if person.id == by.id:
        raise SecondFactorStays("Nobody resets their own second factor: ask another owner.")
    own = {workspace.id for workspace in access.workspaces_of(by)}
    for workspace in access.workspaces_of(person):
        if workspace.id not in own:
            raise SecondFactorStays("This person works elsewhere too: whoever runs the server can do this.")
        with access.bound(workspace.id):
            require_permission(by, workspace, "manage_people")


@transaction.atomic
def _proof(person: Person, code: str, now: datetime) -> Proof:
    # The row's lock stops one code that is sent twice at once.
    factor = SecondFactor.objects.select_for_update().filter(person=person).first()
    if factor is None or factor.confirmed_at is None:
        return ""
    if _take_code(factor, code, now):
        return "app"
    unused = RecoveryCode.objects.filter(person=person, code_hash=_code_hash(code), used_at=None)
    return "recovery_code" if unused.update(used_at=now) else ""


def _take_code(factor: SecondFactor, code: str, now: datetime) -> bool:
    step = matching_step(code, secret=secret_of(factor), after=factor.last_step, now=now)
    if step is not None:
        factor.last_step = step
        factor.save(update_fields=["last_step"])
    return step is not None


def _new_codes(person: Person) -> list[str]:
    codes = [_random_code() for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.filter(person=person).delete()
    RecoveryCode.objects.bulk_create(
        RecoveryCode(person=person, code_hash=_code_hash(code)) for code in codes
    )
    return codes


def _random_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower()
    return "-".join(text[start : start + _GROUP] for start in range(0, len(text), _GROUP))


def _code_hash(code: str) -> bytes:
    # No slow hash: 80 random bits are not guessed.
    return hashlib.sha256(code.replace("-", "").lower().encode()).digest()


def _remove(person: Person) -> None:
    SecondFactor.objects.filter(person=person).delete()
    RecoveryCode.objects.filter(person=person).delete()


def _note(act: str, person: Person, origin: Origin, now: datetime) -> None:
    on = AuditObject("person", str(person.id))
    audit.record_outside(act, actor=actor_of(person, origin), now=now, on=on)
