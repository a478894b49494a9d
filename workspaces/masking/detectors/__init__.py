"""One detector per kind of personal data; each reads a passage and answers the spans it is sure of (PR-8)."""

from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec

from workspaces.masking.detectors.card import find_cards, may_hold_cards
from workspaces.masking.detectors.credentials import find_credentials, may_hold_credentials
from workspaces.masking.detectors.email import find_emails, may_hold_emails
from workspaces.masking.detectors.gov_id import find_gov_ids, may_hold_gov_ids
from workspaces.masking.detectors.iban import find_ibans, may_hold_ibans
from workspaces.masking.detectors.ip import find_addresses, may_hold_addresses
from workspaces.masking.detectors.phone import find_phones, may_hold_phones
from workspaces.masking.detectors.tokens import find_tokens, may_hold_tokens
from workspaces.masking.detectors.urls import find_url_passwords, may_hold_url_passwords
from workspaces.masking.passage import Passage, Span


class Detector(msgspec.Struct, frozen=True):
    """What finds spans of some kinds.

    Where a passage holds a value, `may_hold` says yes to it and to any longer passage around it: so one
    question about many texts joined together spares most of them a look.
    """

    kinds: frozenset[str]
    find: Callable[[Passage], Iterator[Span]]
    may_hold: Callable[[Passage], bool]
    needs_digit: bool = False


# In this order: what one has claimed the next does not see, so the surer ones come first.
_DETECTORS = (
    Detector(frozenset({"password", "secret", "cvv"}), find_credentials, may_hold_credentials),
    Detector(frozenset({"password"}), find_url_passwords, may_hold_url_passwords),
    Detector(frozenset({"secret"}), find_tokens, may_hold_tokens),
    Detector(frozenset({"iban"}), find_ibans, may_hold_ibans, needs_digit=True),
    Detector(frozenset({"card"}), find_cards, may_hold_cards, needs_digit=True),
    Detector(frozenset({"gov_id"}), find_gov_ids, may_hold_gov_ids, needs_digit=True),
    Detector(frozenset({"email"}), find_emails, may_hold_emails),
    Detector(frozenset({"ip"}), find_addresses, may_hold_addresses, needs_digit=True),
    Detector(frozenset({"phone"}), find_phones, may_hold_phones, needs_digit=True),
)


@lru_cache(maxsize=64)
def detectors_for(kinds: frozenset[str]) -> tuple[Detector, ...]:
    """Answer the detectors that can find one of these kinds."""
    return tuple(detector for detector in _DETECTORS if not detector.kinds.isdisjoint(kinds))
