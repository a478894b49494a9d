"""Each step of a reader or a writer at the hot store itself, one by one (WM-20)."""

import pytest

from tests.hotstore.store import (
    ABSENT,
    KEPT_FOR_EVER,
    evict,
    flush,
    life_ms,
    new_name,
    now_ms,
    pass_deadline,
    raw,
    writers,
)
from workspaces import hotstore
from workspaces.hotstore import Mark, Name, entries

DAY_MS = 24 * 3_600_000


@pytest.fixture
def thing() -> Name:
    """A thing of which the hot store holds nothing."""
    return new_name()


def seen(name: Name) -> bytes | None:
    """Give what a reader is served."""
    return hotstore.look([name])[1][0].payload


def filled(name: Name, payload: bytes, *, change: int = 1) -> None:
    """Fill as a reader does who is alone."""
    given = hotstore.token(name)
    assert given is not None
    hotstore.fill(name, given, change=change, payload=payload)
    assert seen(name) == payload


def stored(name: Name, change: int) -> Mark:
    """Go through a whole write; give its marker, which is lifted."""
    marked = hotstore.mark(name)
    hotstore.publish(marked, change=change, payload=b"%d" % change)
    return marked


def test_nothing_is_seen_of_what_nobody_kept(thing: Name) -> None:
    """WM-20: an empty store serves nothing and knows no writer."""
    found = hotstore.look([thing, new_name()])[1]
    assert [(each.entry, each.marker, each.payload, each.expired_writers()) for each in found] == [
        (None, None, None, [])
    ] * 2


def test_a_reader_fills_what_is_missing(thing: Name) -> None:
    """WM-20: a token taken before the read allows to fill."""
    filled(thing, b"one")


def test_readers_share_a_token_and_the_first_fills(thing: Name) -> None:
    """WM-20: two readers of one missing entry get one token; the second puts nothing over the first."""
    first, second = hotstore.token(thing), hotstore.token(thing)
    assert first == second is not None
    hotstore.fill(thing, first or b"", change=1, payload=b"first")
    hotstore.fill(thing, second or b"", change=1, payload=b"second")
    assert seen(thing) == b"first"


def test_no_token_is_given_over_an_entry(thing: Name) -> None:
    """WM-20: where an entry is, nothing is missing."""
    filled(thing, b"one")
    assert hotstore.token(thing) is None


def test_no_token_is_given_under_a_marker(thing: Name) -> None:
    """WM-20: while a writer is at work nobody may fill."""
    hotstore.mark(thing)
    assert hotstore.token(thing) is None


@pytest.mark.parametrize("end", ["lifts", "publishes", "drops", "is at work"])
def test_a_marker_makes_a_token_void(thing: Name, end: str) -> None:
    """WM-20: whoever read before a writer came fills nothing, while it is at work and after it has ended."""
    given = hotstore.token(thing) or b""
    marked = hotstore.mark(thing)
    if end == "lifts":
        hotstore.lift(marked)
    if end == "publishes":
        hotstore.publish(marked, change=2, payload=b"new")
    if end == "drops":
        hotstore.drop(marked)
    hotstore.fill(thing, given, change=1, payload=b"old")
    assert seen(thing) == (b"new" if end == "publishes" else None)


@pytest.mark.parametrize("end", ["publishes", "drops"])
def test_a_token_is_void_after_the_entry_was_evicted(thing: Name, end: str) -> None:
    """WM-20: a token of before a write does not fill the gap that an eviction leaves after it."""
    given = hotstore.token(thing) or b""
    marked = hotstore.mark(thing)
    hotstore.publish(marked, change=2, payload=b"new") if end == "publishes" else hotstore.drop(marked)
    evict(thing)
    hotstore.fill(thing, given, change=1, payload=b"old")
    assert seen(thing) is None


def test_a_flush_makes_a_token_void(thing: Name) -> None:
    """WM-20: a flush may have taken a writer's marker away, so nothing read before it is kept."""
    given = hotstore.token(thing) or b""
    flush(thing)
    hotstore.fill(thing, given, change=1, payload=b"old")
    assert seen(thing) is None


def test_a_token_of_before_a_flush_is_not_that_of_after(thing: Name) -> None:
    """WM-20: a new token after a flush does not make an old one good again."""
    given = hotstore.token(thing) or b""
    flush(thing)
    assert hotstore.token(thing) not in (None, given)
    hotstore.fill(thing, given, change=1, payload=b"old")
    assert seen(thing) is None


def test_a_wrong_token_fills_nothing(thing: Name) -> None:
    """WM-20: only the token that was given fills, and none where none was."""
    hotstore.fill(thing, b"guessed", change=1, payload=b"one")
    assert hotstore.token(thing) is not None
    hotstore.fill(thing, b"guessed", change=1, payload=b"one")
    assert seen(thing) is None


def test_a_token_fills_once(thing: Name) -> None:
    """WM-20: a token is used up, so that a slow reader does not fill again what was evicted since."""
    given = hotstore.token(thing) or b""
    hotstore.fill(thing, given, change=1, payload=b"one")
    evict(thing)
    hotstore.fill(thing, given, change=1, payload=b"one")
    assert seen(thing) is None


def test_an_entry_is_not_served_under_a_marker(thing: Name) -> None:
    """WM-20: what is there while a writer is at work is shown to writers, and served to nobody."""
    filled(thing, b"one")
    marked = hotstore.mark(thing)
    assert (marked.entry, marked.others) == (b"one", 0)
    assert seen(thing) is None
    hotstore.lift(marked)
    assert seen(thing) == b"one"


def test_a_writer_learns_of_others(thing: Name) -> None:
    """WM-20: a marker says how many others are at work; those past their deadline are not."""
    first = hotstore.mark(thing)
    assert (first.others, hotstore.mark(thing).others) == (0, 1)
    pass_deadline(thing, first.writer)
    assert hotstore.mark(thing).others == 1


def test_publishing_puts_the_entry_and_lifts(thing: Name) -> None:
    """WM-20: one script does both."""
    filled(thing, b"one")
    hotstore.publish(hotstore.mark(thing), change=2, payload=b"two")
    assert (seen(thing), writers(thing)) == (b"two", {})


@pytest.mark.parametrize("change", [1, 2])
def test_publishing_puts_only_what_is_newer(thing: Name, change: int) -> None:
    """WM-20: an older change, and the same once more, leave the entry as it is, and lift all the same."""
    filled(thing, b"two", change=2)
    hotstore.publish(hotstore.mark(thing), change=change, payload=b"another")
    assert (seen(thing), writers(thing)) == (b"two", {})


@pytest.mark.parametrize("is_evicted", [False, True])
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_two_writers_publish_in_both_orders(thing: Name, order: tuple[int, int], *, is_evicted: bool) -> None:
    """WM-20: of two writers the newer stays, whichever publishes last, also when the entry goes in between."""
    marks = {change: hotstore.mark(thing) for change in (1, 2)}
    for change in order:
        assert seen(thing) is None
        hotstore.publish(marks[change], change=change, payload=b"%d" % change)
        if is_evicted and change == order[0]:
            evict(thing)
    assert writers(thing) == {}
    assert seen(thing) == (None if is_evicted and order == (2, 1) else b"2")


@pytest.mark.parametrize("order", [("drop", "publish"), ("publish", "drop")])
def test_what_was_taken_away_does_not_come_back(thing: Name, order: tuple[str, str]) -> None:
    """WM-20: who cannot tell what another writer took away leaves it missing; the next reader fills it."""
    marks = {"drop": hotstore.mark(thing), "publish": hotstore.mark(thing)}
    for step in order:
        if step == "drop":
            hotstore.drop(marks[step])
        else:
            hotstore.publish(marks[step], change=7, payload=b"seven")
    assert (seen(thing), writers(thing)) == (None, {})
    filled(thing, b"eight", change=8)


def test_lifting_leaves_the_other_marker(thing: Name) -> None:
    """WM-20: each lifts its own marker alone, by whichever step."""
    marks = [hotstore.mark(thing) for _ in range(4)]
    hotstore.lift(marks[0])
    hotstore.publish(marks[1], change=1, payload=b"one")
    hotstore.drop(marks[2])
    assert list(writers(thing)) == [marks[3].writer]
    hotstore.lift(Mark(thing, "nobody", 0))
    assert list(writers(thing)) == [marks[3].writer]
    assert seen(thing) is None


def test_lifting_twice_does_nothing(thing: Name) -> None:
    """WM-20: a step that was sent again finds nothing to do."""
    marked = hotstore.mark(thing)
    hotstore.lift(marked)
    hotstore.lift(marked)
    assert life_ms(thing.marker) == ABSENT


def test_publishing_twice_does_nothing(thing: Name) -> None:
    """WM-20: a publication sent again leaves the entry that it put, and any newer one."""
    marked = stored(thing, 1)
    hotstore.publish(marked, change=1, payload=b"1")
    assert seen(thing) == b"1"
    stored(thing, 2)
    hotstore.publish(marked, change=1, payload=b"1")
    assert seen(thing) == b"2"


def test_a_writer_whose_marker_was_flushed_puts_nothing(thing: Name) -> None:
    """WM-20: without its marker a writer takes away what is older, and puts nothing, since it cannot know."""
    marked = hotstore.mark(thing)
    flush(thing)
    filled(thing, b"one", change=1)
    hotstore.publish(marked, change=2, payload=b"two")
    assert seen(thing) is None


def test_a_writer_whose_marker_was_flushed_leaves_what_is_newer(thing: Name) -> None:
    """WM-20: its cleaning up takes nothing newer away."""
    marked = hotstore.mark(thing)
    flush(thing)
    stored(thing, 3)
    hotstore.publish(marked, change=2, payload=b"two")
    assert seen(thing) == b"3"


@pytest.mark.parametrize("end", ["publishes", "drops"])
def test_a_writer_whose_marker_was_flushed_voids_tokens(thing: Name, end: str) -> None:
    """WM-18, WM-20: who read before the commit and after the flush does not fill after the writer was answered."""
    marked = hotstore.mark(thing)
    flush(thing)
    given = hotstore.token(thing) or b""
    hotstore.publish(marked, change=2, payload=b"two") if end == "publishes" else hotstore.drop(marked)
    hotstore.fill(thing, given, change=1, payload=b"one")
    assert seen(thing) is None


def test_a_flushed_writer_leaves_the_marker_of_another(thing: Name) -> None:
    """WM-20: a writer that comes after a flush keeps its marker."""
    marked = hotstore.mark(thing)
    flush(thing)
    other = hotstore.mark(thing)
    hotstore.publish(marked, change=1, payload=b"one")
    assert list(writers(thing)) == [other.writer]


def test_nothing_is_repaired_before_the_deadline(thing: Name) -> None:
    """WM-20: the clock of the hot store says when a writer is late; until then its marker stays."""
    marked = hotstore.mark(thing)
    hotstore.repair(thing, marked.writer, change=1, payload=b"one")
    assert list(writers(thing)) == [marked.writer]
    assert writers(thing)[marked.writer] - now_ms() == pytest.approx(entries.MARKER_MS, abs=2_000)


def test_a_marker_past_its_deadline_is_repaired_alone(thing: Name) -> None:
    """WM-20: a repair lifts the marker it names and no other, and serves nothing while another is there."""
    late, other = hotstore.mark(thing), hotstore.mark(thing)
    pass_deadline(thing, late.writer)
    hotstore.repair(thing, late.writer, change=1, payload=b"one")
    assert list(writers(thing)) == [other.writer]
    assert seen(thing) is None
    hotstore.lift(other)
    assert seen(thing) == b"one"


def test_a_repair_does_not_go_back(thing: Name) -> None:
    """WM-20: a repair that comes late leaves what a writer published since, even when that was evicted."""
    late, other = hotstore.mark(thing), hotstore.mark(thing)
    pass_deadline(thing, late.writer)
    hotstore.publish(other, change=5, payload=b"five")
    hotstore.repair(thing, late.writer, change=4, payload=b"four")
    assert (seen(thing), writers(thing)) == (b"five", {})
    late, other = hotstore.mark(thing), hotstore.mark(thing)
    pass_deadline(thing, late.writer)
    hotstore.publish(other, change=6, payload=b"six")
    evict(thing)
    hotstore.repair(thing, late.writer, change=5, payload=b"five")
    assert (seen(thing), writers(thing)) == (None, {})


def test_a_repair_replaces_what_has_no_number(thing: Name) -> None:
    """WM-20, PL-3, PR-4: keys, documents and wrapped keys are numbered 0 always; a repair puts what is stored now."""
    filled(thing, b"before the crash", change=0)
    late = hotstore.mark(thing)
    pass_deadline(thing)
    hotstore.repair(thing, late.writer, change=0, payload=b"after the commit")
    assert (seen(thing), writers(thing)) == (b"after the commit", {})


def test_a_repaired_writer_that_comes_back_puts_nothing(thing: Name) -> None:
    """WM-20: a writer past its deadline finds its marker gone and only takes away what is older."""
    late = hotstore.mark(thing)
    pass_deadline(thing)
    hotstore.repair(thing, late.writer, change=1, payload=b"one")
    hotstore.publish(late, change=2, payload=b"two")
    assert seen(thing) is None


def test_expired_writers_are_named(thing: Name) -> None:
    """WM-20: a reader is told of the writers that are past their deadline, and of no other."""
    late = hotstore.mark(thing)
    hotstore.mark(thing)
    assert hotstore.look([thing])[1][0].expired_writers() == []
    pass_deadline(thing, late.writer)
    assert hotstore.look([thing])[1][0].expired_writers() == [late.writer]


def test_entries_have_a_life_and_markers_have_none(thing: Name) -> None:
    """WM-20: a store that needs room takes entries and tokens, which have a life, before any marker, which has none."""
    assert life_ms(thing.token) == ABSENT
    given = hotstore.token(thing) or b""
    assert 0 < life_ms(thing.token) <= entries.TOKEN_MS < entries.MARKER_MS
    hotstore.fill(thing, given, change=1, payload=b"one")
    assert 0 < life_ms(thing.entry) <= DAY_MS
    marks = [hotstore.mark(thing) for _ in range(4)]
    assert life_ms(thing.marker) == KEPT_FOR_EVER
    hotstore.publish(marks[0], change=2, payload=b"two")
    assert (0 < life_ms(thing.entry) <= DAY_MS, life_ms(thing.marker)) == (True, KEPT_FOR_EVER)
    hotstore.lift(marks[1])
    assert life_ms(thing.marker) == KEPT_FOR_EVER
    pass_deadline(thing, marks[2].writer)
    hotstore.repair(thing, marks[2].writer, change=3, payload=b"three")
    assert (0 < life_ms(thing.entry) <= DAY_MS, life_ms(thing.marker)) == (True, KEPT_FOR_EVER)


def test_scripts_that_the_store_forgot_are_sent_again(thing: Name) -> None:
    """WM-20: after a restart the store knows no script; nobody notices."""
    raw().script_flush()
    filled(thing, b"one")
    raw().script_flush()
    stored(thing, 2)
    assert seen(thing) == b"2"


def test_binary_payloads_come_back(thing: Name) -> None:
    """WM-20: ciphertext is kept byte for byte, also an empty one."""
    payload = bytes(range(256)) * 3
    hotstore.publish(hotstore.mark(thing), change=1, payload=payload)
    assert seen(thing) == payload
    hotstore.publish(hotstore.mark(thing), change=2, payload=b"")
    assert seen(thing) == b""
