"""One spelling per value, so that equal values have equal hashes (PR-5)."""

import re
import unicodedata
from collections.abc import Callable
from ipaddress import ip_address

import phonenumbers

from workspaces.masking.folding import fold

_NOT_DIGIT = re.compile(r"[^0-9]")
_NOT_ALPHANUMERIC = re.compile(r"[\W_]")


def canonical(value: str, *, kind: str, regions: tuple[str, ...]) -> str:
    """Bring a value to the canonical form of its kind."""
    plain = unicodedata.normalize("NFKC", fold(value).text).strip()
    if kind == "phone":
        return _phone(plain, regions)
    return _FORMS.get(kind, _words)(plain)


def digits_of(text: str) -> str:
    """Answer the ASCII digits of a text."""
    return _NOT_DIGIT.sub("", text)


def _phone(text: str, regions: tuple[str, ...]) -> str:
    for region in (None, *regions):
        try:
            number = phonenumbers.parse(text, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return digits_of(text) or _words(text)


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _alphanumeric(text: str) -> str:
    return _NOT_ALPHANUMERIC.sub("", text).upper()


def _address(text: str) -> str:
    try:
        return ip_address(text).exploded
    except ValueError:
        return _words(text)


_FORMS: dict[str, Callable[[str], str]] = {
    "email": lambda text: text.lower().replace("%40", "@"),
    "gov_id": _alphanumeric,
    "iban": _alphanumeric,
    "ip": _address,
}
