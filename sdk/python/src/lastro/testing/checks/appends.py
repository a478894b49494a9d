"""What is appended: messages as they are, keys, bad items, opaque records."""

from typing import Any

from lastro.history.contract import View
from lastro.history.errors import DecisionHistoryConflict, DecisionHistoryMessageInvalid
from lastro.history.records import Message, NewItem, Outcome
from lastro.history.stores.appends import removal
from lastro.testing.checks.sessions import said
from lastro.testing.uses import Use, refused, same

ODD: tuple[Message, ...] = (
    {},
    {"z": 1, "a": 2, "m": {"y": [], "b": {}}},
    {"numbers": [0, -0.0, 1.0, 1e300, 2**80, 0.1 + 0.2], "words": [True, False, None]},
    {"text": "e\u0301 é \U0001f469\u200d\U0001f469 \u2028 \x00 \x1f \ufeff \ufffe", "": "no name"},
    {"opaque": {"signature": "A+/=" * 50, "encrypted_content": 'gAAAA\\\\\\"'}},
)


def bad_items() -> list[tuple[str, Any]]:
    """Give what no store keeps, and why."""
    nested: Message = {}
    for _ in range(3000):
        nested = {"inner": nested}
    return [
        ("a list is no message", NewItem([])),  # type: ignore[arg-type]
        ("nor is a text", NewItem("text")),  # type: ignore[arg-type]
        ("nor is nothing", NewItem(None)),  # type: ignore[arg-type]
        ("a lone surrogate", NewItem({"text": "\ud83d"})),
        ("a lone surrogate in a name", NewItem({"\ud83d": 1})),
        ("a number that is none", NewItem({"number": float("nan")})),
        ("a number without end", NewItem({"number": float("inf")})),
        ("a name that is a number", NewItem({1: "one"})),  # type: ignore[dict-item]
        ("a tuple comes back as a list", NewItem({"pair": (1, 2)})),
        ("a set", NewItem({"set": {1}})),
        ("bytes", NewItem({"bytes": b"x"})),
        ("nested without end", NewItem(nested)),
        ("an id that is used", NewItem({}, id="first")),
        ("an id that cannot be written", NewItem({}, id="\ud83d")),
        ("an id that is too long", NewItem({}, id="x" * 201)),
        ("a key that is too long", NewItem({}, key="x" * 201)),
        ("a parent that is not there", NewItem({}, parent="nowhere")),
        ("a parent that is no message", NewItem({}, parent="beside")),
        ("a kind that is none", NewItem({}, kind="other")),  # type: ignore[arg-type]
        ("an end that is no time", NewItem({}, expires_at=float("nan"))),
        ("a beginning that is no time", NewItem({}, recorded_at=float("inf"))),
        ("a removal of nothing", NewItem({}, kind="removal")),
        ("a removal of no name", NewItem({"removes": [1]}, kind="removal")),
    ]


def message_comes_back_as_it_was(use: Use) -> None:
    """X3, X6: what is stored comes back deep-equal, the order of its members and the kind of its numbers included."""
    store, key = use.store(), use.key("odd")
    use.append(store, key, *ODD)
    same([repr(message) for message in use.messages(store, key)], [repr(message) for message in ODD])


def bad_items_are_refused_whole(use: Use) -> None:
    """HI-3: an item that cannot be kept is refused, with every item beside it; without it they are stored."""
    store, key = use.store(), use.key("bad")
    use.append(store, key, NewItem({}, id="first"), NewItem({}, id="beside", kind="opaque"))
    before = use.read(store, key)
    for why, item in bad_items():
        with refused(DecisionHistoryMessageInvalid) as refusal:
            use.append(store, key, NewItem({"why": why}), item)
        same(refusal.error.pointer[:9], "/append/1", why)
        same(use.read(store, key), before, why)
    use.append(store, key, {"why": "without it"})
    same(use.messages(store, key)[-1], {"why": "without it"})


def same_key_stores_nothing(use: Use) -> None:
    """HI-21, O14: a second append under a key stores nothing, also as a part of a larger append."""
    store, key = use.store(), use.key("key")
    run = [NewItem(said(text), key="run-1") for text in ("1", "2")]
    use.append(store, key, *run)
    before = use.read(store, key)
    use.append(store, key, *run)
    use.append(store, key, NewItem({"content": "1", "role": "user"}, key="run-1"), run[1])
    same(use.read(store, key), before, "nothing changed, the idle time neither")
    use.append(store, key, *run, NewItem(said("3"), key="run-2"))
    same(use.messages(store, key), [said("1"), said("2"), said("3")])
    use.append(store, key, said("3"))
    same(use.messages(store, key)[2:], [said("3")] * 2, "equal messages without a key may repeat")


def same_key_with_other_messages_is_refused(use: Use) -> None:
    """HI-21: a key that was used for other messages is a conflict, and nothing of the append is stored."""
    store, key = use.store(), use.key("conflict")
    use.append(store, key, NewItem(said("1"), key="run-1"), NewItem(said("2"), key="run-1"))
    before = use.read(store, key)
    others = (["1"], ["2", "1"], ["1", "2", "3"], ["1", "other"], ["other"])
    for texts in others:
        with refused(DecisionHistoryConflict):
            use.append(store, key, said("new"), *(NewItem(said(text), key="run-1") for text in texts))
    with refused(DecisionHistoryConflict):
        use.append(store, key, *(NewItem({"n": n}, key="run-1") for n in (1, True)))
    same(use.read(store, key), before)


def known_gives_the_first_answer(use: Use) -> None:
    """HI-21: an operation can ask for what a key stored, to answer the same again."""
    store, key = use.store(), use.key("known")
    use.append(store, key, said("0"), *(NewItem(said(text), key="run-1") for text in ("1", "2")), said("3"))

    def known(view: View | None) -> Outcome[list[Message]]:
        found = [item.message for item in view.known("run-1")] if view else []
        return Outcome(found + [item.message for item in view.known("other")] if view else [])

    same(use.transact(store, key, known), [said("1"), said("2")])


def opaque_items_are_listed_and_taken_back(use: Use) -> None:
    """HI-25: opaque records are listed and taken back by a record of its own; they are no part of the messages."""
    store, key = use.store(), use.key("opaque")
    use.append(store, key, said("1"))
    use.append(store, key, *(NewItem({"n": n}, id=f"o{n}", kind="opaque") for n in range(40)))
    use.append(store, key, said("2"))
    same(len(use.path(store, key)), 2, "the path has messages only")
    use.append(store, key, removal(["o39", "o3"]))
    left = [{"n": n} for n in range(39) if n != 3]
    same(use.opaque(store, key), left[::-1])
    same([m for m in use.messages(store, key) if "n" in m], left)
    use.append(store, key, removal(["o38"]), NewItem({"n": 40}, kind="opaque"))
    same(use.opaque(store, key)[:2], [{"n": 40}, {"n": 37}])
    same([m for m in use.messages(store, key) if "role" in m], [said("1"), said("2")])


def clear_takes_all_that_was_there(use: Use) -> None:
    """HI-25: a removal of all takes what was there before it, and nothing after it."""
    store, key = use.store(), use.key("clear")
    use.append(store, key, NewItem({"n": 1}, kind="opaque"), NewItem({"n": 2}, kind="opaque"), said("1"))
    use.append(store, key, removal())
    same(use.opaque(store, key), [])
    use.append(store, key, NewItem({"n": 3}, kind="opaque"))
    same(use.opaque(store, key), [{"n": 3}])
    same([m for m in use.messages(store, key) if "removes" not in m], [said("1"), {"n": 3}])
