"""The calls on the graph and on contexts, as futures: a client waits for them in its own way (SD-7, SD-10)."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any, TypeVar

from lastro.assembly.errors import RecordsInvalid
from lastro.assembly.records import Record, Reference, reference_to
from lastro.client.runtime import Runtime
from lastro.contexts.answers import (
    AssemblyRecord,
    Context,
    Explanation,
    context_of,
    explanation_of,
    record_of,
)
from lastro.contexts.requests import Wanted, assemble_request, assembly_request, why_request
from lastro.errors import ContextTooSmall, LastroError, OutOfReach, UnexpectedAnswer
from lastro.recording.answers import Recorded, Refused
from lastro.recording.queue import Queue
from lastro.recording.recorder import Recorder
from lastro.recording.tools import Answer
from lastro.recording.units import units_of
from lastro.states.answers import Verdict
from lastro.states.writes import Request

log = logging.getLogger("lastro")
T = TypeVar("T")
UNKNOWN = ("unknown_reference", "not_found", "checkpoint_missing")


class GraphCalls:
    """The graph of a client; made inside a replay it stays there (SD-6)."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._replay = runtime.replay()
        self._budgets = runtime.options.budgets
        self.ids: Callable[[], str] = runtime.options.tuning.chances.key

    def now(self) -> datetime:
        """Give the time by the clock of this client."""
        return self._runtime.now()

    def record(
        self, records: Sequence[Record], payloads: Mapping[str, bytes] | None = None
    ) -> "Future[Recorded]":
        """Let records wait to be sent, and wait for that within the budget of a record.

        Raises RecordsInvalid, InvalidCall, OutboxFull, ClientClosed; what the future gives raises ServerRefusal.
        """
        units = list(units_of(records, payloads))
        self._runtime.queue(units, replay=self._replay)
        deadline = time.monotonic() + self._budgets.record
        return self._runtime.graph(
            lambda recorder: recorder.settled(units, deadline=deadline), replay=self._replay
        )

    def note(self, records: Sequence[Record], *, is_ensured: bool = False) -> None:
        """Let records wait to be sent, and wait for nothing; `is_ensured`: what is there already is left as it is."""
        self._runtime.queue(list(units_of(records, is_ensured=is_ensured)), replay=self._replay)
        self._runtime.graph(Recorder.note_added, replay=self._replay)

    def keep(self, answer: Answer) -> "Future[Recorded]":
        """Record what came of a call. It has happened: what cannot be recorded is reported, and never raised."""
        try:
            units = list(units_of(answer.records, answer.payloads))
            self._runtime.queue(units, replay=self._replay)
            deadline = time.monotonic() + self._budgets.record
            return self._runtime.graph(
                lambda recorder: recorder.kept(units, deadline=deadline), replay=self._replay
            )
        except LastroError as error:
            self._report(answer.records, error)
            done: Future[Recorded] = Future()
            done.set_result(Recorded())
            return done

    def refused(self) -> tuple[Refused, ...]:
        """Give what was refused."""
        return self._queue.refused()

    def dismiss(self) -> None:
        """Forget what was refused."""
        self._queue.dismiss()

    def waiting(self) -> int:
        """Give how many records wait."""
        return self._queue.count()

    def assemble(self, members: dict[str, Any], wanted: Wanted) -> "Future[Context]":
        """Assemble a context, behind the records of its conversation that wait, within the budget of an assembly."""
        request = assemble_request(members, wanted, now=self.now())
        began, budget = time.monotonic(), self._budgets.assemble
        conversation: str = members["conversation"]

        async def assembled(recorder: Recorder) -> Context:
            pending = await recorder.caught_up(conversation, deadline=began + budget / 2)
            value = await _asked(recorder, request, began + budget, pending=pending)
            return _read(lambda: context_of(value, pending=pending))

        return self._runtime.graph(assembled, replay=self._replay)

    def assembly(self, assembly_id: str) -> "Future[AssemblyRecord]":
        """Read the record of an assembly."""
        return self._told(assembly_request(assembly_id), record_of)

    def why(self, assembly_id: str, record: Record | Reference) -> "Future[Explanation]":
        """Ask why a record was shown or not."""
        reference = record if isinstance(record, Reference) else reference_to(record)
        return self._told(why_request(assembly_id, reference), explanation_of)

    def _told(self, request: Request, read: Callable[[Mapping[str, Any]], T]) -> "Future[T]":
        deadline = time.monotonic() + self._budgets.assemble

        async def told(recorder: Recorder) -> T:
            value = await _asked(recorder, request, deadline)
            return _read(lambda: read(value))

        return self._runtime.graph(told, replay=self._replay)

    def _report(self, records: Sequence[Record], error: LastroError) -> None:
        conversation = getattr(records[0], "conversation", "")
        references = tuple(reference_to(record) for record in records)
        pointers = (
            tuple(problem.pointer for problem in error.problems) if isinstance(error, RecordsInvalid) else ()
        )
        self._queue.refuse(Refused(error.code, conversation, references, pointers=pointers))
        log.warning("records.refused code=%s records=%d request_id=none", error.code, len(records))

    @property
    def _queue(self) -> Queue:
        return self._runtime.records if self._replay is None else self._replay.records


async def _asked(
    recorder: Recorder, request: Request, deadline: float, *, pending: int = 0
) -> dict[str, Any]:
    verdict = await recorder.ask(request, deadline=deadline)
    if verdict.meaning == "done":
        return verdict.value
    # What the server does not know may be what waits here.
    if verdict.meaning == "later" or (pending and verdict.code in UNKNOWN):
        raise OutOfReach(verdict.code, request_id=verdict.request_id)
    raise _refusal(verdict)


def _refusal(verdict: Verdict) -> LastroError:
    if verdict.code != ContextTooSmall.code:
        return verdict.error
    named = {name: verdict.problem.get(name) for name in ("unit", "needed", "allowed", "references")}
    return ContextTooSmall(
        status=verdict.status,
        request_id=verdict.request_id,
        pointers=verdict.pointers,
        **{name: value for name, value in named.items() if value},
    )


def _read(read: Callable[[], T]) -> T:
    try:
        return read()
    except (LookupError, TypeError, ValueError, AttributeError):
        raise UnexpectedAnswer(status=200) from None
