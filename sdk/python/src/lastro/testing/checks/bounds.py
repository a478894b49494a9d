"""A store without room refuses, atomically, and says which bound, what is needed and what is allowed (HI-4)."""

from lastro.history.contract import View
from lastro.history.errors import DecisionHistoryLimitExceeded
from lastro.history.records import Head, NewItem, Outcome, Summary
from lastro.history.stores.appends import removal
from lastro.testing.checks.sessions import telling
from lastro.testing.uses import Refusal, Use, refused, same


def bound(refusal: Refusal) -> tuple[str, int, int]:
    """Give what a refusal names."""
    error = refusal.error
    return error.bound, error.needed, error.allowed


def sized(size: int) -> dict[str, str]:
    """Give a message of so many bytes."""
    return {"t": "x" * (size - len('{"t":""}'))}


def full_store_refuses_before_the_operation(use: Use) -> None:
    """HI-4: a new session that has no room is refused before its operation runs; the others go on."""
    store, ran = use.store(max_sessions=2), list[str]()
    use.append(store, use.key("one"), sized(20))

    def third(_: View | None = None) -> Outcome[None]:
        with refused(DecisionHistoryLimitExceeded) as refusal:
            use.transact(store, use.key("three"), telling(ran))
        same(bound(refusal), ("max_sessions", 3, 2))
        return Outcome(None, (NewItem({}),))

    use.transact(store, use.key("two"), third)
    third()
    same(ran, [])
    use.append(store, use.key("one"), sized(20))
    same(len(use.messages(store, use.key("one"))), 2)


def bytes_of_all_sessions_are_bounded(use: Use) -> None:
    """HI-4: the bytes of all sessions together are bounded, to the byte."""
    store = use.store(max_store_bytes=100)
    use.append(store, use.key("one"), sized(60))
    with refused(DecisionHistoryLimitExceeded) as refusal:
        use.append(store, use.key("two"), sized(20), sized(21))
    same(bound(refusal), ("max_store_bytes", 101, 100))
    use.append(store, use.key("two"), sized(20), sized(20))
    with refused(DecisionHistoryLimitExceeded):
        use.append(store, use.key("one"), {})


def bytes_of_one_session_are_bounded(use: Use) -> None:
    """HI-4: so are those of one session, and no older message makes room for a new one."""
    store, key = use.store(max_retained_bytes=50), use.key("one")
    use.append(store, key, sized(30))
    with refused(DecisionHistoryLimitExceeded) as refusal:
        use.append(store, key, sized(21))
    same(bound(refusal), ("max_retained_bytes", 51, 50))
    use.append(store, key, sized(20))
    same(use.messages(store, key), [sized(30), sized(20)])


def summary_counts(use: Use) -> None:
    """HI-4: a summary is kept within the same bounds."""
    store, key = use.store(max_retained_bytes=400), use.key("one")
    use.append(store, key, sized(30))
    long = Head(summary=Summary("x" * 400, 1, "d", "t"))
    with refused(DecisionHistoryLimitExceeded):
        use.transact(store, key, lambda _: Outcome(None, (), long))
    short = Head(summary=Summary("x" * 100, 1, "d", "t"))
    use.transact(store, key, lambda _: Outcome(None, (), short))


def refusal_is_atomic(use: Use) -> None:
    """HI-4: a refused append leaves the session as it was, and free; a refused first one leaves none."""
    store, key = use.store(max_retained_bytes=50), use.key("one")
    with refused(DecisionHistoryLimitExceeded):
        use.append(store, key, sized(25), sized(26))
    same(use.read(store, key), None)
    use.append(store, key, sized(25))
    before = use.read(store, key)
    with refused(DecisionHistoryLimitExceeded):
        use.append(store, key, NewItem(sized(10), key="k"), NewItem(sized(16)))
    same(use.read(store, key), before)
    use.append(store, key, NewItem(sized(11), key="k"))


def deleting_makes_room(use: Use) -> None:
    """HI-4, HI-6: what is deleted counts no more."""
    store = use.store(max_sessions=1, max_store_bytes=50)
    for _ in range(3):
        use.append(store, use.key("one"), sized(50))
        use.delete(store, use.key("one"))
    use.append(store, use.key("two"), sized(50))


def sweeping_makes_room(use: Use) -> None:
    """HI-25: what was taken back is swept at the next access, and counts no more."""
    store, key = use.store(max_retained_bytes=100), use.key("one")
    for number in range(5):
        use.append(store, key, NewItem(sized(60), id=f"o{number}", kind="opaque"))
        use.append(store, key, removal([f"o{number}"]) if number % 2 else removal())
    same(use.opaque(store, key), [])
    snapshot = use.read(store, key)
    same(snapshot and (snapshot.head.count, snapshot.head.bytes), (0, 0))


def fork_is_bounded(use: Use) -> None:
    """HI-4: a fork needs the room of what it shares."""
    store = use.store(max_sessions=2, max_store_bytes=100)
    use.append(store, use.key("one"), NewItem(sized(40), id="a"), NewItem(sized(20), id="b"))
    with refused(DecisionHistoryLimitExceeded) as refusal:
        use.fork(store, use.key("one"), use.key("two"), at="b")
    same(bound(refusal), ("max_store_bytes", 120, 100))
    use.fork(store, use.key("one"), use.key("two"), at="a")
    with refused(DecisionHistoryLimitExceeded) as refusal:
        use.fork(store, use.key("one"), use.key("three"), at="a")
    same(bound(refusal), ("max_sessions", 3, 2))
