"""What must hold of a play, as its case says: outcomes, invariants, what stays and what goes, texts, originals."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Set
from typing import Any

from lastro.errors import LastroError
from lastro.history.records import Message
from lastro.history.windows import Limits, Window
from lastro.invariants import violations
from lastro.invariants.subject import Account
from lastro.testing.cases.case import Step, elements, item_id, members
from lastro.testing.cases.facts import failing_facts
from lastro.testing.cases.play import Play, Ran

BUSY, NOT_FOUND, REFUSED, OK = "busy", "not_found", "refused", "ok"
WINDOWS = ("window", "store_load_window")
ELSEWHERE = frozenset({"X8", "X9", "X11"})
"""Invariants that no window shows alone: the checks below ask for them."""


def failures(play: Play) -> Iterator[str]:
    """Say all that does not hold; nothing where the case passes."""
    yield from _outcomes(play)
    for ran in play.ran:
        if ran.window is not None:
            yield from _invariants(play, ran, ran.window)
            yield from _account(play, ran.window)
    yield from _members(play)
    yield from _texts(play)
    yield from _refusals(play)
    yield from _originals(play)
    yield from failing_facts(play)


def _outcomes(play: Play) -> Iterator[str]:
    for ran in play.ran:
        expected = ran.step.expected
        if expected and not _is(ran.outcome, expected):
            yield f"{ran.step.do}: {ran.outcome}, where {expected} is right{_told(ran)}"
        if not expected and ran.outcome != OK and ran.outcome not in play.case.outcomes:
            yield f"{ran.step.do}: {ran.outcome}, where only {' or '.join(play.case.outcomes)} is right{_told(ran)}"
    if OK not in play.case.outcomes and all(ran.outcome == OK for ran in play.ran):
        yield f"all is served, where only {' or '.join(play.case.outcomes)} is right"


def _is(outcome: str, expected: str) -> bool:
    """Tell whether an act came out as named; `refused` and the code of an error are names of any refusal."""
    return outcome == expected or (expected not in (OK, BUSY, NOT_FOUND) and outcome != OK)


def _told(ran: Ran) -> str:
    return f" ({ran.error})" if ran.error is not None else ""


def _invariants(play: Play, ran: Ran, window: Window) -> Iterator[str]:
    stored = [play.stored[name] for name in ran.path]
    places = {name: index for index, name in enumerate(ran.path)}
    found = violations(
        play.case.provider,
        window.messages,
        stored=stored,
        account=_account_of(window, places),
        limits=_limits(ran.step),
        invariants=[name for name in elements(play.case.expect.get("invariants")) if name not in ELSEWHERE],
    )
    for broken in found:
        yield f"{broken.rule} is broken at served message {broken.index}: {broken.detail}"


def _account_of(window: Window, places: Mapping[str, int]) -> Account:
    """Translate the account of a window into places; an item that is joined into another one is accounted for."""
    left_out = [omission.item for omission in window.omissions]
    return Account(
        sources=[places.get(name) for name in window.items],
        changed={index for index, name in enumerate(window.items) if name in window.changed},
        omitted={places[name] for name in (*left_out, *window.changed) if name in places},
    )


def _limits(step: Step) -> Limits | None:
    args = step.args
    if "maxMessages" not in args and "maxBytes" not in args:
        return None
    return Limits(int(args.get("maxMessages", 10**9)), int(args.get("maxBytes", 10**9)))


def _account(play: Play, window: Window) -> Iterator[str]:
    """X3: what is served is what is stored, but for what is marked, and may be."""
    allowed = {item_id(index) for index in elements(play.case.expect.get("may_change"))}
    for name, message in zip(window.items, window.messages, strict=True):
        is_marked = not name or name in window.changed
        if not is_marked and message != play.stored.get(name):
            yield f"X3: {name} is served otherwise than it is stored"
        if name in window.changed and allowed and name not in allowed:
            yield f"{name} is changed, and is none of those that may be"


def _members(play: Play) -> Iterator[str]:
    window = next((ran.window for ran in reversed(play.ran) if ran.window is not None), None)
    if window is None:
        return
    expect = play.case.expect
    served = set(window.items)
    for index in elements(expect.get("keep")):
        if item_id(index) not in served and not _is_joined(play, window, item_id(index)):
            yield f"message {index} must stay, and is not served"
    for index in elements(expect.get("drop")):
        if item_id(index) in served:
            yield f"message {index} must go, and is served"


def _is_joined(play: Play, window: Window, name: str) -> bool:
    """Tell whether a message is served inside another one, of which the window says that it is changed."""
    texts = [json.dumps(message, ensure_ascii=False, sort_keys=True) for message in window.messages]
    parts = elements(play.stored.get(name, {}).get("content")) or [play.stored.get(name)]
    written = [json.dumps(part, ensure_ascii=False, sort_keys=True) for part in parts]
    return bool(window.changed) and all(any(part in text for text in texts) for part in written)


def _texts(play: Play) -> Iterator[str]:
    served = "\n".join(text_of(ran.window) for ran in play.ran if ran.window is not None)
    for text in elements(play.case.expect.get("text_present")):
        if served and text not in served:
            yield "a text that must be served is not"
    for text in elements(play.case.expect.get("text_absent")):
        if text in served:
            yield "a text that must not be served is"


def text_of(window: Window) -> str:
    """Write what a window serves, as it would be sent."""
    return json.dumps(window.messages, ensure_ascii=False)


def _refusals(play: Play) -> Iterator[str]:
    """A refusal names the calls that the case says it names."""
    lines = [line for line in elements(play.case.expect.get("must")) if "names" in line]
    named = {
        call for line in lines for call in _ids(play.case.input) if re.search(rf"\b{re.escape(call)}\b", line)
    }
    for ran in play.ran:
        if ran.outcome == REFUSED and ran.step.do in WINDOWS:
            for call in named:
                if call not in str(ran.error):
                    yield f"{ran.step.do}: the refusal does not name {call}"


def _ids(value: Any) -> Set[str]:
    """Collect the ids of calls anywhere in an input."""
    own = members(value)
    found = {str(own[name]) for name in ("id", "call_id", "toolCallId") if isinstance(own.get(name), str)}
    return found.union(*(_ids(part) for part in (*own.values(), *elements(value))))


def _originals(play: Play) -> Iterator[str]:
    """X9: whatever was served, what is stored is still there as it came; after a refused beginning nothing is."""
    is_over = any(ran.step.do == "delete_conversation" and ran.outcome == OK for ran in play.ran)
    if "tenants" in play.case.input or is_over or play.case.is_clocked:
        return
    found = play.session().read()
    kept = {item.id: item.message for item in found.items} if found is not None else {}
    if play.ran[0].outcome != OK:
        yield from _nothing_kept(play, kept)
    elif kept != play.own:
        yield f"X9: {len(kept)} messages are stored, where {len(play.own)} came, or one is not as it came"


def _nothing_kept(play: Play, kept: Collection[str]) -> Iterator[str]:
    if kept:
        yield "a refused append has stored something"
    valid: Message = {"role": "user", "content": "Once more."}
    try:
        play.session().append([valid])
    except LastroError as error:
        yield f"after a refused append the next one is refused: {error.code}"
