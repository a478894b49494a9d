"""When a code counts, who needs one, and what repeated failures lock (PL-4)."""

import base64
from datetime import UTC, datetime, timedelta

import pyotp
import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from tests import factories
from workspaces.models import DeploymentAuditEntry, FailingNetwork, Person
from workspaces.rules.rights import ROLES
from workspaces.rules.sign_ins import (
    FAILURES_OF_A_NETWORK,
    STEP_SECONDS,
    is_counted_anew,
    is_second_factor_required,
    matching_step,
    network_of,
)
from workspaces.services import lockouts, people
from workspaces.services.lockouts import FAILURES_BEFORE_LOCK, LOCKED_FOR
from workspaces.types import Origin, WorkspaceRef

# RFC 6238, appendix B: the key, and the last six digits of each value for SHA-1.
RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()
RFC_VALUES = {
    59: "287082",
    1111111109: "081804",
    1111111111: "050471",
    1234567890: "005924",
    2000000000: "279037",
}
HERE = Origin(address="192.0.2.77", request_id="r-1")
moments = st.integers(min_value=STEP_SECONDS * 4, max_value=2**33)


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@pytest.mark.parametrize(("seconds", "code"), RFC_VALUES.items())
def test_codes_are_those_of_the_rfc(seconds: int, code: str) -> None:
    """PL-4: the test vectors of RFC 6238."""
    step = matching_step(code, secret=RFC_SECRET, after=0, now=at(seconds))
    assert step == seconds // STEP_SECONDS


@given(moment=moments, drift=st.integers(min_value=-4, max_value=4))
def test_a_code_counts_one_step_around_its_own_and_once(moment: int, drift: int) -> None:
    """PL-4: a clock may be a step off; a code that was taken, and any from before it, is never taken again."""
    of, now = moment // STEP_SECONDS + drift, at(moment)
    code = pyotp.TOTP(RFC_SECRET).generate_otp(of)
    taken = matching_step(code, secret=RFC_SECRET, after=0, now=now)
    # One code in a million is that of another step, too.
    if taken is None or taken == of:
        assert (taken == of) == (abs(drift) <= 1)
    if taken is not None:
        again = matching_step(code, secret=RFC_SECRET, after=taken, now=now)
        assert again is None or again > taken


@pytest.mark.parametrize("code", ["", "28708", "2870822", "abcdef", "²87082", "٢٨٧٠٨٢"])
def test_what_is_no_code_is_refused(code: str) -> None:
    """PL-4: no shorter, longer or other text is a code, and none of them is an error."""
    assert matching_step(code, secret=RFC_SECRET, after=0, now=at(59)) is None


@pytest.mark.parametrize("role", ROLES)
def test_security_and_privacy_need_it(role: str) -> None:
    """PL-4: these two roles, alone or among others."""
    assert is_second_factor_required([role, "support"]) == (role in {"security", "privacy"})


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("", ""),
        ("a socket", ""),
    ],
)
def test_a_network_is_an_address_or_what_one_customer_has(address: str, network: str) -> None:
    """PL-4: who has a /64 of IPv6 has one count, not 2^64 of them."""
    assert network_of(address) == network


@pytest.mark.parametrize(("minutes", "is_anew"), [(0, False), (14, False), (15, True), (600, True)])
def test_failures_of_a_network_are_counted_for_a_quarter_of_an_hour(minutes: int, is_anew: bool) -> None:  # noqa: FBT001
    """PL-4: an office in which somebody mistypes now and then is never locked."""
    now = factories.LATELY + timedelta(minutes=minutes)
    assert is_counted_anew(since=factories.LATELY, now=now) is is_anew


def fail(email: str, *, now: datetime, times: int = 1, origin: Origin = HERE) -> None:
    for _ in range(times):
        people.note_failed_sign_in(email=email, origin=origin, now=now)


def locks() -> list[DeploymentAuditEntry]:
    return list(DeploymentAuditEntry.objects.filter(act="sign_in.lock").order_by("seq"))


def test_a_lock_of_a_name_is_audited_with_its_end(aurora: WorkspaceRef) -> None:
    """PL-4, PR-21: the tenth failure leaves an entry of the lock, with the hash of the name and until when it holds."""
    person, now = factories.make_person(aurora, "support"), timezone.now()
    fail(person.email, now=now, times=FAILURES_BEFORE_LOCK - 1)
    assert not locks()
    fail(person.email, now=now)
    (lock,) = locks()
    assert (lock.object_kind, lock.address) == ("name_hash", HERE.address)
    assert lock.facts == {"until": (now + LOCKED_FOR).isoformat(timespec="seconds")}
    assert person.email not in str(vars(lock))


def test_a_network_is_locked_whatever_names_it_tries(aurora: WorkspaceRef) -> None:
    """PL-4: fifty failures from one address lock it, with an entry, until the time is over; no other address."""
    now = timezone.now()
    for number in range(FAILURES_OF_A_NETWORK):
        assert not lockouts.is_network_locked(HERE.address, now=now)
        fail(f"nobody-{number}@example.com", now=now)
    assert lockouts.is_network_locked(HERE.address, now=now)
    assert not lockouts.is_network_locked("192.0.2.78", now=now)
    assert not lockouts.is_network_locked(HERE.address, now=now + LOCKED_FOR)
    (lock,) = locks()
    assert (lock.object_kind, lock.object_id) == ("network", HERE.address)


def test_a_slow_trickle_of_failures_locks_no_network(aurora: WorkspaceRef) -> None:
    """PL-4: one failure in a minute, for two hours, is fewer than fifty within a quarter of an hour."""
    now = timezone.now()
    for minutes in range(120):
        fail(f"nobody-{minutes}@example.com", now=now + timedelta(minutes=minutes))
    assert not locks()


def test_a_locked_network_locks_nobody_out(aurora: WorkspaceRef) -> None:
    """PL-4: what is tried from a locked network does not count against the names that it tries."""
    person, now = factories.make_person(aurora, "support"), timezone.now()
    FailingNetwork.objects.create(network=HERE.address, counted_since=now, locked_until=now + LOCKED_FOR)
    fail(person.email, now=now, times=FAILURES_BEFORE_LOCK)
    assert not Person.objects.get(id=person.id).is_locked(now)
    fail(person.email, now=now, times=FAILURES_BEFORE_LOCK, origin=Origin(address="192.0.2.78"))
    assert Person.objects.get(id=person.id).is_locked(now)


def test_networks_are_forgotten_when_nobody_fails_any_more(db: None) -> None:
    """PL-4: no list of addresses is kept for longer than it locks."""
    now = timezone.now()
    for minutes in (5, 60):
        failed_at = now - timedelta(minutes=minutes)
        FailingNetwork.objects.create(network=f"192.0.2.{minutes}", counted_since=failed_at)
    assert lockouts.forget_failures(now=now) == 1
    assert FailingNetwork.objects.get().network == "192.0.2.5"
