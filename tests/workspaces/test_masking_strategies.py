"""What takes the place of a value, and which markers are exact."""

import pytest

from tests.workspaces.masking_policies import DOCUMENT, KEY, policy
from workspaces.masking import FieldRule, MaskingPolicy, mask_fields, mask_text, policy_from
from workspaces.masking.policy import HELD_BACK, KINDS, strategy_of

MAIL = "ana.souza@example.com"


def masked(value: object, pii: str | bool, chosen: MaskingPolicy) -> object:  # noqa: FBT001 - as it is declared
    """Mask one field declared personal; answer what is left of it, or "absent"."""
    declared = {"field": FieldRule(type="any", pii=pii)}
    return mask_fields({"field": value}, declared=declared, policy=chosen).fields.get("field", "absent")


WHOLE = [
    ("redact", "name", "redact", "Ana Souza", "[redacted:name]"),
    ("redact, whatever it looks like", "name", "redact", "4111111111111111", "[redacted:name]"),
    ("partial e-mail", "email", "partial", MAIL, "a***@example.com"),
    ("partial e-mail, capitals", "email", "partial", "Ana@Example.COM", "A***@example.com"),
    ("partial e-mail that is none", "email", "partial", "Ana <a@example.com>", "[redacted:email]"),
    ("partial e-mail of a telling domain", "email", "partial", "a@4111111111111111.com", "[redacted:email]"),
    ("partial phone", "phone", "partial", "+55 (11) 98765-4321", "***21"),
    ("partial phone that is none", "phone", "partial", "ask Ana 12", "[redacted:phone]"),
    ("partial phone that is too short", "phone", "partial", "12", "[redacted:phone]"),
    ("partial card", "card", "partial", "4111 1111 1111 1111", "****1111"),
    ("partial card that is none", "card", "partial", "1111", "[redacted:card]"),
    ("partial of what has no partial form", "name", "partial", "Ana", "[redacted:name]"),
    ("partial text", "text", "partial", "Ana", "[redacted:text]"),
    ("drop", "cvv", "drop", "123", "absent"),
    ("drop of a number", "cvv", "drop", 123, "absent"),
    ("a number becomes null", "name", "redact", 7, None),
    ("a truth becomes null", "name", "redact", True, None),
    ("nothing stays nothing", "name", "redact", None, None),
    ("nor is a blank anything", "name", "redact", "", ""),
    ("an unknown kind is a text", "shoe_size", "redact", "44", "[redacted:text]"),
]


@pytest.mark.parametrize(("why", "kind", "strategy", "value", "left"), WHOLE)
def test_whole_value(why: str, kind: str, strategy: str, value: object, left: object) -> None:
    """PR-5, WM-14: with a kind the whole value is of that kind and gets its strategy."""
    assert masked(value, kind, policy({kind: strategy})) == left


SAME_HASH = [
    ("email", "Ana@Example.com", " ana@example.com"),
    ("phone", "+55 11 98765-4321", "(11) 98765-4321"),
    ("gov_id", "529.982.247-25", "52998224725"),
    ("iban", "DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
    ("ip", "2001:db8::1", "2001:0db8:0:0:0:0:0:1"),
    ("name", "Ana  Souza", "ana souza"),
]


@pytest.mark.parametrize(("kind", "one", "other"), SAME_HASH)
def test_equal_values_have_equal_hashes(kind: str, one: str, other: str) -> None:
    """PR-5: a hash is keyed, 22 characters, and equal for every spelling of one value, else different."""
    chosen = policy({kind: "hash"})
    marker = masked(one, kind, chosen)
    assert isinstance(marker, str)
    assert marker.startswith(f"[hash:{kind}:")
    assert len(marker) == len(f"[hash:{kind}:]") + 22
    assert masked(other, kind, chosen) == marker
    assert masked(one + "1", kind, chosen) != marker
    assert masked(one, kind, policy_from(DOCUMENT | {"kinds": {kind: "hash"}}, hash_key=b"another")) != marker


def test_a_kind_that_is_held_back_keeps_nothing() -> None:
    """PR-7: what is held back everywhere is redacted or dropped, a card partial too, whatever a document says."""
    for kind in HELD_BACK:
        assert strategy_of(policy({kind: "hash"}), kind) == "redact"
        assert strategy_of(policy({kind: "drop"}), kind) == "drop"
        assert strategy_of(policy({kind: "partial"}), kind) == ("partial" if kind == "card" else "redact")
    wider = policy_from(DOCUMENT | {"held_back_everywhere": ["email"]}, hash_key=KEY)
    assert strategy_of(wider, "email") == "redact"
    assert mask_fields({"note": f"ask {MAIL}"}, declared={}, policy=wider).counts == {"email": 1}


def test_the_strictest_is_what_a_document_leaves_out() -> None:
    """PR-5, PR-7: an empty document still redacts, detects and holds back."""
    strict = policy_from({}, hash_key=KEY)
    assert all(strategy_of(strict, kind) == "redact" for kind in KINDS)
    assert mask_text(f"{MAIL} 4111111111111111", policy=strict)[0] == "[redacted:email] [redacted:card]"


DECLARED = [
    ("found kinds and the rest", f"ask {MAIL} today", "[redacted:text]a***@example.com[redacted:text]"),
    ("a blank between two", f"{MAIL} +55 11 98765-4321", "a***@example.com ***21"),
    ("two partial forms that touch", "+14155552671+14155552672", "***71 ***72"),
    ("nothing found", "Ana lives there", "[redacted:text]"),
    ("a password in it", "my password is Hunter2!x", "[redacted:text][redacted:password]"),
    ("blank", "  ", ""),
]


@pytest.mark.parametrize(("why", "value", "left"), DECLARED)
def test_declared_without_a_kind(why: str, value: str, left: str) -> None:
    """PR-5: detectors first; what no detector took, punctuation too, gets the strategy of text."""
    assert masked(value, pii=True, chosen=policy()) == left


def test_declared_without_a_kind_and_text_dropped() -> None:
    """PR-5: with text dropped only what detectors took is left, or nothing at all."""
    chosen = policy({"text": "drop"})
    assert masked(f"ask {MAIL} or +55 11 98765-4321.", pii=True, chosen=chosen) == "a***@example.com ***21"
    assert masked("Ana", pii=True, chosen=chosen) == "absent"
    assert masked({"a": "Ana", "b": 7, "c": None}, pii=True, chosen=chosen) == {"c": None}


def test_a_text_of_our_own_keeps_the_rest() -> None:
    """PR-23: a reason loses what detectors find and keeps its other words."""
    text, counts = mask_text(f"asked by {MAIL}, ticket 4711", policy=policy())
    assert text == "asked by a***@example.com, ticket 4711"
    assert counts == {"email": 1}


HASH = str(masked("Ana", "name", policy({"name": "hash"})))
EXACT = ["[redacted:name]", "[redacted:card]", HASH, "***21", "a***@example.com"]
INEXACT = [
    ("free content as a hash", "[hash:name:AnaSouzaLivesInLisbonX]"),
    ("a card as a hash", "[hash:card:4111111111111111abcdef]"),
    ("a hash with another kind", HASH.replace("name", "text")),
    ("no kind", "[redacted:shoe_size]"),
    ("capitals", "[REDACTED:name]"),
    ("something before", "x[redacted:name]"),
    ("something behind", "[redacted:name] Ana"),
    ("a zero-width character inside", "[redacted:\u200bname]"),
    ("three digits", "***321"),
    ("four stars", "****21"),
    ("no domain", "a***@example"),
    ("a telling domain", "a***@4111111111111111.com"),
    ("a domain in capitals", "a***@EXAMPLE.com"),
    ("two letters", "an***@example.com"),
]


@pytest.mark.parametrize("marker", EXACT)
def test_an_exact_marker_is_left_alone(marker: str) -> None:
    """PR-6: what masking wrote it does not mask again, nor count."""
    declared = {"field": FieldRule(type="text", pii=True)}
    again = mask_fields({"field": marker}, declared=declared, policy=policy())
    assert (again.fields, again.counts) == ({"field": marker}, {})


@pytest.mark.parametrize(("why", "imitation"), INEXACT)
def test_an_imitation_is_masked(why: str, imitation: str) -> None:
    """PR-6: a marker with content of its own, or with anything around it, is masked."""
    assert masked(imitation, pii="name", chosen=policy()) == "[redacted:name]"
    declared = {"field": FieldRule(type="text", pii=True)}
    assert mask_fields({"field": imitation}, declared=declared, policy=policy()).counts


def test_a_partial_form_counts_only_where_the_policy_writes_it() -> None:
    """PR-6: under a policy that redacts, a partial form is content like any other."""
    assert masked("a***@example.com", pii="email", chosen=policy({"email": "redact"})) == "[redacted:email]"
    assert masked("***21", pii=True, chosen=policy({"phone": "redact"})) == "[redacted:text]"
    assert masked("***21", pii="email", chosen=policy()) == "[redacted:email]"
