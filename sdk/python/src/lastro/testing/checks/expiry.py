"""Sessions that were idle for too long, and items and summaries with an end of their own (HI-4, HI-6, HI-23)."""

from lastro.history.contract import View
from lastro.history.errors import DecisionHistoryBusy
from lastro.history.records import Head, NewItem, Outcome, Summary
from lastro.testing.checks.sessions import said
from lastro.testing.uses import Use, hold, refused, same


def idle_session_ends(use: Use) -> None:
    """HI-4: a session that was idle for its time is not there for any call, before any sweep."""
    store, key = use.store(ttl=100), use.key("idle")
    use.append(store, key, said("1"))
    use.clock.move(99)
    hold(use.read(store, key), "it is still there")
    use.clock.move(1)
    same(use.read(store, key), None)
    same(use.transact(store, key, lambda view: Outcome(view is None)), True)
    use.append(store, key, said("2"))
    same(use.messages(store, key), [said("2")])


def reading_does_not_renew(use: Use) -> None:
    """HI-6: reading does not renew the idle time; saving does."""
    store, read, saved = use.store(ttl=100), use.key("read"), use.key("saved")
    for key in (read, saved):
        use.append(store, key, said("1"))
    use.clock.move(60)
    hold(use.read(store, read), "it is still there")
    use.append(store, saved, said("2"))
    use.clock.move(60)
    same(use.read(store, read), None)
    same(use.messages(store, saved), [said("1"), said("2")])


def each_session_ends_by_its_own_time(use: Use) -> None:
    """HI-4: a session that goes on keeps none of the others, whichever was made first."""
    store, names = use.store(ttl=100), ("one", "two", "three")
    for name in names:
        use.append(store, use.key(name), said("1"))
        use.clock.move(10)
    for name in ("one", "three"):
        use.append(store, use.key(name), said("2"))
    use.clock.move(90)
    same([use.read(store, use.key(name)) is not None for name in names], [True, False, True])


def nothing_saved_does_not_renew(use: Use) -> None:
    """HI-3: an operation that gives nothing to save changes nothing, the idle time neither."""
    store, key = use.store(ttl=100), use.key("idle")
    use.append(store, key, said("1"))
    use.clock.move(60)
    use.transact(store, key, lambda _: Outcome(None))
    use.clock.move(60)
    same(use.read(store, key), None)


def idle_session_makes_room(use: Use) -> None:
    """HI-4: expired sessions are purged at the next access, and count no more."""
    store = use.store(ttl=100, max_sessions=1, max_store_bytes=20)
    for name in ("one", "two", "three"):
        use.append(store, use.key(name), {"name": name})
        use.clock.move(100)


def reserved_session_stays(use: Use) -> None:
    """HI-5: a reservation stays, however long its decision takes, and so does its session."""
    store, key = use.store(ttl=100), use.key("slow")
    use.append(store, key, said("1"))

    def slow(_: View | None) -> Outcome[None]:
        use.clock.move(1000)
        with refused(DecisionHistoryBusy):
            use.read(store, key)
        return Outcome(None, (NewItem(said("2")),))

    use.transact(store, key, slow)
    same(use.messages(store, key), [said("1"), said("2")])


def expired_item_is_not_read(use: Use) -> None:
    """HI-23, O25: an item whose own end has come is in no reading of the session; a window learns of its place."""
    store, key = use.store(ttl=1000), use.key("items")
    use.append(store, key, NewItem(said("1"), id="a", expires_at=use.clock.now + 50))
    use.append(store, key, NewItem(said("2"), id="b"), NewItem({"n": 1}, kind="opaque", expires_at=1.0))
    same(use.messages(store, key), [said("1"), said("2")])
    use.clock.move(50)
    same(use.messages(store, key), [said("2")])
    same(use.path(store, key), ["b", "a"])


def expired_summary_ends_alone(use: Use) -> None:
    """HI-23, O25: an expired summary removes only the summary, for readers, operations and forks."""
    store, key = use.store(ttl=1000), use.key("summary")
    head = Head(summary=Summary("text", 1, "d", "a", expires_at=use.clock.now + 50), conversation="c-1")
    use.transact(store, key, lambda _: Outcome(None, (NewItem(said("1"), id="a"),), head))
    hold(head_of(use.read(store, key)).summary, "it is still there")
    use.clock.move(50)
    same(head_of(use.read(store, key)).summary, None)
    same(use.transact(store, key, lambda view: Outcome(view and view.head.summary)), None)
    use.fork(store, key, use.key("fork"), at="a")
    same(head_of(use.read(store, use.key("fork"))).summary, None)
    same(use.messages(store, key), [said("1")])
    same(head_of(use.read(store, key)).conversation, "c-1")


def head_of(snapshot: object) -> Head:
    """Give the head of what was read."""
    return getattr(snapshot, "head", Head())
