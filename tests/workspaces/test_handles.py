"""Canonical forms of handles."""

import phonenumbers
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workspaces.errors import InvalidInput
from workspaces.rules.handles import HANDLE_TYPES, Handle, canonical, parse_text

PHONE = "+5511912345678"


def problems(handle_type: str, value: str, namespace: str | None = None) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refusal:
        canonical(handle_type, value, namespace)
    return [(problem.pointer, problem.code) for problem in refusal.value.errors]


@pytest.mark.parametrize(
    "spelling",
    [
        "+5511912345678",
        " +55 11 91234-5678 ",
        "+55 (11) 9.1234-5678",
        "+55 (0)11 91234-5678",
        "0055 11 91234 5678",
        "00 55 11 91234 5678",
        "tel:+55-11-91234-5678",
        "TEL:+5511912345678",
        "\uff0b\uff15\uff15 \uff11\uff11 \uff19\uff11\uff12\uff13\uff14\uff0d\uff15\uff16\uff17\uff18",
        "\u202a+55 11 91234\u20115678\u202c",
        "+55\u00a011\u00a091234\u20135678",
        "+\u0665\u0665\u0661\u0661\u0669\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668",
        "+55 11 1234-5678".replace("1234", "91234"),
    ],
)
def test_every_spelling_of_a_phone_is_one_handle(spelling: str) -> None:
    """PL-6, WM-5: blanks, brackets, dots, hyphens, 00, tel: and full-width digits name the same number."""
    assert canonical("phone_e164", spelling) == Handle("phone_e164", PHONE)


@pytest.mark.parametrize(
    ("spelling", "today"),
    [
        ("+55 41 8812-3456", "+5541988123456"),
        ("+55 41 98812-3456", "+5541988123456"),
        ("+55 31 7123-4567", "+5531971234567"),
        ("+55 41 3312-3456", "+554133123456"),
        ("+52 1 55 1234 5678", "+525512345678"),
        ("+52 55 1234 5678", "+525512345678"),
        ("+54 9 11 2345-6789", "+5491123456789"),
        ("+54 11 15 2345-6789", "+5491123456789"),
    ],
)
def test_old_forms_are_the_number_of_today(spelling: str, today: str) -> None:
    """PL-6: Brazil's ninth digit and Mexico's old 1 make no second person."""
    assert canonical("phone_e164", spelling).value == today


@pytest.mark.parametrize(
    ("handle_type", "value"),
    [
        ("wa_id", "5511912345678"),
        ("wa_id", "+55 11 91234-5678"),
        ("wa_jid", "5511912345678@s.whatsapp.net"),
        ("wa_jid", "5511912345678:12@s.whatsapp.net"),
        ("wa_jid", "5511912345678.0:3@S.WhatsApp.Net"),
        ("wa_jid", "5511912345678@c.us"),
    ],
)
def test_whatsapp_ids_are_the_phone(handle_type: str, value: str) -> None:
    """PL-6: a wa_id or wa_jid with a valid number is that phone's person."""
    assert canonical(handle_type, value) == Handle("phone_e164", PHONE)


def test_whatsapp_without_the_ninth_digit() -> None:
    """PL-6: WhatsApp names Brazilian accounts without the ninth digit, and Mexican ones with the old 1."""
    assert canonical("wa_id", "554188123456").value == "+5541988123456"
    assert canonical("wa_jid", "5215512345678@s.whatsapp.net").value == "+525512345678"


@pytest.mark.parametrize(
    ("handle_type", "value"),
    [
        ("wa_id", "1234567"),
        ("wa_id", "999123456789012"),
        ("wa_jid", "120363012345678901@g.us"),
        ("wa_jid", "abc@lid"),
    ],
)
def test_whatsapp_ids_without_a_number_stay(handle_type: str, value: str) -> None:
    """PL-6: a WhatsApp id that names no phone is a handle of its own."""
    assert canonical(handle_type, value) == Handle(handle_type, value)


@pytest.mark.parametrize(
    "value",
    [
        "11912345678",
        "911234567",
        "+55",
        "+55 11",
        "+1 555 0100",
        "+999 123 456 789",
        "+0 55 11 91234 5678",
        "+5511912345678901234567",
        "+55 11 91234-5678 ext. 2",
        "tel:+5511912345678;phone-context=x",
        "++5511912345678",
        "+55 11 9123A-5678",
        "not a phone",
        "+33 0 0 612345678",
    ],
)
def test_what_is_no_international_phone_is_refused(value: str) -> None:
    """PL-6: a national form, a wrong length or anything else is no phone."""
    assert problems("phone_e164", value) == [("/value", "invalid_phone_e164")]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (" Ana.Souza@Example.COM ", "ana.souza@example.com"),
        ("ana+news@example.com", "ana+news@example.com"),
        ("ana@m\u00fcnchen.de", "ana@xn--mnchen-3ya.de"),
        ("ana@M\u00dcNCHEN.de", "ana@xn--mnchen-3ya.de"),
        ("ana@mu\u0308nchen.de", "ana@xn--mnchen-3ya.de"),
        ("ana@xn--mnchen-3ya.de", "ana@xn--mnchen-3ya.de"),
        ("ana@fa\u00df.de", "ana@xn--fa-hia.de"),
        ("ana@\uff25xample\u3002com", "ana@example.com"),
        ("ana@example.com.", "ana@example.com"),
        ("JOSE\u0301@example.com", "jos\u00e9@example.com"),
        ("a..b.@docomo.example", "a..b.@docomo.example"),
    ],
)
def test_emails(value: str, form: str) -> None:
    """PL-6: an address is lower case, and its domain in the ASCII form of IDNA 2008."""
    assert canonical("email", value) == Handle("email", form)


@pytest.mark.parametrize(
    "value",
    [
        "ana",
        "@example.com",
        "ana@",
        "ana@localhost",
        "ana@192.0.2.1",
        "ana@[192.0.2.1]",
        "ana@-example.com",
        "ana@exa_mple.com",
        "ana@example..com",
        "ana@" + "a" * 64 + ".com",
        "a" * 65 + "@example.com",
        "a b@example.com",
        "a@b@example.com",
        '"ana"@example.com',
        "Ana <ana@example.com>",
        "mailto:ana@example.com",
        "an\u200ba@example.com",
        "ana@\u2764.example",
    ],
)
def test_what_is_no_email_is_refused(value: str) -> None:
    """PL-6: one at-sign, 1 to 64 plain characters before it, a domain of two labels or more after it."""
    assert problems("email", value) == [("/value", "invalid_email")]


def test_email_domains() -> None:
    """PL-6: a domain has the form that an address has after its at-sign."""
    assert canonical("email_domain", " M\u00fcnchen.DE. ") == Handle("email_domain", "xn--mnchen-3ya.de")
    assert problems("email_domain", "ana@example.com") == [("/value", "invalid_email_domain")]


@pytest.mark.parametrize("handle_type", ["app_user_id", "anon_id", "wa_lid"])
def test_others_are_trimmed_and_composed(handle_type: str) -> None:
    """PL-6: other values keep their case and are trimmed NFC."""
    assert canonical(handle_type, "  U-e\u0301:7 ") == Handle(handle_type, "U-\u00e9:7")


@pytest.mark.parametrize(
    ("handle_type", "namespace", "form"),
    [
        ("gov_id_hmac", " br ", "BR"),
        ("org_registry_hmac", "br", "BR"),
        ("org_registry_hmac", "Companies House", "Companies House"),
        ("system_id", " crm ", "crm"),
        ("system_id", "br", "br"),
        ("wa_bsuid", "biz-1", "biz-1"),
    ],
)
def test_namespaces(handle_type: str, namespace: str, form: str) -> None:
    """PL-6: a namespace is trimmed, and a country in capitals."""
    assert canonical(handle_type, "id-1", namespace) == Handle(handle_type, "id-1", form)


@pytest.mark.parametrize(
    ("handle_type", "value", "namespace", "found"),
    [
        ("telegram", "x", None, [("/type", "unknown_handle_type")]),
        ("email", "ana@example.com", "x", [("/scope", "not_allowed")]),
        ("system_id", "7", None, [("/scope", "required")]),
        ("system_id", "7", " ", [("/scope", "required")]),
        ("system_id", "7", "a:b", [("/scope", "colon")]),
        ("system_id", "7", "a\x00b", [("/scope", "control_character")]),
        ("system_id", "7", "a" * 257, [("/scope", "too_long")]),
        ("gov_id_hmac", "7", "BRA", [("/scope", "invalid_country")]),
        ("app_user_id", "", None, [("/value", "required")]),
        ("app_user_id", " \t", None, [("/value", "required")]),
        ("app_user_id", "a\x00b", None, [("/value", "control_character")]),
        ("app_user_id", "a\nb", None, [("/value", "control_character")]),
        ("app_user_id", "a\ud800b", None, [("/value", "control_character")]),
        ("app_user_id", "a" * 321, None, [("/value", "too_long")]),
        ("app_user_id", "\U0001d160" * 200, None, [("/value", "too_long")]),
        ("phone_e164", PHONE + "\x00", None, [("/value", "control_character")]),
        ("wa_id", "12345", None, [("/value", "invalid_wa_id")]),
        ("system_id", "", "", [("/scope", "required"), ("/value", "required")]),
    ],
)
def test_bad_handles_are_refused_with_every_problem(
    handle_type: str, value: str, namespace: str | None, found: list[tuple[str, str]]
) -> None:
    """PL-6, PL-8: each thing wrong with a handle is named at once, at its place."""
    assert problems(handle_type, value, namespace) == found


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("phone_e164:+55 11 91234-5678", Handle("phone_e164", PHONE)),
        ("wa_id:5511912345678", Handle("phone_e164", PHONE)),
        ("email:Ana@Example.com", Handle("email", "ana@example.com")),
        ("system_id:crm:a:b:c", Handle("system_id", "a:b:c", "crm")),
        ("app_user_id:a:b", Handle("app_user_id", "a:b")),
        ("gov_id_hmac:br:abc", Handle("gov_id_hmac", "abc", "BR")),
    ],
)
def test_subject_ids(text: str, handle: Handle) -> None:
    """WM-4, WM-5: the id of a subject scope is a handle in any spelling; the value may hold colons."""
    assert parse_text(text) == handle


@pytest.mark.parametrize(
    "text", ["", "+5511912345678", "phone_e164", "phone_e164:", "telegram:x", "system_id:7", "system_id::7"]
)
def test_what_is_no_subject_id_is_refused(text: str) -> None:
    """WM-5, PL-8: the problems of a subject id point at the whole text."""
    with pytest.raises(InvalidInput) as refusal:
        parse_text(text)
    assert {problem.pointer for problem in refusal.value.errors} == {""}


@pytest.mark.parametrize(
    ("handle", "hint"),
    [
        (Handle("phone_e164", PHONE), "\u202678"),
        (Handle("email", "ana@example.com"), "a\u2026@example.com"),
        (Handle("app_user_id", "user-42"), "\u202642"),
        (Handle("app_user_id", "user-4"), ""),
        (Handle("system_id", "7", "crm"), ""),
    ],
)
def test_hints(handle: Handle, hint: str) -> None:
    """PL-6: people see the last two digits, or the first letter and the domain, and of short ids nothing."""
    assert handle.hint == hint


TEXT = st.text(max_size=40)
ASSIGNED = st.sampled_from(sorted(phonenumbers.SUPPORTED_REGIONS)).map(
    lambda region: phonenumbers.format_number(
        phonenumbers.example_number(region) or phonenumbers.parse(PHONE),
        phonenumbers.PhoneNumberFormat.INTERNATIONAL,
    )
)
DIALLED = st.from_regex(r"(\+|00)[1-9][0-9 .()-]{4,16}", fullmatch=True)
ADDRESSES = st.builds(
    "{}@{}".format, TEXT, TEXT | st.from_regex(r"[A-Za-z0-9\u00fc-]{1,9}\.(com|DE)", fullmatch=True)
)


@given(
    handle_type=st.sampled_from(sorted(HANDLE_TYPES)),
    value=TEXT | ASSIGNED | DIALLED | ADDRESSES,
    namespace=TEXT | st.sampled_from(["br", "crm"]),
)
def test_canonical_forms_are_stable(handle_type: str, value: str, namespace: str) -> None:
    """PL-6, WM-5: a canonical handle is its own canonical form, as a handle and as a subject id."""
    try:
        handle = canonical(handle_type, value, namespace if HANDLE_TYPES[handle_type] else None)
    except InvalidInput:
        assume(False)
    assert canonical(handle.type, handle.value, handle.namespace) == handle
    assert parse_text(handle.text) == handle
    handle.text.encode()


@given(ASSIGNED)
def test_every_country_has_a_stable_form(spelling: str) -> None:
    """PL-6: the spelling of a phone with and without its blanks is one handle, in every country."""
    handle = canonical("phone_e164", spelling)
    assert canonical("phone_e164", spelling.replace(" ", "")) == handle
    assert canonical("wa_id", handle.value.removeprefix("+")) == handle
    assert canonical("wa_jid", f"{handle.value.removeprefix('+')}@s.whatsapp.net") == handle


@given(
    handle_type=st.sampled_from(sorted(HANDLE_TYPES)),
    value=st.text(min_size=8).map(lambda text: f"canary{text}"),
)
def test_details_never_carry_the_handle(handle_type: str, value: str) -> None:
    """PL-8, PL-11: a refused handle is not quoted."""
    assume(not HANDLE_TYPES[handle_type])
    with pytest.raises(InvalidInput) as refusal:
        canonical(handle_type, value, value)
    assert "canary" not in f"{refusal.value} {refusal.value.detail} {refusal.value.errors}"
