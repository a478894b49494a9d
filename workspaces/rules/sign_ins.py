"""When a code counts, who needs one, and when failures lock (PL-4)."""

import hmac
from collections.abc import Iterable
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network

import pyotp

STEP_SECONDS = 30
STEPS_OF_DRIFT = 1
"""How many steps a clock may be behind or ahead (RFC 6238, 5.2)."""
NEEDED_BY = frozenset({"security", "privacy"})
FAILURES_OF_A_NETWORK = 50
COUNTED_FOR = timedelta(minutes=15)


def is_second_factor_required(roles: Iterable[str]) -> bool:
    """Tell whether some of these roles sign in with a second factor (PL-4)."""
    return not NEEDED_BY.isdisjoint(roles)


def matching_step(code: str, *, secret: str, after: int, now: datetime) -> int | None:
    """Give the step that a code is of, or None for a wrong code and for one of a step that was taken already."""
    totp, present = pyotp.TOTP(secret), int(now.timestamp()) // STEP_SECONDS
    typed = code.encode(errors="replace")
    steps = range(present - STEPS_OF_DRIFT, present + STEPS_OF_DRIFT + 1)
    # All of them are compared, so that the time tells nothing.
    matches = [step for step in steps if hmac.compare_digest(totp.generate_otp(step).encode(), typed)]
    return next((step for step in matches if step > after), None)


def network_of(address: str) -> str:
    """Give what counts as one place: an address of IPv4, or the /64 that one customer of IPv6 has; nothing for none."""
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    return str(ip_network((found, 64), strict=False)) if isinstance(found, IPv6Address) else str(found)


def is_counted_anew(*, since: datetime, now: datetime) -> bool:
    """Tell whether the failures of a network are counted from the beginning: a large office has some every day."""
    return now - since >= COUNTED_FOR
