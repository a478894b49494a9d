"""The facts of a case: values that are compared, each by the name it has in the file."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lastro.errors import LastroError
from lastro.history.formats import FORMATS
from lastro.history.records import Item
from lastro.history.summaries import summary_message
from lastro.history.windows import Window
from lastro.testing.cases.case import elements, item_id, members
from lastro.testing.cases.counting import Counted
from lastro.testing.cases.play import Play

Fact = Callable[[Play, Any], bool]


def failing_facts(play: Play) -> Iterator[str]:
    """Name the facts that do not hold; a refused beginning has none."""
    if play.ran[0].outcome != "ok":
        return
    for name, expected in play.case.facts.items():
        fact = FACTS.get(name)
        if fact is not None and not fact(play, expected):
            yield f"the fact {name} does not hold"


def unknown_facts(names: Sequence[str]) -> Sequence[str]:
    """Name the facts that nobody here can compare."""
    return [name for name in names if name not in FACTS]


def _stored_items(play: Play) -> Sequence[Item]:
    found = play.session().read()
    return found.items if found is not None else ()


def _retained(play: Play, indices: Sequence[int]) -> bool:
    names = {item.id for item in _stored_items(play)}
    return all(item_id(index) in names for index in indices)


def _retained_text(play: Play, texts: Sequence[str]) -> bool:
    written = _written([item.message for item in _stored_items(play)])
    return all(text in written for text in texts)


def _not_removed(play: Play, index: int) -> bool:
    """Of what leaves the windows for good, which a summary would stand for, an open call is no part."""
    return all(item_id(index) not in gone for ran in play.ran if (gone := ran.gone) is not None)


def _stored_count(play: Play, count: int) -> bool:
    return len(_stored_items(play)) == count


def _stored_order(play: Play, indices: Sequence[int]) -> bool:
    return [item.id for item in _stored_items(play)] == [item_id(index) for index in indices]


def _stored_calls(play: Play, calls: Sequence[str]) -> bool:
    form = FORMATS[play.case.provider]
    return [call.id for item in _stored_items(play) for call in form.read(item.message).calls] == list(calls)


def _last_window(play: Play) -> Window | None:
    return next((ran.window for ran in reversed(play.ran) if ran.window is not None), None)


def _summary_places(play: Play) -> Sequence[int]:
    window = _last_window(play)
    if window is None or window.summary is None:
        return []
    wanted = summary_message(window.summary, FORMATS[play.case.provider])
    return [place for place, message in enumerate(window.messages) if message == wanted]


def _summary_role(play: Play, role: str) -> bool:
    window = _last_window(play)
    return window is not None and all(
        window.messages[place].get("role") == role for place in _summary_places(play)
    )


def _summary_count(play: Play, counts: Sequence[int]) -> bool:
    window = _last_window(play)
    return window is not None and window.summary is not None and window.summary.covers in counts


def _summary_digest(play: Play, is_there: Any) -> bool:
    window = _last_window(play)
    has = (
        window is not None
        and window.summary is not None
        and all(window.summary.digest in _written(window.messages[place]) for place in _summary_places(play))
    )
    return bool(has == is_there)


def _system_unchanged(play: Play, is_so: Any) -> bool:
    window, form = _last_window(play), FORMATS[play.case.provider]
    if window is None:
        return False
    stored = [message for message in play.stored.values() if form.read(message).role == "instruction"]
    served = [message for message in window.messages if form.read(message).role == "instruction"]
    return bool((stored == served) == is_so)


def _second_window(play: Play, texts: Sequence[str]) -> bool:
    window = _last_window(play)
    return window is not None and all(text in _written(window.messages) for text in texts)


def _kept_reservation(play: Play, is_so: Any) -> bool:
    before = [ran.outcome for ran in play.ran if ran.step.do == "decide_begin"]
    return bool((bool(before) and all(outcome == "busy" for outcome in before)) == is_so)


def _after_window(number: int) -> Fact:
    def holds(play: Play, expected: Mapping[str, Any]) -> bool:
        windows = [ran.window for ran in play.ran if ran.step.do == "window" and ran.window is not None]
        if len(windows) <= number:
            return False
        window = windows[number]
        same = [name for name in window.items if name] == [item_id(index) for index in expected["indices"]]
        absent = all(text not in _written(window.messages) for text in elements(expected.get("text_absent")))
        return same and absent and ("summary" not in expected or window.summary == expected["summary"])

    return holds


def _absent_after_delete(play: Play, texts: Sequence[str]) -> bool:
    found = play.session().read()
    written = _written([item.message for item in found.items] if found is not None else [])
    return all(text not in written for text in texts)


def _window_ids(play: Play, ids: Sequence[str]) -> bool:
    windows = [ran.window for ran in play.ran if ran.window is not None]
    return bool(windows) and all(list(window.items) == list(ids) for window in windows)


def _siblings(play: Play, ids: Sequence[str]) -> bool:
    """Of an answer that is given anew, the older ones are its siblings: readable, and behind the same message."""
    forked = next(ran.step for ran in play.ran if ran.step.do == "fork")
    point = forked.word("at", "leaf") or play.path_to(play.session())[-2]
    return [item.id for item in _stored_items(play) if item.parent == point] == list(ids)


def _same_refusal(play: Play, is_so: Any) -> bool:
    refusals = {(type(ran.error), str(ran.error)) for ran in play.ran if ran.outcome == "not_found"}
    return bool((len(refusals) == 1) == is_so)


def _is_free(play: Play, is_so: Any) -> bool:
    try:
        for tenant in members(play.case.input.get("tenants")):
            play.session(tenant=tenant).window()
    except LastroError:
        return not is_so
    return bool(is_so)


def _unique_items(play: Play, is_so: Any) -> bool:
    """No window serves two items under one id of their server (`id` of an item of Responses)."""
    form = FORMATS[play.case.provider]
    for ran in play.ran:
        messages = ran.window.messages if ran.window is not None else ()
        names = [name for message in messages if (name := form.item_id(message))]
        if len(set(names)) < len(names):
            return not is_so
    return bool(is_so)


def _open_calls(number: int) -> Fact:
    def holds(play: Play, calls: Sequence[str]) -> bool:
        windows = [ran.window for ran in play.ran if ran.window is not None]
        return len(windows) > number and list(windows[number].open_calls) == list(calls)

    return holds


def _counter_saw(play: Play, texts: Sequence[str]) -> bool:
    seen = [ran.value.text for ran in play.ran if isinstance(ran.value, Counted)]
    return all(text in seen[-1] for text in texts) if seen else False


def _reserved(play: Play, tokens: int) -> bool:
    return [ran.value.reserved for ran in play.ran if isinstance(ran.value, Counted)][-1:] == [tokens]


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


FACTS: Mapping[str, Fact] = {
    "retained_contains_index": lambda play, index: _retained(play, [index]),
    "retained_contains_indices": _retained,
    "retained_contains": _retained_text,
    "removed_or_summarised_excludes_index": _not_removed,
    "stored_count": _stored_count,
    "stored_order": _stored_order,
    "stored_calls": _stored_calls,
    "summary_role": _summary_role,
    "summary_count_any_of": _summary_count,
    "summary_has_digest": _summary_digest,
    "summaries_in_window": lambda play, count: len(_summary_places(play)) == count,
    "system_unchanged": _system_unchanged,
    "w2_second_window_contains": _second_window,
    "reservation_kept_until_recover": _kept_reservation,
    "after_first_window": _after_window(0),
    "after_second_window": _after_window(1),
    "after_third_window": _after_window(2),
    "after_delete_text_absent": _absent_after_delete,
    "window_ids": _window_ids,
    "unique_item_ids": _unique_items,
    "open_after_first_window": _open_calls(0),
    "open_after_second_window": _open_calls(1),
    "siblings_of_new_answer": _siblings,
    "same_error_for_foreign_and_unknown": _same_refusal,
    "t1_not_busy_after": _is_free,
    "counter_saw": _counter_saw,
    "reserve_tokens": _reserved,
}
