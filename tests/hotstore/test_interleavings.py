"""Writers and readers of one thing in any order that can happen, against a database that is a number (WM-18, WM-20)."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.hotstore import store
from workspaces import hotstore
from workspaces.hotstore import Mark, Name

CHANGES_OF_NOBODY = 0


class Writer:
    """A writer between its steps. Once it is late it must not commit."""

    def __init__(self, marked: Mark) -> None:
        self.marked = marked
        self.change: int | None = None
        self.is_late = self.has_ended = False


class Reader:
    """A reader between its steps: the token that it took, and then what it read."""

    def __init__(self, token: bytes) -> None:
        self.token = token
        self.read: int | None = None


class Interleavings(RuleBasedStateMachine):
    """One thing; its database is the number of its last change, and the lock is held within one step."""

    is_numbered = True
    writers, readers = Bundle("writers"), Bundle("readers")

    def __init__(self) -> None:
        super().__init__()
        self.name = store.new_name()
        self.database = self.acknowledged = CHANGES_OF_NOBODY
        self.every_writer: list[Writer] = []

    @rule(target=writers)
    def mark(self) -> Writer:
        return self._marked()

    @rule(writer=writers)
    def commit(self, writer: Writer) -> None:
        if not (writer.is_late or writer.has_ended or writer.change):
            self._commit(writer)

    @rule(writer=writers, is_gone=st.booleans())
    def publish(self, writer: Writer, *, is_gone: bool) -> None:
        if writer.change is None or writer.has_ended:
            return
        if is_gone or not self.is_numbered:
            hotstore.drop(writer.marked)
        else:
            hotstore.publish(writer.marked, change=writer.change, payload=b"%d" % writer.change)
        writer.has_ended = True
        self.acknowledged = max(self.acknowledged, writer.change)

    @rule(writer=writers)
    def refuse(self, writer: Writer) -> None:
        """Find under the lock that nothing is to be stored, and publish what is."""
        if writer.change is not None or writer.has_ended:
            return
        if self.is_numbered:
            hotstore.publish(writer.marked, change=self.database, payload=b"%d" % self.database)
        else:
            hotstore.lift(writer.marked)
        writer.has_ended = True

    @rule(writer=writers)
    def send_again(self, writer: Writer) -> None:
        """Run the last step of a writer twice, as after a lost answer."""
        if writer.has_ended and writer.change is not None and self.is_numbered:
            hotstore.publish(writer.marked, change=writer.change, payload=b"%d" % writer.change)

    @rule(writer=writers)
    def be_late(self, writer: Writer) -> None:
        """Stop between two steps until the deadline is over."""
        self._be_late(writer)

    @rule()
    def repair(self) -> None:
        """Meet markers past their deadlines, and read under the lock."""
        for writer in hotstore.look([self.name])[1][0].expired_writers():
            number = self.database if self.is_numbered else 0
            hotstore.repair(self.name, writer, change=number, payload=b"%d" % self.database)
            # Nobody may be served from before a change whose writer is repaired, acknowledged or not.
            self.acknowledged = self.database

    @rule(target=readers)
    def take_token(self) -> Reader | None:
        return _reader(self.name)

    @rule(reader=readers)
    def read(self, reader: Reader | None) -> None:
        if reader is not None and reader.read is None:
            reader.read = self.database

    @rule(reader=readers)
    def fill(self, reader: Reader | None) -> None:
        if reader is not None and reader.read is not None:
            self._fill(reader)

    @rule()
    def read_whole(self) -> None:
        """Read with nobody in between."""
        reader = _reader(self.name)
        if reader is not None:
            reader.read = self.database
            self._fill(reader)

    @rule(target=writers)
    def stop_after_commit(self) -> Writer:
        """Write and stop before the publication until the deadline is over."""
        writer = self._marked()
        self._commit(writer)
        self._be_late(writer)
        return writer

    @rule(lost=st.sampled_from(["all", "the entry", "the token"]))
    def lose(self, lost: str) -> None:
        """Lose all by a flush, or a part that has a life."""
        if lost == "all":
            store.flush(self.name)
        else:
            store.raw().delete(self.name.entry if lost == "the entry" else self.name.token)

    @precondition(lambda self: self.every_writer and all(each.has_ended for each in self.every_writer))
    @rule()
    def require_no_marker(self) -> None:
        """WM-20: when every writer has ended, nothing keeps readers from the entry."""
        assert store.writers(self.name) == {}

    @invariant()
    def gives_what_was_acknowledged(self) -> None:
        """WM-18: nothing that may be served is older than what some writer was told to be stored."""
        served = hotstore.look([self.name])[1][0].payload
        assert served is None or int(served) >= self.acknowledged

    def teardown(self) -> None:
        store.flush(self.name)

    def _marked(self) -> Writer:
        writer = Writer(hotstore.mark(self.name))
        self.every_writer.append(writer)
        return writer

    def _commit(self, writer: Writer) -> None:
        self.database += 1
        writer.change = self.database

    def _be_late(self, writer: Writer) -> None:
        if writer.marked.writer in store.writers(self.name):
            store.pass_deadline(self.name, writer.marked.writer)
        writer.is_late = True

    def _fill(self, reader: Reader) -> None:
        number = reader.read if self.is_numbered else 0
        hotstore.fill(self.name, reader.token, change=number or 0, payload=b"%d" % (reader.read or 0))


def _reader(name: Name) -> Reader | None:
    given = hotstore.token(name)
    return Reader(given) if given is not None else None


class UnnumberedInterleavings(Interleavings):
    """The same for a thing whose changes have no number, such as a key or the list of live documents."""

    is_numbered = False
    TestCase: Any


@pytest.mark.parametrize("machine", [Interleavings, UnnumberedInterleavings])
@pytest.mark.parametrize("examples", [200, pytest.param(5_000, marks=pytest.mark.long)])
def test_no_reader_is_served_less_than_was_acknowledged(machine: Any, examples: int) -> None:
    """WM-18, WM-20: under flushes, evictions, writers that stop between steps, and repairs, in any order."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
