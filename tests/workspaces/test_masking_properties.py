"""What holds for every state and every policy: a fixed point, and nothing held back survives."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stdnum import luhn

from tests.workspaces.masking_policies import DOCUMENT, KEY, policy
from workspaces.masking import FieldRule, MaskingPolicy, mask_fields, mask_text, policy_from
from workspaces.masking.glance import glance_at
from workspaces.masking.markers import markers_in
from workspaces.masking.policy import KINDS, kinds_in_declared
from workspaces.masking.scan import look, search_for
from workspaces.masking.secret_names import secret_kind

TOKEN = "gh" + "p_" + "1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R"

# Pieces that detectors and markers care about; joined at random they make the texts nobody thinks of.
PIECES = [
    *("4111 1111 1111 1111", "5555555555554444", "4111", "1111", "378282246310005", "cvv ", "cvc: ", "123"),
    *(
        "password",
        "password: ",
        "senha é ",
        "token=",
        "api_key",
        "Bearer ",
        "authorization: ",
        "Hunter2!",
        TOKEN,
    ),
    *("ana@example.com", "ana%40example.com", "@", "***@", "***", "****", "*", "a***@example.com", "***21"),
    *("****1111", "[redacted:card]", "[redacted:", "[hash:email:", "AAAAAAAAAAAAAAAAAAAAAA]", "]", "["),
    *(
        "+55 11 98765-4321",
        "(415) 555-2671",
        "tel ",
        "06 12 34 56 78",
        "+",
        "(",
        ")",
        "-",
        ".",
        ",",
        "&",
        "=",
    ),
    *(
        "529.982.247-25",
        "536-22-8726",
        "DE89 3704 0044 0532 0130 00",
        "203.0.113.57",
        "2001:db8::1",
        "://",
        "a:b@",
    ),
    *(
        "postgres://app:pw@db/x",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
        '"',
        "'",
        "\\",
        ":",
        " ",
        "  ",
        "\n",
        "x",
    ),
    *("\u200b", "\u00a0", "\uff14", "\x7f", "\ufdd0", "\u0130", "é", "\x00", "(2)"),
]
KEYS = st.sampled_from(["step", "token", "API_KEY", "4111111111111111", "[redacted:card]", "ana@example.com"])
STRATEGIES = st.sampled_from(["redact", "partial", "hash", "drop"])

texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.text(max_size=20))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 10**16), st.floats(allow_nan=False), texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | texts, inner, max_size=3),
    max_leaves=6,
)
states = st.dictionaries(st.sampled_from(["step", "note", "token", "cvv", "who"]), values, max_size=3)
policies = st.builds(
    lambda kinds, regions: policy_from(DOCUMENT | {"kinds": kinds, "regions": regions}, hash_key=KEY),
    st.dictionaries(st.sampled_from(sorted(KINDS)), STRATEGIES),
    st.lists(st.sampled_from(["BR", "US", "FR", "DE", "MX"]), max_size=3, unique=True),
)
rules = st.dictionaries(
    st.sampled_from(["step", "note", "token", "cvv", "who"]),
    st.builds(
        FieldRule,
        type=st.sampled_from(["string", "text", "integer", "any", "object", "ref"]),
        pii=st.sampled_from([False, True, *sorted(KINDS)]),
    ),
)
often = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@often
@given(states, rules, policies)
def test_masking_again_changes_nothing(
    state: dict[str, Any], declared: dict[str, FieldRule], chosen: MaskingPolicy
) -> None:
    """PR-6: masking is a fixed point, and counts nothing the second time."""
    once = mask_fields(state, declared=declared, policy=chosen)
    again = mask_fields(once.fields, declared=declared, policy=chosen)
    assert again.fields == once.fields
    assert again.counts == {}


@often
@given(texts, policies)
def test_masking_a_text_again_changes_nothing(text: str, chosen: MaskingPolicy) -> None:
    """PR-6: the same for a text of our own."""
    once, _ = mask_text(text, policy=chosen)
    assert mask_text(once, policy=chosen) == (once, {})


@often
@given(texts, policies)
def test_a_declared_text_is_markers_and_nothing_else(text: str, chosen: MaskingPolicy) -> None:
    """PR-5, PR-6: nothing is left between the markers of a field declared personal but single spaces."""
    declared = {"note": FieldRule(type="text", pii=True)}
    left = mask_fields({"note": text}, declared=declared, policy=chosen).fields.get("note", "")
    end = 0
    for marker in markers_in(left, chosen):
        assert left[end : marker.start] in {"", " "}
        end = marker.end
    assert left[end:] == ""


@st.composite
def cards(draw: st.DrawFn) -> str:
    """Make up a card number, bare or grouped."""
    begin = draw(st.sampled_from(["4", "51", "55", "2221", "6011", "3528", "62"]))
    digits = begin + draw(st.text("0123456789", min_size=15 - len(begin), max_size=15 - len(begin)))
    digits += luhn.calc_check_digit(digits)
    between = draw(st.sampled_from(["", " ", "-", "\u00a0", "\u200b", "."]))
    return between.join(digits[place : place + 4] for place in range(0, 16, 4))


held_back = st.one_of(
    cards(),
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=16).map(
        lambda rest: "AK" + "IA" + rest
    ),
    st.text("abcdefXYZ0123456789", min_size=36, max_size=36).map(lambda rest: "gh" + "p_" + rest),
)
words = st.text("abcde éß,;!?\n", max_size=12)


def placed(secret: str, before: str, after: str) -> st.SearchStrategy[Any]:
    """Put a value in a text, and the text somewhere in a value: an item, a member or a name."""
    text = f"{before} {secret} {after}"
    return st.recursive(
        st.just(text),
        lambda inner: st.one_of(
            inner.map(lambda item: ["x", item]),
            inner.map(lambda item: {"step": item, "n": 1}),
            st.just({text: 1}),
        ),
        max_leaves=3,
    )


@often
@given(st.data(), held_back, words, words, policies)
def test_nothing_held_back_survives(
    data: st.DataObject, secret: str, before: str, after: str, chosen: MaskingPolicy
) -> None:
    """PR-7: cards, keys and tokens survive nowhere, in a value or in a name, in a field declared or not."""
    value = data.draw(placed(secret, before, after))
    declared = {"b": FieldRule(type="any", pii=True)}
    masked = mask_fields({"a": value, "b": value}, declared=declared, policy=chosen)
    left = json.dumps(masked.fields, ensure_ascii=False)
    assert json.dumps(secret, ensure_ascii=False)[1:-1] not in left
    assert sum(masked.counts.values()) >= 2


@often
@given(st.lists(texts, max_size=6))
def test_what_is_spared_a_look_had_nothing_to_find(strings: list[str]) -> None:
    """PR-7, PR-7b: one question about all texts never spares one that holds something."""
    declared = search_for(kinds_in_declared(policy()))
    seen = glance_at([strings, {"names": dict.fromkeys(strings)}], search=declared, regions=policy().regions)
    for text in strings:
        whole = look(text, search=declared, policy=policy())
        assert look(text, search=seen.search, policy=policy()).spans == whole.spans


@often
@given(st.lists(KEYS | texts, max_size=6))
def test_a_secret_name_is_seen_at_a_glance(names: list[str]) -> None:
    """PR-7b: a body is not spared the walk where a member is secret by its name."""
    seen = glance_at([dict.fromkeys(names, 1)], search=search_for(frozenset()), regions=())
    assert seen.has_secret_name or not any(map(secret_kind, names))


@often
@given(texts, policies)
def test_spans_are_of_the_text_and_apart(text: str, chosen: MaskingPolicy) -> None:
    """PR-7: folding keeps offsets right, so that spans are in order and inside the text."""
    spans = look(text, search=search_for(kinds_in_declared(chosen)), policy=chosen).spans
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(left.end <= right.start for left, right in pairwise(spans))
