"""WM-20 after a flush: what was marked is gone, and nothing older may be served than what anybody was told."""

from uuid import uuid4

import pytest

from workspaces import coherence, hotstore
from workspaces.hotstore import Name, name_of
from workspaces.hotstore.connection import ask

OLD, NEW = (1, b"old"), (2, b"new")


@pytest.fixture
def name() -> Name:
    """A thing of which the hot store holds nothing."""
    return name_of("x", uuid4().bytes)


def flush(name: Name) -> None:
    """Forget all that concerns one thing, as a flush does; the other tests keep theirs."""
    ask(b"DEL", name.entry, name.marker, name.token)


def served(name: Name) -> bytes | None:
    [seen] = hotstore.look([name])[1]
    return seen.payload


def test_an_older_publication_after_a_flush_is_not_served(name: Name) -> None:
    """WM-20, WM-18: a writer that lost its marker leaves word for one that has its own and published later."""
    first = hotstore.mark(name)
    flush(name)
    second = hotstore.mark(name)
    hotstore.publish(first, change=NEW[0], payload=NEW[1])  # committed last, answered first
    hotstore.publish(second, change=OLD[0], payload=OLD[1])
    assert served(name) in {None, NEW[1]}


def test_a_fill_from_before_a_commit_does_not_outlive_a_reader_of_after(name: Name) -> None:
    """WM-20, WM-18: who was told the new version by the database makes an older entry go before it answers."""
    hotstore.mark(name)
    flush(name)
    [seen] = hotstore.look([name])[1]

    def new_while_another_fills_in_the_old() -> tuple[int, bytes]:
        given = hotstore.token(name)
        assert given
        hotstore.fill(name, given, change=OLD[0], payload=OLD[1])
        return NEW

    assert coherence.cold(name, seen, new_while_another_fills_in_the_old) == NEW[1]
    assert served(name) in {None, NEW[1]}


def test_a_fill_from_before_a_commit_comes_too_late_after_a_reader_of_after(name: Name) -> None:
    """WM-20, WM-18: who was told the new version by the database makes the token of an older fill void."""
    given = hotstore.token(name)
    assert given
    [seen] = hotstore.look([name])[1]
    assert coherence.cold(name, seen, lambda: NEW) == NEW[1]
    hotstore.fill(name, given, change=OLD[0], payload=OLD[1])
    assert served(name) in {None, NEW[1]}


def test_a_reader_of_after_leaves_word_for_the_writers_at_work(name: Name) -> None:
    """WM-20, WM-18: who met the marker of an older writer was told a newer version, which its publication keeps to."""
    older = hotstore.mark(name)
    [seen] = hotstore.look([name])[1]
    assert coherence.cold(name, seen, lambda: NEW) == NEW[1]
    hotstore.publish(older, change=OLD[0], payload=OLD[1])
    assert served(name) in {None, NEW[1]}


def test_a_publication_that_a_reader_saw_before_it_is_served(name: Name) -> None:
    """WM-20: word left by readers keeps no writer from publishing that same version over an older entry."""
    before = hotstore.mark(name)
    hotstore.publish(before, change=OLD[0], payload=OLD[1])
    marked = hotstore.mark(name)
    [seen] = hotstore.look([name])[1]
    assert coherence.cold(name, seen, lambda: NEW) == NEW[1]
    hotstore.publish(marked, change=NEW[0], payload=NEW[1])
    assert served(name) == NEW[1]
