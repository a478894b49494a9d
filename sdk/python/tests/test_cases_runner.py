"""`python -m lastro.testing cases FOLDER`: every case passes, and a wrong window, fact or file is told."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lastro.history import composing
from lastro.history.contract import Items
from lastro.history.messages import size_of
from lastro.history.windows import Window
from lastro.testing.cases.case import read_case
from lastro.testing.cases.run import Verdict, verdict

CASES = Path(__file__).with_name("history_cases")
READ = {path.name[:3]: json.loads(path.read_text()) for path in sorted(CASES.glob("*.json"))}
NAIVE_FAILS = [name for name, case in READ.items() if case["expect"]["naive_suffix_fails"]]


def verdict_on(case: dict[str, Any], folder: Path) -> Verdict:
    file = folder / "case.json"
    file.write_text(json.dumps(case))
    return verdict(read_case(file))


def copied(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(json.dumps(READ[name]))
    return case


@pytest.mark.parametrize("name", READ)
def test_every_case_passes(name: str, tmp_path: Path) -> None:
    """HI-11, CA-15: in RAM and in SQLite, as it is asked for and repaired; a context on a graph in RAM."""
    found = verdict_on(READ[name], tmp_path)
    assert found.word == "PASS", found.line
    assert not found.unchecked


@pytest.mark.parametrize("name", NAIVE_FAILS)
def test_last_messages_alone_fail(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HI-11: a window that is no more than the last so many messages is found out by every case made for it."""
    monkeypatch.setattr(composing, "window_of", naive_window)
    found = verdict_on(READ[name], tmp_path)
    assert found.word == "FAIL"
    assert found.why


def naive_window(source: Items, *, leaf: str, limits: Any, **_: Any) -> Window:
    items = list(source.backwards(leaf))[: limits.max_messages][::-1]
    messages = tuple(item.message for item in items)
    return Window(messages, tuple(item.id for item in items), len(items), sum(map(size_of, messages)))


def expect(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda case: case["expect"].update({name: value})


def fact(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda case: case["expect"]["facts"].update({name: value})


@pytest.mark.parametrize(
    ("why", "name", "wrong"),
    [
        ("a message must stay that leaves", "O01", expect("keep", [1])),
        ("a message must go that stays", "O01", expect("drop", [9])),
        ("a refusal where one was served", "O01", expect("outcomes", ["refused"])),
        ("a text that is not served", "O12", expect("text_present", ["ALPHA-CONTENT"])),
        ("a text that is served", "O12", expect("text_absent", ["BRAVO-CONTENT"])),
        (
            "a refusal that does not name the call",
            "O11",
            lambda case: (
                case["input"].update(other={"id": "adk-9"}),
                case["expect"].update(must=["names adk-9"]),
            ),
        ),
        ("another count", "O14", fact("stored_count", 6)),
        ("another order", "O14", fact("stored_order", [1, 0, 2, 3])),
        ("another reservation", "O20", fact("reserve_tokens", 5809)),
        ("a word that the counter did not see", "O20", fact("counter_saw", ["nothing of it"])),
        ("another call", "O23", fact("stored_calls", ["c_w2"])),
        ("a text that nobody keeps", "O24", fact("retained_contains", ["toolu_other"])),
        ("other messages after a time", "O25", fact("after_second_window", {"indices": [0, 1, 2, 3]})),
        ("another branch", "O26", fact("window_ids", ["u1", "a1", "u2", "a2-old"])),
        ("no sibling", "O26", fact("siblings_of_new_answer", [])),
        ("another role of the summary", "O15", fact("summary_role", "system")),
        ("two summaries", "O15", fact("summaries_in_window", 2)),
        ("a busy worker", "O23", lambda case: case["operation"]["steps"][0].update(expect="busy")),
        ("a foreign session", "O27", lambda case: case["operation"]["steps"][1].update(expect="ok")),
        ("a child's own work is shown", "O19", fact("included", ["art-child"])),
        ("another reason", "O19", fact("omitted", {"art-child": "privacy"})),
        ("a text of a child", "O19", expect("text_present", ["HELIOTROPE"])),
        ("a text that is shown", "O19", expect("text_absent", ["child reports"])),
        ("a read that is replaced", "O28", fact("step_1", {"included": ["mem-read"]})),
        ("nothing is stale", "O28", fact("step_0", {"stale": ["mem-read"]})),
        ("an act that makes no context", "O19", lambda case: case["operation"].update(name="window")),
        (
            "an act that nobody knows",
            "O14",
            lambda case: case["operation"]["steps"][0].update({"do": "dance"}),
        ),
    ],
)
def test_what_does_not_hold_is_told(
    why: str, name: str, wrong: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    """A case that asks for what does not come fails, and says why."""
    case = copied(name)
    assert verdict_on(case, tmp_path).word == "PASS"
    wrong(case)
    found = verdict_on(case, tmp_path)
    assert found.word == "FAIL", why
    assert found.why


def test_fact_that_nobody_can_compare_is_named(tmp_path: Path) -> None:
    """What is not checked is said, and not passed over."""
    case = copied("O14")
    fact("a_new_one", 7)(case)
    assert verdict_on(case, tmp_path).line == "PASS O14 append_idempotency: fact a_new_one not checked"


def test_summaries_that_are_none_are_passed_over(tmp_path: Path) -> None:
    """X10: of what a host tries, the first that is a summary is served, or none is."""
    case = copied("O15")
    case["input"]["summary"] = [{"text": ""}, {"text": " "}, case["input"]["summary"]]
    assert verdict_on(case, tmp_path).word == "PASS"
    case["input"]["summary"] = [{"text": ""}]
    assert verdict_on(case, tmp_path).why


def test_command(tmp_path: Path) -> None:
    """A line for each case; it ends with 1 where one fails, where a file is none, and where there is none."""
    assert run(tmp_path)[0] == 1
    case = copied("O01")
    (tmp_path / "O01.json").write_text(json.dumps(case))
    assert run(tmp_path) == (0, "PASS O01 orphan_result\n")
    expect("keep", [1])(case)
    (tmp_path / "O02.json").write_text(json.dumps(case))
    (tmp_path / "O03.json").write_text("{")
    code, said = run(tmp_path)
    assert code == 1
    assert [line.split()[0] for line in said.splitlines()] == ["PASS", "FAIL", "FAIL"]


def run(folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "lastro.testing", "cases", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
