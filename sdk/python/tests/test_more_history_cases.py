"""More cases made from public reports, and what the runner makes of files that are written otherwise (HI-11)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lastro.testing.cases.case import read_case
from lastro.testing.cases.names import act_of, dialect_of, outcome_of
from lastro.testing.cases.run import Verdict, verdict

CASES = Path(__file__).with_name("more_history_cases")
READ = {path.name.split("-")[0]: json.loads(path.read_text()) for path in sorted(CASES.glob("*.json"))}


@pytest.mark.parametrize("name", READ)
def test_every_case_passes(name: str, tmp_path: Path) -> None:
    """HI-11: in RAM and in SQLite, as it is asked for and repaired; each fact is compared."""
    found = verdict_on(READ[name], tmp_path)
    assert found.word == "PASS", found.line
    assert not found.unchecked


def test_every_kind_and_provider_is_there() -> None:
    """HI-11: one case at least of each kind that a window or a store answers for, and of each provider."""
    kinds = {case["kind"] for case in READ.values()}
    assert len(kinds) == 18
    assert len({case["provider"] for case in READ.values()}) == 5


def verdict_on(case: dict[str, Any], folder: Path) -> Verdict:
    file = folder / "case.json"
    file.write_text(json.dumps(case))
    return verdict(read_case(file))


def expect(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda case: case["expect"].update({name: value})


def fact(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda case: case["expect"]["facts"].update({name: value})


def step(number: int, **members: Any) -> Callable[[dict[str, Any]], None]:
    return lambda case: case["operation"]["steps"][number].update(members)


@pytest.mark.parametrize(
    ("kind", "title", "wrong"),
    [
        ("duplicate_id", "A retry stored", fact("unique_item_ids", False)),
        ("pending_call", "An interjection", fact("open_after_first_window", [])),
        ("summary", "Attempts", expect("text_absent", ["was refused; it was shown"])),
        ("summary", "Every attempt", fact("summaries_in_window", 1)),
        ("summary", "Summarise acts", step(1, expect="ok")),
        (
            "counting",
            "The counted request",
            lambda case: case["operation"]["args"].update(maxOutputTokens=999),
        ),
        (
            "counting",
            "Counts at the very",
            lambda case: case["operation"]["args"].update(maxOutputTokens=1001),
        ),
        ("concurrency", "Two tabs", step(4, expect="ok")),
        ("recovery", "The worker comes back", step(5, expect="ok")),
        ("recovery", "Restart", step(2, calls=["call_other"])),
        ("branch", "An edited question", step(4, expect="ok")),
        ("branch", "A fork of a fork", expect("text_present", ["Pike"])),
        ("branch", "Each branch has", expect("text_present", ["Rule of the left."])),
        ("append_idempotency", "One key", step(1, expect="ok")),
        ("tenancy", "Foreign ids", step(0, expect="ok")),
        ("retention", "The call expires", fact("after_second_window", {"indices": [3, 4]})),
    ],
)
def test_what_does_not_hold_is_told(
    kind: str, title: str, wrong: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    """A case that asks for what does not come fails, and says why."""
    found = next(case for case in READ.values() if case["kind"] == kind and case["title"].startswith(title))
    case = json.loads(json.dumps(found))
    wrong(case)
    told = verdict_on(case, tmp_path)
    assert told.word == "FAIL"
    assert told.why


@pytest.mark.parametrize(
    ("written", "members", "act"),
    [
        ("commit", {}, "decide_commit"),
        ("Abort", {}, "decide_abort"),
        ("summarise", {}, "summarize"),
        ("regenerate", {}, "fork"),
        ("append-all", {}, "append"),
        ("reserve", {"worker": "w1"}, "decide_begin"),
        ("reserve", {}, "reserve"),
        ("dance", {}, "dance"),
    ],
)
def test_names_of_acts(written: str, members: dict[str, Any], act: str) -> None:
    """One act has many names; one that nobody knows stays what it is, and is told."""
    assert act_of(written, members) == act


@pytest.mark.parametrize(
    ("written", "outcome"),
    [
        ("duplicate", "ok"),
        ("decision_history_busy", "busy"),
        ("gone", "not_found"),
        ("conflict", "refused"),
        ({"outcome": "ok"}, "ok"),
        ({"indices": [1]}, ""),
        (None, ""),
    ],
)
def test_names_of_outcomes(written: object, outcome: str) -> None:
    """What a step expects is one of four things, or nothing."""
    assert outcome_of(written) == outcome


def test_dialects() -> None:
    """A host names the dialect of its server; a case says so by a word, by its request or by an invariant."""
    assert dialect_of({"dialect": "strict-alternation"}, []) == "strict-alternation"
    assert "mistral" in dialect_of({"dialect": ["mistral-strict"]}, []).split()
    assert dialect_of({"request": {"store": False}}, []) == "stateless"
    assert dialect_of({}, ["R5", "A9"]) == "stateless strict-alternation"
    assert dialect_of({}, ["R4"]) == ""


def test_case_that_cannot_be_played_stops_no_other(tmp_path: Path) -> None:
    """A step that lacks a member fails its own case, by name."""
    case = json.loads(
        json.dumps(next(case for case in READ.values() if case["kind"] == "append_idempotency"))
    )
    case["operation"]["steps"][0] = {"do": "append"}
    assert "cannot be played" in verdict_on(case, tmp_path).line
