"""The cases made from public reports whose operation is one window (HI-11)."""

import json
from pathlib import Path
from typing import Any

import pytest
from conversations.account import account_of
from conversations.branch import Branch

from lastro.history.errors import DecisionHistoryError
from lastro.history.messages import require_message
from lastro.history.summaries import Exchange, summary_after
from lastro.history.windows import Limits, Window, window_of
from lastro.invariants import violations

CASES = Path(__file__).with_name("history_cases")
READ = [json.loads(path.read_text()) for path in sorted(CASES.glob("*.json"))]
WINDOWS = [case for case in READ if case["operation"]["name"] in ("window", "store_load_window")]


def messages_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    given = case["input"]
    messages: list[dict[str, Any]] = given.get("messages") or json.loads(given["messages_json"])
    return messages


def window_for(case: dict[str, Any], *, repair: bool) -> Window:
    messages, args = messages_of(case), case["operation"]["args"]
    for place, message in enumerate(messages):
        require_message(message, f"/{place}")
    branch = Branch.of(case["provider"], messages)
    summary = None
    if "summary" in case["input"]:
        given = case["input"]["summary"]
        covered = [branch.items[place] for place in given["covers"]]
        summary = summary_after(given["text"], [Exchange(tuple(covered))], through=covered[-1].id)
    return window_of(
        branch,
        provider=case["provider"],
        leaf=branch.leaf,
        now=0,
        limits=Limits(args["maxMessages"], args["maxBytes"]),
        repair=repair,
        summary=summary,
        dialect=case["input"].get("dialect", ""),
    )


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("case", WINDOWS, ids=[case["id"] for case in WINDOWS])
def test_case(case: dict[str, Any], *, repair: bool) -> None:
    """HI-11: what must stay is there unchanged, what must leave is not, and a refusal is one that is allowed."""
    expect, messages = case["expect"], messages_of(case)
    try:
        window = window_for(case, repair=repair)
    except DecisionHistoryError:
        assert "refused" in expect["outcomes"]
        return
    assert "ok" in expect["outcomes"]
    served = [int(item[1:]) for item in window.items if item]
    assert set(expect["keep"]) <= set(served)
    assert not set(expect["drop"]) & set(served)
    changed = {int(item[1:]) for item in window.changed}
    assert changed <= set(expect["may_change"])
    for message, item in zip(window.messages, window.items, strict=True):
        if item and item not in window.changed:
            assert message == messages[int(item[1:])]
    text = json.dumps(window.messages, ensure_ascii=False)
    assert all(words in text for words in expect["text_present"])
    assert not any(words in text for words in expect["text_absent"])


@pytest.mark.parametrize("case", WINDOWS, ids=[case["id"] for case in WINDOWS])
def test_case_keeps_the_invariants(case: dict[str, Any]) -> None:
    """HI-11: a window that is served satisfies the invariants that the case names."""
    messages = messages_of(case)
    try:
        window = window_for(case, repair=True)
    except DecisionHistoryError:
        return
    account = account_of(window, [f"i{place}" for place in range(len(messages))])
    assert not violations(
        case["provider"],
        window.messages,
        stored=messages,
        limits=Limits(case["operation"]["args"]["maxMessages"], case["operation"]["args"]["maxBytes"]),
        invariants=case["expect"]["invariants"],
        account=account,
    )
