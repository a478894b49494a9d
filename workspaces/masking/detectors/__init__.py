"""One detector per kind of personal data; each reads a passage and answers the spans it is sure of (PR-8)."""

from collections.abc import Callable, Iterator
from functools import lru_cache

from workspaces.masking.detectors.card import find_cards
from workspaces.masking.detectors.credentials import find_credentials
from workspaces.masking.detectors.email import find_emails
from workspaces.masking.detectors.gov_id import find_gov_ids
from workspaces.masking.detectors.iban import find_ibans
from workspaces.masking.detectors.ip import find_addresses
from workspaces.masking.detectors.phone import find_phones
from workspaces.masking.detectors.tokens import find_tokens
from workspaces.masking.detectors.urls import find_url_passwords
from workspaces.masking.passage import Passage, Span

Detector = Callable[[Passage], Iterator[Span]]

# In this order: what one has claimed the next does not see, so the surer ones come first.
_DETECTORS: tuple[tuple[frozenset[str], Detector], ...] = (
    (frozenset({"password", "secret", "cvv"}), find_credentials),
    (frozenset({"password"}), find_url_passwords),
    (frozenset({"secret"}), find_tokens),
    (frozenset({"iban"}), find_ibans),
    (frozenset({"card"}), find_cards),
    (frozenset({"gov_id"}), find_gov_ids),
    (frozenset({"email"}), find_emails),
    (frozenset({"ip"}), find_addresses),
    (frozenset({"phone"}), find_phones),
)


@lru_cache(maxsize=64)
def detectors_for(kinds: frozenset[str]) -> tuple[Detector, ...]:
    """Answer the detectors that can find one of these kinds."""
    return tuple(detect for possible, detect in _DETECTORS if not possible.isdisjoint(kinds))
