"""Sessions as a whole: made, saved, read, deleted."""

from collections.abc import Callable
from typing import Any

from lastro.history.contract import View
from lastro.history.errors import DecisionHistoryNotFound
from lastro.history.records import Head, NewItem, Outcome, Pins, Summary
from lastro.testing.uses import Use, hold, refused, same

PINS = Pins("openai.chat", "model-1", "structured", "opaque_refs")
SUMMARY = Summary("They spoke of cats.", covers=2, digest="d" * 64, through="a1")


def said(text: str, role: str = "user") -> dict[str, Any]:
    """Give a message."""
    return {"role": role, "content": text}


def failing(error: BaseException) -> Callable[[View | None], Outcome[None]]:
    """Give an operation that raises."""

    def operation(_: View | None) -> Outcome[None]:
        raise error

    return operation


def telling(ran: list[str]) -> Callable[[View | None], Outcome[None]]:
    """Give an operation that tells that it ran."""

    def operation(_: View | None) -> Outcome[None]:
        ran.append("ran")
        return Outcome(None)

    return operation


def order_is_kept(use: Use) -> None:
    """HI-3: what is appended is saved behind what was there, in its order."""
    store, key = use.store(), use.key("order")
    use.append(store, key, said("1"), said("2"))
    use.append(store, key, said("3"))
    same(use.messages(store, key), [said("1"), said("2"), said("3")])
    positions = [item.position for item in use.items(store, key)]
    hold(positions == sorted(set(positions)), "positions rise")
    same(use.path(store, key), [item.id for item in use.items(store, key)][::-1])


def nothing_given_makes_no_session(use: Use) -> None:
    """HI-3: an outcome without items and head changes nothing, and makes no session."""
    store, key = use.store(), use.key("nothing")
    same(use.transact(store, key, lambda _: Outcome("answer")), "answer")
    same(use.read(store, key), None)


def view_of_new_session_is_none(use: Use) -> None:
    """HI-3: the operation gets a view of the record, or none."""
    store, key = use.store(), use.key("new")
    same(use.transact(store, key, lambda view: Outcome(view is None)), True)
    use.append(store, key, said("1"))
    same(use.transact(store, key, lambda view: Outcome(view is None)), False)


def exception_leaves_old_record(use: Use) -> None:
    """HI-3: an exception of the operation leaves the record as it was, and the session free."""
    store, key = use.store(), use.key("error")
    with refused(ZeroDivisionError):
        use.transact(store, key, failing(ZeroDivisionError()))
    same(use.read(store, key), None)
    use.append(store, key, said("1"))
    before = use.read(store, key)
    with refused(ZeroDivisionError):
        use.transact(store, key, failing(ZeroDivisionError()))
    same(use.read(store, key), before)
    use.append(store, key, said("2"))
    same(use.messages(store, key), [said("1"), said("2")])


def interrupt_leaves_old_record(use: Use) -> None:
    """HI-3: so does an exception that is no Exception, as a cancellation is."""

    class Interrupted(BaseException):
        pass

    store, key = use.store(), use.key("interrupt")
    use.append(store, key, said("1"))
    with refused(Interrupted):
        use.transact(store, key, failing(Interrupted()))
    use.append(store, key, said("2"))
    same(use.messages(store, key), [said("1"), said("2")])


def unknown_is_not_made_without_create(use: Use) -> None:
    """X11: an unknown session, a deleted one and another namespace's are refused alike, and no operation runs."""
    store, ran = use.store(), list[str]()
    use.append(store, use.key("theirs", namespace="other"), said("1"))
    use.append(store, use.key("gone"), said("1"))
    use.delete(store, use.key("gone"))
    for name in ("unknown", "theirs", "gone"):
        with refused(DecisionHistoryNotFound) as refusal:
            use.transact(store, use.key(name), telling(ran), create=False)
        same(str(refusal.error), str(DecisionHistoryNotFound()))
    same(ran, [])
    use.append(store, use.key("theirs", namespace="other"), said("2"))


def namespaces_never_meet(use: Use) -> None:
    """HI-2: the same id in another namespace is another session."""
    store = use.store()
    mine, theirs = use.key("one", namespace="mine"), use.key("one", namespace="theirs")
    use.append(store, mine, said("mine"))
    same(use.read(store, theirs), None)
    use.append(store, theirs, said("theirs"))
    use.delete(store, theirs)
    same(use.messages(store, mine), [said("mine")])


def snapshot_is_detached(use: Use) -> None:
    """HI-6: changing what was read changes nothing that is stored."""
    store, key = use.store(), use.key("detached")
    use.append(store, key, said("1"))
    use.items(store, key)[0].message["content"] = "changed"

    def changing(view: View | None) -> Outcome[None]:
        for item in view.backwards(view.head.leaf) if view else ():
            item.message["content"] = "changed"
        return Outcome(None)

    use.transact(store, key, changing)
    same(use.messages(store, key), [said("1")])


def given_message_is_detached(use: Use) -> None:
    """HI-3: changing a message after it was given changes nothing that is stored."""
    store, key = use.store(), use.key("given")
    message = said("1")
    use.append(store, key, message)
    message["content"] = "changed"
    same(use.messages(store, key), [said("1")])


def delete_is_idempotent(use: Use) -> None:
    """HI-6: deleting removes a session, and once more is no error."""
    store, key = use.store(), use.key("deleted")
    use.delete(store, key)
    use.append(store, key, said("1"))
    use.delete(store, key)
    use.delete(store, key)
    same(use.read(store, key), None)
    use.append(store, key, said("2"))
    same(use.messages(store, key), [said("2")])


def head_is_kept(use: Use) -> None:
    """HI-1, HI-22: what an operation puts in the head is there for the next one: pins, summary, names."""
    store, key = use.store(), use.key("head")
    head = use.named(Head(pins=PINS, summary=SUMMARY))
    use.transact(store, key, lambda _: Outcome(None, (NewItem(said("1")),), head))
    use.append(store, key, said("2"))
    read = use.read(store, key)
    same(named(use.transact(store, key, lambda view: Outcome(view.head if view else None))), named(head))
    same(named(read.head if read else None), named(head))


def named(head: Head | None) -> tuple[object, ...]:
    """Give what an operation may put in a head."""
    return (head.pins, head.summary, head.conversation, head.subject) if head else ()


def counts_are_the_stores(use: Use) -> None:
    """HI-3: count, bytes of compact UTF-8 JSON and leaf are brought up to date, whatever an operation puts there."""
    store, key = use.store(), use.key("counts")
    wrong = Head(count=99, bytes=1, leaf="nowhere")
    use.transact(store, key, lambda _: Outcome(None, (NewItem({"a": "é"}, id="one"),), wrong))
    use.transact(store, key, lambda _: Outcome(None, (NewItem({"b": [1, 2]}, id="two"),), wrong))
    snapshot = use.read(store, key)
    head = snapshot.head if snapshot else Head()
    same((head.count, head.bytes, head.leaf), (2, len('{"a":"é"}'.encode()) + len('{"b":[1,2]}'), "two"))
