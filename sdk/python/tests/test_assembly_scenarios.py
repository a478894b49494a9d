"""The seventeen kinds of run: every fact needed to go on is there, what must not be seen is not, and it is small."""

from collections.abc import Callable

import bpe_openai
import pytest
from runtime_graphs import outcomes
from scenarios import Contexts, Scenario, contexts, kept, tokens_of
from scenarios.others import OTHERS
from scenarios.published import PUBLISHED

ENCODING = bpe_openai.get_encoding("o200k_base")
EVERY = pytest.mark.parametrize("make", [*PUBLISHED, *OTHERS], ids=lambda make: make.__name__)


def count(text: str) -> int:
    """Count the tokens of a text."""
    return len(ENCODING.encode_ordinary(text))


def played(make: Callable[[], Scenario]) -> tuple[Scenario, Contexts]:
    """Play one recorded run."""
    scenario = make()
    return scenario, contexts(scenario, count)


def test_there_are_seventeen() -> None:
    """CA, scenarios: each kind of the list is recorded."""
    assert len({make().name for make in (*PUBLISHED, *OTHERS)}) == 17


@EVERY
def test_every_fact_is_kept(make: Callable[[], Scenario]) -> None:
    """CA, scenarios: what is needed to go on is in the assembled context, what must not be seen is not."""
    scenario, found = played(make)
    assert kept(scenario.facts, found.assembled) == list(scenario.facts)
    assert kept(scenario.marks, found.assembled) == list(scenario.marks)
    assert kept(scenario.absent, found.assembled) == []
    assert kept(scenario.facts, found.naive) == list(scenario.facts)


@EVERY
def test_each_record_has_the_outcome_of_its_rule(make: Callable[[], Scenario]) -> None:
    """CA-15: the records that a run is about come out as the rules say."""
    scenario, found = played(make)
    told = outcomes(found.assembly)
    assert {id: told[id] for id in scenario.outcomes} == scenario.outcomes


@EVERY
def test_three_contexts_ask_the_same(make: Callable[[], Scenario]) -> None:
    """CA, scenarios: the same system prompt begins all three, the same user message ends them."""
    _, found = played(make)
    firsts = [messages[0] for messages in (found.naive, found.masked, found.assembled)]
    assert firsts[0]["role"] == "system"
    assert firsts[0] == firsts[1] == firsts[2]
    last = found.naive[-1]["content"]
    assert found.masked[-1]["content"] == last
    assert found.assembled[-1]["content"].endswith(last)
    assert found.assembled[-1]["role"] == "user"


@pytest.mark.parametrize("make", PUBLISHED, ids=lambda make: make.__name__)
def test_assembled_is_smaller_than_what_was_published(make: Callable[[], Scenario]) -> None:
    """CA, scenarios: the naive side has the published size within 10 %, and more of it is saved than there."""
    scenario, found = played(make)
    assert scenario.reference is not None
    naive, assembled = scenario.reference
    ours = tokens_of(found.naive, count), tokens_of(found.assembled, count)
    assert 0.9 * naive <= ours[0] <= 1.1 * naive
    assert ours[1] / ours[0] < assembled / naive


@EVERY
def test_stored_counts_are_what_is_sent(make: Callable[[], Scenario]) -> None:
    """CA-16: the stored sizes add up to no less than what is rendered, and to not much more."""
    _, found = played(make)
    sent = tokens_of(found.assembled[1:], count) - 3 * len(found.assembled[1:])
    assert sent <= found.assembly.assembled.tokens + 16
    assert found.assembly.assembled.tokens <= sent * 1.6 + 60
