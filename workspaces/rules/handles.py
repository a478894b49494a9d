"""Canonical forms of handles: every spelling of one identifier is one handle (PL-6, WM-5)."""

import re
import unicodedata
from collections.abc import Callable

import idna
import msgspec
import phonenumbers
from phonenumbers import PhoneNumberFormat, ValidationResult

from workspaces.errors import InvalidInput
from workspaces.types import FieldProblem

# Whether a handle of the type takes a namespace, which is `scope` on the wire.
HANDLE_TYPES: dict[str, bool] = {
    "phone_e164": False,
    "wa_id": False,
    "wa_jid": False,
    "wa_lid": False,
    "wa_bsuid": True,
    "email": False,
    "gov_id_hmac": True,
    "app_user_id": False,
    "system_id": True,
    "org_registry_hmac": True,
    "email_domain": False,
    "anon_id": False,
}

MAX_VALUE_LENGTH = 320
MAX_NAMESPACE_LENGTH = 256
_SHORTEST_HINTED = 7

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_COUNTRY = re.compile("[A-Za-z]{2}")
_TRUNK_NOISE = re.compile(r"[\s().\-\u2010-\u2015\u2212]+")
_INTERNATIONAL = re.compile(r"\+[1-9][0-9]{6,16}")
_WA_DIGITS = re.compile("[0-9]{7,15}")
_WA_PERSON = re.compile(r"\+?([0-9]{7,15})(?:[._][0-9]{1,3})?(?::[0-9]{1,3})?@(?:s\.whatsapp\.net|c\.us)")
_MEXICO_OLD_MOBILE = re.compile(r"\+521([0-9]{10})")
_BRAZIL_SHORT_MOBILE = re.compile(r"\+55([1-9]{2})([6-9][0-9]{7})")
_LOCAL_PART = re.compile(r'[^\s"(),:;<>@\[\]\\]{1,64}')


class Handle(msgspec.Struct, frozen=True):
    """An identifier of a person in canonical form."""

    type: str
    value: str
    namespace: str = ""

    @property
    def text(self) -> str:
        """Give the id that a subject scope carries (WM-4)."""
        return ":".join(part for part in (self.type, self.namespace, self.value) if part)

    @property
    def hint(self) -> str:
        """Give the little that people may see of it (PL-6)."""
        if self.type == "email":
            return f"{self.value[0]}…{self.value[self.value.rindex('@') :]}"
        if self.type == "phone_e164" or len(self.value) >= _SHORTEST_HINTED:
            return f"…{self.value[-2:]}"
        return ""


def canonical(handle_type: str, value: str, namespace: str | None = None) -> Handle:
    """Bring a handle to its canonical form, or refuse it with every problem it has (PL-6)."""
    if handle_type not in HANDLE_TYPES:
        raise _refusal(FieldProblem("/type", "unknown_handle_type", "There is no such type of handle."))
    place = _canonical_namespace(handle_type, namespace or "")
    named = _canonical_value(handle_type, value)
    if isinstance(place, FieldProblem) or isinstance(named, FieldProblem):
        raise _refusal(*(found for found in (place, named) if isinstance(found, FieldProblem)))
    return Handle(type=named[0], value=named[1], namespace=place)


def parse_text(text: str) -> Handle:
    """Read the id of a subject scope, `<type>:<value>` or `<type>:<namespace>:<value>` (WM-4, WM-5).

    The problems point at the whole text.
    """
    handle_type, _, value = text.partition(":")
    namespace = ""
    if HANDLE_TYPES.get(handle_type):
        namespace, _, value = value.partition(":")
    try:
        return canonical(handle_type, value, namespace)
    except InvalidInput as refusal:
        raise _refusal(*(FieldProblem("", found.code, found.detail) for found in refusal.errors)) from None


def _refusal(*errors: FieldProblem) -> InvalidInput:
    return InvalidInput("The handle is not acceptable.", errors=errors)


def _canonical_namespace(handle_type: str, namespace: str) -> str | FieldProblem:
    if not HANDLE_TYPES[handle_type]:
        taken = FieldProblem("/scope", "not_allowed", "Handles of this type have no scope.")
        return taken if namespace else ""
    text = _trimmed(namespace, pointer="/scope", longest=MAX_NAMESPACE_LENGTH)
    if isinstance(text, FieldProblem):
        return text
    if ":" in text:
        return FieldProblem("/scope", "colon", "A scope holds no colon.")
    if handle_type == "gov_id_hmac" and not _COUNTRY.fullmatch(text):
        return FieldProblem("/scope", "invalid_country", "The scope is a country of two letters.")
    is_country = handle_type in ("gov_id_hmac", "org_registry_hmac") and _COUNTRY.fullmatch(text)
    return text.upper() if is_country else text


def _canonical_value(handle_type: str, value: str) -> tuple[str, str] | FieldProblem:
    """Give the type and value; the type too, since a WhatsApp id is often a phone."""
    text = _trimmed(value, pointer="/value", longest=MAX_VALUE_LENGTH)
    if isinstance(text, FieldProblem):
        return text
    found = _FORMS[handle_type](text) if handle_type in _FORMS else (handle_type, text)
    if found is None:
        return FieldProblem("/value", f"invalid_{handle_type}", _EXPECTED[handle_type])
    if len(found[1]) > MAX_VALUE_LENGTH:
        return _too_long("/value", MAX_VALUE_LENGTH)
    return found


def _trimmed(text: str, *, pointer: str, longest: int) -> str | FieldProblem:
    """Trim and compose a text, whose length is bounded before and after (composing can lengthen it)."""
    if len(text) > longest:
        return _too_long(pointer, longest)
    trimmed = unicodedata.normalize("NFC", text).strip()
    if not trimmed:
        return FieldProblem(pointer, "required", "Something must stand here.")
    if _CONTROL.search(trimmed):
        return FieldProblem(pointer, "control_character", "Control characters are not allowed here.")
    return _too_long(pointer, longest) if len(trimmed) > longest else trimmed


def _too_long(pointer: str, longest: int) -> FieldProblem:
    return FieldProblem(pointer, "too_long", f"At most {longest} characters.")


def _phone(text: str) -> tuple[str, str] | None:
    number = _e164(_spelled_out(text))
    return ("phone_e164", number) if number else None


def _wa_id(text: str) -> tuple[str, str] | None:
    digits = _spelled_out(text).removeprefix("+")
    if not _WA_DIGITS.fullmatch(digits):
        return None
    number = _e164(f"+{digits}")
    return ("phone_e164", number) if number else ("wa_id", digits)


def _wa_jid(text: str) -> tuple[str, str]:
    person = _WA_PERSON.fullmatch(text.lower())
    number = _e164(f"+{person[1]}") if person else None
    return ("phone_e164", number) if number else ("wa_jid", text)


def _spelled_out(text: str) -> str:
    """Reduce the spellings of a phone number to digits, with a plus where it says it is international."""
    shown = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    bare = _TRUNK_NOISE.sub("", shown.lower().strip().removeprefix("tel:"))
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in bare)
    return f"+{digits[2:]}" if digits.startswith("00") else digits


def _e164(spelled: str) -> str | None:
    """Give the E.164 form of an international number, else none.

    A form that would itself be read as another number (two trunk zeros, say) is none.
    """
    number = _read_number(spelled)
    if number is None or number == spelled:
        return number
    return number if _read_number(number) == number else None


def _read_number(spelled: str) -> str | None:
    """Take numbers of a possible length, assigned or not.

    Ranges are assigned every month, and a number must not become another handle when that happens.
    """
    if not _INTERNATIONAL.fullmatch(spelled):
        return None
    try:
        number = phonenumbers.parse(_renumbered(spelled))
    except phonenumbers.NumberParseException:
        return None
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        return None
    return _renumbered(phonenumbers.format_number(number, PhoneNumberFormat.E164))


def _renumbered(number: str) -> str:
    """Give today's form of numbers that are still seen in their old one.

    Every Brazilian mobile has had nine digits since 2016 and no Mexican one a leading 1 since 2019, but
    WhatsApp goes on naming accounts by the number that they registered with.
    """
    number = _MEXICO_OLD_MOBILE.sub(r"+52\1", number) if _MEXICO_OLD_MOBILE.fullmatch(number) else number
    short = _BRAZIL_SHORT_MOBILE.fullmatch(number)
    return f"+55{short[1]}9{short[2]}" if short else number


def _email(text: str) -> tuple[str, str] | None:
    """Lower the whole address: who tells mailboxes apart by case is not worth two profiles of one person."""
    local, _, named = text.rpartition("@")
    domain = _ascii_domain(named)
    local = unicodedata.normalize("NFC", local.lower())
    is_local = _LOCAL_PART.fullmatch(local) and not any(unicodedata.category(c) == "Cf" for c in local)
    return ("email", f"{local}@{domain}") if domain and is_local else None


def _email_domain(text: str) -> tuple[str, str] | None:
    domain = _ascii_domain(text)
    return ("email_domain", domain) if domain else None


def _ascii_domain(text: str) -> str | None:
    """Give the IDNA 2008 form of a domain of at least two labels whose last is no number."""
    try:
        domain = idna.encode(text, uts46=True, std3_rules=True).decode().removesuffix(".")
    except idna.IDNAError:
        return None
    _, dot, last = domain.rpartition(".")
    return domain if dot and not last.isdecimal() else None


_FORMS: dict[str, Callable[[str], tuple[str, str] | None]] = {
    "phone_e164": _phone,
    "wa_id": _wa_id,
    "wa_jid": _wa_jid,
    "email": _email,
    "email_domain": _email_domain,
}
_EXPECTED = {
    "phone_e164": "The value is a phone number in international form, with its country code.",
    "wa_id": "The value is 7 to 15 digits.",
    "email": "The value is an e-mail address.",
    "email_domain": "The value is a domain name.",
}
