"""The acts of a case, by their names in the file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lastro.history.errors import (
    DecisionHistoryError,
    DecisionHistoryNotFound,
    DecisionHistoryReservationLost,
)
from lastro.history.formats import opens_turn, results_of
from lastro.history.records import NewItem
from lastro.history.sessions import Session
from lastro.history.windows import Limits
from lastro.testing.cases.case import Step, elements, item_id, members
from lastro.testing.cases.counting import counted
from lastro.testing.cases.deciding import Running
from lastro.testing.cases.play import Act, Play, Ran, is_provisional, items_of, store_until
from lastro.testing.cases.summaries import given_summaries, gone_from, keep_summary, try_summary

FOREIGN = "id-of-"
BRINGS = ("message", "messages", "from", "output", "outputs", "node")


def _at(play: Play, step: Step) -> Ran:
    """Let the time come that a step names, or so many seconds pass; what is due is purged at the next access."""
    now = _time_of(play, step)
    if now is not None:
        store_until(play, now)
        play.stage.clock.time = now
    if "summary" in play.case.input and not any(ran.step.do == "at" for ran in play.ran):
        keep_summary(play, play.session(), [play.case.input["summary"]])
    return Ran(step, "ok")


def _time_of(play: Play, step: Step) -> float | None:
    named, passed = step.word("time", "at", "now", "to"), step.word("seconds", "by", "for")
    if named:
        return float(named)
    return (play.stage.clock.time or 0.0) + float(passed) if passed else None


def _append(play: Play, step: Step) -> Ran:
    session, items = _session(play, step), _items(play, step)
    create = "conversation" not in step.members
    if step.expected == "refused" and _are_results(play, items):
        session.observe([item.message for item in items], key=step.word("key"))
    play.append(session, items, key=step.word("key"), create=create)
    return Ran(step, "ok")


def _are_results(play: Play, items: Sequence[NewItem]) -> bool:
    """Tell whether a step brings results: one that nobody asked for is refused where the runtime reports it."""
    return bool(items) and all(results_of(play.case.provider, item.message) for item in items)


def _window(play: Play, step: Step) -> Ran:
    session, args = _session(play, step), step.args
    limits = Limits(int(args.get("maxMessages", 128)), int(args.get("maxBytes", 262_144)))
    given = given_summaries(play, args.get("summary", step.members.get("summary")))
    keep_summary(play, session, given, limits=limits)
    leaf = _name(step.members.get("leaf"))
    window = session.window(leaf=leaf, limits=limits)
    gone = gone_from(play, session, window, leaf=leaf)
    return Ran(step, "ok", window=window, path=play.path_to(session, leaf), gone=gone)


def _load_window(play: Play, step: Step) -> Ran:
    play.stage.close()
    return _window(play, step)


def _restart(play: Play, step: Step) -> Ran:
    play.stage.close()
    return Ran(step, "ok")


def _begin(play: Play, step: Step) -> Ran:
    worker = _worker(step)
    create = "conversation" not in step.members
    session = _session(play, step, worker=worker)
    running = Running(session, provider=play.case.provider, create=create)
    play.running[worker] = running
    return Ran(step, "ok", window=running.window, path=play.path_to(session))


def _commit(play: Play, step: Step) -> Ran:
    worker, running = _worker(step), play.running.pop(_worker(step), None)
    if running is None:
        raise DecisionHistoryReservationLost("this worker decides nothing")
    given = (
        _given(play, step) if _brings(step) else members(play.case.input.get("worker_outputs")).get(worker)
    )
    items = items_of(elements(given) or ([given] if given else []), label=worker)
    running.commit(items)
    for item in items:
        play.note(_session(play, step), item.id, item.message)
    return Ran(step, "ok")


def _abort(play: Play, step: Step) -> Ran:
    running = play.running.pop(_worker(step), None)
    if running is None:
        raise DecisionHistoryReservationLost("this worker decides nothing")
    running.end()
    return Ran(step, "ok")


def _decide(play: Play, step: Step) -> Ran:
    begun = _begin(play, step)
    _commit(play, step)
    return begun


def _crash(play: Play, step: Step) -> Ran:
    play.stage.crash(play.conversation_of(""), worker=_worker(step))
    return Ran(step, "ok")


def _recover(play: Play, step: Step) -> Ran:
    _session(play, step).recover(worker_stopped=bool(step.args.get("workerStopped")))
    return Ran(step, "ok")


def _fork(play: Play, step: Step) -> Ran:
    session = _session(play, step)
    at = _name(step.members.get("at", step.members.get("leaf"))) or _last_input(play, session)
    tenant = step.word("as") if "tenants" in play.case.input else ""
    label = step.word("to", "into", "new", "name") or f"{step.word('conversation')}, from {at}"
    other = play.session(tenant=tenant, conversation=label)
    session.fork(other, at=at)
    play.leaves[other.key.digest] = at
    try:
        return Ran(step, "ok", window=other.window(), path=play.path_to(other, at))
    except DecisionHistoryError:
        return Ran(step, "ok")


def _last_input(play: Play, session: Session) -> str:
    """Name the last thing that a user said, which an answer is given to anew."""
    path = play.path_to(session)
    return next(name for name in reversed(path) if opens_turn(play.case.provider, play.stored[name]))


def _delete(play: Play, step: Step) -> Ran:
    session = _session(play, step)
    session.delete()
    session.delete()
    return Ran(step, "ok")


def _read(play: Play, step: Step) -> Ran:
    found = _session(play, step).read()
    if found is None:
        raise DecisionHistoryNotFound
    return Ran(step, "ok", snapshot=found)


def _summarize(play: Play, step: Step) -> Ran:
    """Keep one summary: the one that the step brings or numbers, else the next attempt of the input."""
    attempts = elements(play.case.input.get("summary_attempts"))
    before = sum(ran.step.do == "summarize" for ran in play.ran)
    number = int(step.word("attempt", "index") or before)
    brings = any(name in step.members for name in ("summary", "text"))
    given = (
        given_summaries(play, step.members.get("summary", step.members)) if brings else attempts[number:][:1]
    )
    try_summary(play, _session(play, step), given)
    return Ran(step, "ok")


def _not_executed(play: Play, step: Step) -> Ran:
    session = _session(play, step)
    named = step.members.get("calls", step.members.get("call", step.members.get("call_id")))
    calls = [str(name) for name in elements(named) or [named]]
    for name in session.not_executed(calls):
        found = session.read()
        items = found.items if found is not None else ()
        play.note(session, name, next(item.message for item in items if item.id == name))
    return Ran(step, "ok")


def _reserve(play: Play, step: Step) -> Ran:
    return Ran(step, "ok", value=counted(play.case, step))


ACTS: Mapping[str, Act] = {
    "window": _window,
    "store_load_window": _load_window,
    "at": _at,
    "append": _append,
    "decide_begin": _begin,
    "decide_commit": _commit,
    "decide_abort": _abort,
    "decide": _decide,
    "crash": _crash,
    "restart": _restart,
    "recover": _recover,
    "fork": _fork,
    "delete_conversation": _delete,
    "read_originals": _read,
    "summarize": _summarize,
    "not_executed": _not_executed,
    "reserve": _reserve,
}


def _session(play: Play, step: Step, *, worker: str = "") -> Session:
    tenant = step.word("as", "tenant") if "tenants" in play.case.input else ""
    conversation = step.word("conversation", "session")
    if conversation.startswith(FOREIGN):
        owner = conversation.removeprefix(FOREIGN)
        conversation = play.session(tenant=owner).key.digest
    return play.session(tenant=tenant, conversation=conversation, worker=worker)


def _worker(step: Step) -> str:
    return step.word("worker", "by", "tab", "as")


def _name(given: Any) -> str:
    """Name an item by its id, or by its place among the given messages."""
    return item_id(given) if isinstance(given, int) else str(given or "")


def _brings(step: Step) -> bool:
    return any(name in step.members for name in BRINGS)


def _given(play: Play, step: Step) -> Any:
    """Give what a step brings: as it is, or by the name of a member of the input."""
    given = next((step.members[name] for name in BRINGS if name in step.members), None)
    if given is None:
        given = next((name for name in ("late", "later") if name in play.case.input), "")
    return play.case.input[given.removeprefix("input.")] if isinstance(given, str) else given


def _items(play: Play, step: Step) -> Sequence[NewItem]:
    """Give what a step stores: given messages by their places, or what it brings; and where it is to hang."""
    indices = step.members.get("indices", [step.members["index"]] if "index" in step.members else None)
    if indices is not None:
        items = [NewItem(play.case.given[item_id(index)], id=item_id(index)) for index in indices]
    else:
        found = _given(play, step)
        items = list(items_of(elements(found) or [found], label=f"step{len(play.ran)}"))
    ids = elements(step.members.get("ids")) or ([step.members["id"]] if "id" in step.members else [])
    keys = elements(step.members.get("keys"))
    named = [replace(item, id=str(name)) for item, name in zip(items, ids, strict=False)]
    items = [*named, *items[len(named) :]]
    keyed = [replace(item, key=str(key)) for item, key in zip(items, keys, strict=False)]
    items = [*keyed, *items[len(keyed) :]]
    parent = _name(step.members.get("parent", step.members.get("leaf", step.members.get("after"))))
    provisional = bool(step.members.get("provisional"))
    return [
        replace(
            item,
            parent=parent if not place else "",
            provisional=provisional or is_provisional(play.case, item.id),
        )
        for place, item in enumerate(items)
    ]
