"""Which rule holds for each value of a state: its declaration, its name, or only what is held back."""

from typing import Any

import pytest

from tests.workspaces.masking_policies import policy
from workspaces.masking import FieldRule, Masked, mask_fields

CARD = "4111 1111 1111 1111"
NAMES = [
    ("password", "password"),
    ("passwd", "password"),
    ("senha", "password"),
    ("secret", "secret"),
    ("token", "secret"),
    ("access_token", "secret"),
    ("refresh_token", "secret"),
    ("api_key", "secret"),
    ("authorization", "secret"),
    ("private_key", "secret"),
    ("cvv", "cvv"),
    ("cvc", "cvv"),
    ("apiKey", "secret"),
    ("API-KEY", "secret"),
    ("Access_Token", "secret"),
    ("pass_word", "password"),
    ("\uff54oken", "secret"),
]
NO_NAMES = ["passwords", "tokens", "token_count", "secretary", "api key", "key", "auth", "pin", "step"]


def mask(fields: dict[str, Any], **kinds: str) -> Masked:
    """Mask fields that no type declares personal."""
    return mask_fields(fields, declared={}, policy=policy(kinds))


@pytest.mark.parametrize(("name", "kind"), NAMES)
def test_a_secret_member_is_masked_whatever_it_looks_like(name: str, kind: str) -> None:
    """PR-7b: case, `_` and `-` folded, at the top and at any depth."""
    marker = f"[redacted:{kind}]"
    masked = mask({name: "abc", "list": [{name: "abc", "other": "abc"}]})
    assert masked.fields == {name: marker, "list": [{name: marker, "other": "abc"}]}
    assert masked.counts == {kind: 2}


@pytest.mark.parametrize("name", NO_NAMES)
def test_the_list_of_names_is_exact(name: str) -> None:
    """PR-7b: a name that is only like one of the list says nothing."""
    assert mask({"step": {name: "abc"}}) == Masked({"step": {name: "abc"}}, {})


@pytest.mark.parametrize("value", [7, 7.5, True, {"a": "b"}, ["a"], [], {}])
def test_a_secret_member_that_is_no_string_becomes_null(value: object) -> None:
    """PR-7b, WM-14: masked whole, whatever it holds."""
    assert mask({"step": {"token": value}}) == Masked({"step": {"token": None}}, {"secret": 1})


def test_a_secret_member_without_a_value_has_nothing_to_mask() -> None:
    """PR-7b: null and a blank stay and do not count."""
    fields = {"step": {"token": None, "secret": ""}, "password": None}
    assert mask(fields) == Masked(fields, {})


@pytest.mark.parametrize("declared", ["integer", "number", "percent", "money", "bool", "date", "enum", "ref"])
def test_a_secret_name_of_another_type_is_exempt(declared: str) -> None:
    """PR-7b: a field declared with another type than string or text keeps its value."""
    rules = {"token": FieldRule(type=declared)}
    assert mask_fields({"token": 512}, declared=rules, policy=policy()) == Masked({"token": 512}, {})


@pytest.mark.parametrize("declared", ["any", "object", "list"])
def test_strings_in_a_secret_field_that_may_hold_any(declared: str) -> None:
    """PR-7b, PR-7: of a field that may hold strings, those are masked and the rest is exempt."""
    rules = {"token": FieldRule(type=declared)}
    masked = mask_fields({"token": ["abc", 7, {"a": "b"}]}, declared=rules, policy=policy())
    assert masked.fields == {"token": ["[redacted:secret]", 7, {"a": "[redacted:secret]"}]}


def test_a_secret_name_wins_over_a_declared_kind() -> None:
    """PR-7b: a secret declared as something that would keep more is a secret."""
    rules = {"token": FieldRule(type="string", pii="email")}
    masked = mask_fields({"token": "ana@example.com"}, declared=rules, policy=policy())
    assert masked.fields == {"token": "[redacted:secret]"}


def test_what_is_held_back_is_masked_in_every_string() -> None:
    """PR-7: declared or not, at any depth; other personal data stays where nothing declares it."""
    masked = mask({"note": f"ana@example.com paid with {CARD}", "deep": [[{"x": {"y": f"pan {CARD}"}}]]})
    assert masked.fields["note"] == "ana@example.com paid with [redacted:card]"
    assert masked.fields["deep"] == [[{"x": {"y": "pan [redacted:card]"}}]]
    assert masked.counts == {"card": 2}


def test_numbers_are_no_strings() -> None:
    """PR-7: what is held back is held back in strings; numbers and truths stay as they are."""
    fields = {"id": 4111111111111111, "on": True, "rate": 0.5, "none": None}
    assert mask(fields) == Masked(fields, {})


def test_names_of_members_are_masked_and_no_member_is_lost() -> None:
    """PR-7: a name that holds what is held back is masked; names that fall together are numbered."""
    members = {CARD: 1, "5555555555554444": 2, "[redacted:card]": 3, "[redacted:card] (2)": 4}
    masked = mask({"cards": members})
    assert masked.counts == {"card": 2}
    assert sorted(masked.fields["cards"].values()) == [1, 2, 3, 4]
    assert masked.fields["cards"]["[redacted:card]"] == 3
    assert masked.fields["cards"]["[redacted:card] (2)"] == 4
    assert mask(masked.fields) == Masked(masked.fields, {})


def test_a_name_that_becomes_a_secret_name_is_one() -> None:
    """PR-6, PR-7b: masking again would find it, so the first time finds it too."""
    masked = mask({"x": {f"{CARD} token": "abc"}}, card="drop")
    assert mask(masked.fields, card="drop") == Masked(masked.fields, {})
    assert mask({"x": {f"token{CARD}": "abc"}}, card="drop").fields == {"x": {"token": "[redacted:secret]"}}


def test_a_declared_kind_reaches_into_lists_and_objects() -> None:
    """PR-5, WM-14: strings one by one, other leaves null."""
    rules = {"who": FieldRule(type="any", pii="name")}
    masked = mask_fields({"who": [{"a": "Ana", "b": 7}, "Bia", None]}, declared=rules, policy=policy())
    assert masked.fields == {"who": [{"a": "[redacted:name]", "b": None}, "[redacted:name]", None]}
    assert masked.counts == {"name": 3}


def test_names_of_members_in_a_personal_field_pass_the_detectors() -> None:
    """PR-5: an address used as a name does not survive; plain names do."""
    rules = {"who": FieldRule(type="object", pii=True)}
    masked = mask_fields({"who": {"ana@example.com": 1, "age": 30}}, declared=rules, policy=policy())
    assert masked.fields == {"who": {"a***@example.com": None, "age": None}}


def test_dropped_values_leave_their_place() -> None:
    """PR-5: a dropped field, member or item is absent, and counted."""
    masked = mask({"cvv": "123", "x": {"cvc": "123", "y": 1}, "l": ["cvv 123"]}, cvv="drop")
    assert masked.fields == {"x": {"y": 1}, "l": ["cvv "]}
    assert masked.counts == {"cvv": 3}


def test_removing_a_field_is_no_value() -> None:
    """WM-8: the word that removes a field passes, declared personal or not; anything like it does not."""
    rules = {"who": FieldRule(type="object", pii=True), "token": FieldRule(type="text")}
    fields = {"who": {"$delete": True}, "token": {"$delete": True}}
    assert mask_fields(fields, declared=rules, policy=policy()).fields == fields
    assert mask_fields({"who": {"$delete": 1}}, declared=rules, policy=policy()).fields == {
        "who": {"$delete": None}
    }


def test_what_was_given_is_not_changed() -> None:
    """PR-5: masking answers new values and leaves its input as it was."""
    fields = {"a": [{"token": "abc", CARD: [CARD]}]}
    mask(fields)
    assert fields == {"a": [{"token": "abc", CARD: [CARD]}]}
