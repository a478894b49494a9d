"""Branches, forks and the way back from a leaf (HI-21, X12)."""

from itertools import islice

from lastro.history.contract import View
from lastro.history.errors import (
    DecisionHistoryConflict,
    DecisionHistoryMismatch,
    DecisionHistoryNotFound,
)
from lastro.history.records import Head, NewItem, Outcome
from lastro.testing.checks.sessions import PINS, SUMMARY, said
from lastro.testing.uses import Use, refused, same

CATS = (
    NewItem(said("Suggest a name for a cat."), id="u1"),
    NewItem(said("Miso.", "assistant"), id="a1"),
    NewItem(said("Another one."), id="u2"),
    NewItem(said("Pepper.", "assistant"), id="a2"),
)


def path_ends_at_the_leaf(use: Use) -> None:
    """X12, O26: only what is on the way from the root to the chosen leaf is given."""
    store, key = use.store(), use.key("branch")
    use.append(store, key, *CATS)
    same(use.path(store, key, "u2"), ["u2", "a1", "u1"])
    use.append(store, key, NewItem(said("Olive.", "assistant"), id="b2", parent="u2"))
    use.append(store, key, NewItem(said("Good."), id="b3"))
    same(use.path(store, key), ["b3", "b2", "u2", "a1", "u1"], "the leaf is what was appended last")
    same(use.path(store, key, "a2"), ["a2", "u2", "a1", "u1"])
    same(use.path(store, key, "nowhere"), [])


def sibling_stays_readable(use: Use) -> None:
    """HI-10, O26: what another branch holds is retained, with its place in the tree."""
    store, key = use.store(), use.key("sibling")
    use.append(store, key, *CATS)
    use.append(store, key, NewItem(said("Olive.", "assistant"), id="b2", parent="u2"))
    parents = {item.id: item.parent for item in use.items(store, key)}
    same(parents, {"u1": "", "a1": "u1", "u2": "a1", "a2": "u2", "b2": "u2"})


def long_path_is_read_whole_and_in_part(use: Use) -> None:
    """HI-3: a long session is read back in pages, as far as it is asked for, and without a gap."""
    store, key = use.store(), use.key("long")
    ids = [f"m{number}" for number in range(300)]
    use.append(store, key, *(NewItem({"n": id}, id=id) for id in ids))
    same(use.path(store, key), ids[::-1])

    def newest(view: View | None) -> Outcome[list[str]]:
        return Outcome([item.id for item in islice(view.backwards("m250"), 3)] if view else [])

    same(use.transact(store, key, newest), ["m250", "m249", "m248"])


def instructions_stand_first(use: Use) -> None:
    """X4: the system and developer messages are found without reading the others, those of the middle too."""
    store, key = use.store(), use.key("instructions")
    use.append(store, key, said("Be kind.", "system"), said("Be short.", "developer"), said("Hello."))
    use.append(store, key, *(said(str(number)) for number in range(50)), said("Be loud.", "system"))

    def instructions(view: View | None) -> Outcome[list[str]]:
        return Outcome([item.message["content"] for item in view.instructions()] if view else [])

    same(use.transact(store, key, instructions), ["Be kind.", "Be short.", "Be loud."])


def fork_shares_up_to_the_item(use: Use) -> None:
    """HI-21: a fork has the messages up to an item, what is pinned, and the names by which an erasure finds it."""
    store, key, to = use.store(), use.key("origin"), use.key("fork")
    head = use.named(Head(pins=PINS, summary=SUMMARY))
    opaque = NewItem({"theirs": 1}, kind="opaque")
    use.transact(store, key, lambda _: Outcome(None, (*CATS[:2], opaque, *CATS[2:]), head))
    before = use.read(store, key)
    use.fork(store, key, to, at="u2")
    same(use.messages(store, to), [item.message for item in CATS[:3]])
    same(use.path(store, to), ["u2", "a1", "u1"])
    made = use.read(store, to)
    found = made.head if made else Head()
    same((found.pins, found.summary, found.count, found.leaf), (PINS, SUMMARY, 3, "u2"))
    same((found.conversation, found.subject), (head.conversation, head.subject))
    same(use.read(store, key), before, "the origin is as it was")
    use.fork(store, key, use.key("early"), at="u1")
    early = use.read(store, use.key("early"))
    same(early and early.head.summary, None, "a summary of what is not shared stays behind")


def fork_of_a_branch_has_its_path_only(use: Use) -> None:
    """X12: a fork at a branch leaves the other branches behind."""
    store, key, to = use.store(), use.key("origin"), use.key("fork")
    use.append(store, key, *CATS)
    use.append(store, key, NewItem(said("Olive.", "assistant"), id="b2", parent="u2"))
    use.fork(store, key, to, at="b2")
    same([item.id for item in use.items(store, to)], ["u1", "a1", "u2", "b2"])


def fork_goes_its_own_way(use: Use) -> None:
    """HI-1: what is appended to one of the two is not in the other, nor gone when the other is deleted."""
    store, key, to = use.store(), use.key("origin"), use.key("fork")
    use.append(store, key, *CATS[:2], NewItem({"n": 1}, key="run-1"))
    use.fork(store, key, to, at="a1")
    use.append(store, to, NewItem({"n": 2}, key="run-1", id="u2"))
    use.append(store, key, NewItem({"n": 3}, id="u2"))
    same(use.messages(store, to)[2:], [{"n": 2}])
    same(use.messages(store, key)[2:], [{"n": 1}, {"n": 3}])
    use.delete(store, key)
    same(use.path(store, to), ["u2", "a1", "u1"])


def fork_is_refused(use: Use) -> None:
    """X11, HI-2: no fork of what is not there, into what is there, or into another namespace."""
    store, key = use.store(), use.key("origin")
    use.append(store, key, *CATS[:1], NewItem({}, id="beside", kind="opaque"))
    use.append(store, use.key("there"), *CATS[:1])
    for unknown, at in ((use.key("unknown"), "u1"), (key, "nowhere"), (key, ""), (key, "beside")):
        with refused(DecisionHistoryNotFound):
            use.fork(store, unknown, use.key("new"), at=at)
    for there in (use.key("there"), key):
        with refused(DecisionHistoryConflict):
            use.fork(store, key, there, at="u1")
    with refused(DecisionHistoryMismatch):
        use.fork(store, key, use.key("new", namespace="other"), at="u1")
    same(use.read(store, use.key("new")), None)
    use.fork(store, key, use.key("new"), at="u1")
