"""Repeated failures lock a name, and the network that they come from (PL-4)."""

from datetime import datetime, timedelta

from workspaces import audit
from workspaces.models import FailingNetwork, Person
from workspaces.rules.sign_ins import COUNTED_FOR, FAILURES_OF_A_NETWORK, is_counted_anew, network_of
from workspaces.types import Actor, AuditObject

FAILURES_BEFORE_LOCK = 10
LOCKED_FOR = timedelta(minutes=15)


def is_network_locked(address: str, *, now: datetime) -> bool:
    """Tell whether sign-ins from an address are refused for now."""
    row = FailingNetwork.objects.filter(network=network_of(address)).first()
    return row is not None and row.is_locked(now)


def count_failure(
    *, person: Person | None, name: AuditObject, address: str, now: datetime
) -> list[AuditObject]:
    """Count a failure of a person, whose row the caller has locked, and of where it came from; give what that locks.

    The tenth in a row locks the account, the fiftieth within a quarter of an hour its network, whatever names were
    tried. While the network is locked, its failures count for nothing: else it could lock out anybody.
    """
    if is_network_locked(address, now=now):
        return []
    locked = [name] if person is not None and _is_locked_by_one_more(person, now) else []
    network = network_of(address)
    if network and _is_network_locked_by_one_more(network, now):
        locked.append(AuditObject("network", network))
    return locked


def note_lock(*, on: AuditObject, actor: Actor, now: datetime) -> None:
    """Write to the deployment's chain what is locked, and until when."""
    until = (now + LOCKED_FOR).isoformat(timespec="seconds")
    audit.record_outside("sign_in.lock", actor=actor, now=now, on=on, facts={"until": until})


def forget_failures(*, now: datetime) -> int:
    """Forget the networks from which nobody failed of late; give how many."""
    quiet = FailingNetwork.objects.filter(counted_since__lt=now - COUNTED_FOR - LOCKED_FOR)
    return quiet.delete()[0]


def _is_locked_by_one_more(person: Person, now: datetime) -> bool:
    person.failed_sign_ins += 1
    is_locked = person.failed_sign_ins >= FAILURES_BEFORE_LOCK
    if is_locked:
        person.failed_sign_ins, person.locked_until = 0, now + LOCKED_FOR
    person.save(update_fields=["failed_sign_ins", "locked_until"])
    return is_locked


def _is_network_locked_by_one_more(network: str, now: datetime) -> bool:
    FailingNetwork.objects.get_or_create(network=network, defaults={"counted_since": now})
    row = FailingNetwork.objects.select_for_update().get(network=network)
    if is_counted_anew(since=row.counted_since, now=now):
        row.failures, row.counted_since = 0, now
    row.failures += 1
    is_locked = row.failures >= FAILURES_OF_A_NETWORK
    if is_locked:
        row.failures, row.locked_until = 0, now + LOCKED_FOR
    row.save()
    return is_locked
