"""The acts of a case, by their names in the file."""

from collections.abc import Mapping, Sequence
from typing import Any

from lastro.history.errors import DecisionHistoryNotFound
from lastro.history.records import Message
from lastro.history.sessions import Session
from lastro.history.windows import Limits
from lastro.testing.cases.case import Step, elements, item_id, members
from lastro.testing.cases.counting import counted
from lastro.testing.cases.deciding import Running
from lastro.testing.cases.play import Act, Play, Ran, store_until
from lastro.testing.cases.summaries import gone_from, keep_summary

FOREIGN = "id-of-"


def _at(play: Play, step: Step) -> Ran:
    now = float(step.members["time"])
    store_until(play, now)
    play.stage.clock.time = now
    if "summary" in play.case.input and not any(ran.step.do == "at" for ran in play.ran):
        keep_summary(play, play.session(), [play.case.input["summary"]])
    return Ran(step, "ok")


def _append(play: Play, step: Step) -> Ran:
    play.append(
        _session(play, step),
        _messages(play, step),
        key=str(step.members.get("key") or ""),
        create="conversation" not in step.members,
    )
    return Ran(step, "ok")


def _window(play: Play, step: Step) -> Ran:
    session, args = _session(play, step), step.args
    limits = Limits(int(args.get("maxMessages", 128)), int(args.get("maxBytes", 262_144)))
    keep_summary(play, session, _given(play, args.get("summary")), limits=limits)
    leaf = str(step.members.get("leaf") or "")
    window = session.window(leaf=leaf, limits=limits)
    return Ran(
        step, "ok", window=window, path=play.path_to(leaf), gone=gone_from(play, session, window, leaf=leaf)
    )


def _load_window(play: Play, step: Step) -> Ran:
    play.stage.close()
    return _window(play, step)


def _begin(play: Play, step: Step) -> Ran:
    worker = str(step.members.get("worker") or step.members.get("as") or "")
    create = "conversation" not in step.members
    session = _session(play, step, worker=worker)
    running = play.running[worker] = Running(session, provider=play.case.provider, create=create)
    return Ran(step, "ok", window=running.window, path=play.path_to())


def _commit(play: Play, step: Step) -> Ran:
    worker = str(step.members["worker"])
    outputs: Sequence[Message] = elements(members(play.case.input.get("worker_outputs")).get(worker))
    messages = {f"{worker}-{index}": message for index, message in enumerate(outputs)}
    play.running.pop(worker).commit(messages)
    for name, message in messages.items():
        play.note(name, message)
    return Ran(step, "ok")


def _abort(play: Play, step: Step) -> Ran:
    play.running.pop(str(step.members["worker"])).end()
    return Ran(step, "ok")


def _crash(play: Play, step: Step) -> Ran:
    play.stage.crash(play.conversation_of(""), worker=str(step.members.get("worker") or ""))
    return Ran(step, "ok")


def _recover(play: Play, step: Step) -> Ran:
    _session(play, step).recover(worker_stopped=bool(step.args.get("workerStopped")))
    return Ran(step, "ok")


def _fork(play: Play, step: Step) -> Ran:
    at = str(step.members["at"])
    other = play.session(conversation=f"{play.conversation_of('')}, from {at}")
    play.session().fork(other, at=at)
    return Ran(step, "ok", window=other.window(), path=play.path_to(at))


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


def _reserve(play: Play, step: Step) -> Ran:
    return Ran(step, "ok", value=counted(play.case, step))


ACTS: Mapping[str, Act] = {
    "window": _window,
    "store_load_window": _load_window,
    "at": _at,
    "append": _append,
    "append_all": _append,
    "decide_begin": _begin,
    "decide_commit": _commit,
    "decide_abort": _abort,
    "crash": _crash,
    "recover": _recover,
    "fork": _fork,
    "delete_conversation": _delete,
    "read_originals": _read,
    "reserve": _reserve,
}


def _session(play: Play, step: Step, *, worker: str = "") -> Session:
    tenant = str(step.members.get("as") or "")
    conversation = str(step.members.get("conversation") or "")
    if conversation.startswith(FOREIGN):
        owner = conversation.removeprefix(FOREIGN)
        conversation = play.session(tenant=owner).key.digest
    return play.session(tenant=tenant, conversation=conversation, worker=worker)


def _given(play: Play, named: Any) -> Sequence[Mapping[str, Any]]:
    """Give the summaries that a step brings, in the order in which a host would try them."""
    found = play.case.input[named.removeprefix("input.")] if isinstance(named, str) else named
    return elements(found) or ([members(found)] if found else [])


def _messages(play: Play, step: Step) -> Mapping[str, Message]:
    """Give the messages that a step stores: by their places, by the name of a member of the input, or as they are."""
    if "indices" in step.members:
        return {item_id(index): play.case.given[item_id(index)] for index in step.members["indices"]}
    given = step.members.get("message", step.members.get("messages", step.members.get("from")))
    label = given.removeprefix("input.") if isinstance(given, str) else f"step{len(play.ran)}"
    found = play.case.input[label] if isinstance(given, str) else given
    listed = elements(found) or [found]
    return {f"{label}-{index}": message for index, message in enumerate(listed)}
