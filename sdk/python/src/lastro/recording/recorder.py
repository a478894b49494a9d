"""The sending of records: in order within a conversation, again after an outage, under the same ids (SD-7, SD-10).

It belongs to one event loop. Records are named by their ids, so that sending one again is safe: it is `unchanged`.
"""

import asyncio
import logging
import re
import time
from collections.abc import Sequence

from lastro.errors import ServerRefusal
from lastro.recording.answers import Recorded, Refused, Stored, stored_of
from lastro.recording.queue import Lane, Queue
from lastro.recording.units import Unit, batch_of, payload_request, without
from lastro.states.answers import Verdict, judge
from lastro.states.operations import FLUSH_PAUSES, Send
from lastro.states.tuning import Budgets, Tuning
from lastro.states.writes import Request

log = logging.getLogger("lastro")

_PLACE = re.compile(r"/records/(\d+)(/.*)?")
_SHAPE = {"records": list}


class Recorder:
    """Delivers what the queue holds."""

    def __init__(self, send: Send, *, queue: Queue, budgets: Budgets, tuning: Tuning) -> None:
        self._send, self._queue, self._budgets = send, queue, budgets
        self._backoff, self._chances = tuning.backoff, tuning.chances
        self._wake = asyncio.Event()
        self._turns = asyncio.Semaphore(8)
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to deliver, once."""
        if self._running is None:
            self._running = asyncio.create_task(self.run())

    async def stop(self) -> None:
        """Deliver nothing any more."""
        if self._running is not None:
            self._running.cancel()

    async def run(self) -> None:
        """Deliver whatever is due, each conversation by itself, until cancelled."""
        while True:
            self._wake.clear()
            for conversation in self._queue.due(now=time.monotonic()):
                self._start(conversation)
            await self._rest()

    async def note_added(self) -> None:
        """Look at what waits now."""
        self._wake.set()

    async def settled(self, units: Sequence[Unit], *, deadline: float) -> Recorded:
        """Wait until units are stored, or the deadline passes: then they are pending. Raises ServerRefusal."""
        self._wake.set()
        waited = [_waited_for(unit) for unit in units]
        lanes = [lane for unit in units if (lane := self._queue.lane(unit.conversation))]
        if not any(lane.is_late for lane in lanes):
            await asyncio.wait(waited, timeout=max(deadline - time.monotonic(), 0.0))
        if not all(one.done() for one in waited):
            _mark_late(lanes)
        found = [one.result() if one.done() else Recorded(pending=True) for one in waited]
        stored = tuple(stored for one in found for stored in one.stored)
        return Recorded(stored, pending=any(one.pending for one in found))

    async def kept(self, units: Sequence[Unit], *, deadline: float) -> Recorded:
        """Wait as `settled` does; a refusal is told by the queue alone, since what the records tell has happened."""
        try:
            return await self.settled(units, deadline=deadline)
        except ServerRefusal:
            return Recorded()

    async def caught_up(self, conversation: str, *, deadline: float) -> int:
        """Wait until nothing of a conversation waits, it fails to be sent, or the deadline passes; give what waits."""
        self._wake.set()
        pauses = iter(FLUSH_PAUSES)
        while (units := self._queue.units(conversation)) and not self._fails(conversation):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            # One that is late has told so already, and tells no more.
            if units[-1].settled.done():
                await asyncio.sleep(min(left, next(pauses, FLUSH_PAUSES[-1])))
            else:
                await asyncio.wait([_waited_for(units[-1])], timeout=left)
        return self._queue.count(conversation)

    async def flush(self, *, deadline: float) -> bool:
        """Send what waits until nothing does or the deadline passes; tell whether nothing waits (SD-7)."""
        pauses = iter(FLUSH_PAUSES)
        while self._queue.count():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._queue.hurry()
            self._wake.set()
            await asyncio.sleep(min(left, next(pauses, FLUSH_PAUSES[-1])))
        return True

    async def ask(self, request: Request, *, deadline: float) -> Verdict:
        """Ask the server something, and tell what its answer means."""
        reply = await self._send(request, deadline=deadline)
        return judge(reply, now=self._chances.clock())

    def _start(self, conversation: str) -> None:
        if conversation not in self._sending:
            task = asyncio.create_task(self._deliver(conversation))
            self._sending[conversation] = task
            task.add_done_callback(lambda _: self._ended(conversation))

    def _ended(self, conversation: str) -> None:
        del self._sending[conversation]
        self._wake.set()

    async def _rest(self) -> None:
        due_at = self._queue.next_due()
        pause = None if due_at is None or self._sending else max(due_at - time.monotonic(), 0.02)
        try:
            await asyncio.wait_for(self._wake.wait(), pause)
        except TimeoutError:
            return

    async def _deliver(self, conversation: str) -> None:
        """Send what waits of a conversation, in order, as long as it goes through."""
        async with self._turns:
            is_through, alone = True, False
            while is_through and (units := self._queue.batch(conversation, alone=alone)):
                verdict = await self._sent(units)
                # A refusal holds for a whole batch: each unit then gets an answer of its own.
                alone = verdict.meaning in ("refused", "strange") and len(units) > 1
                is_through = alone or self._answered(units, verdict)

    async def _sent(self, units: Sequence[Unit]) -> Verdict:
        deadline = time.monotonic() + self._budgets.attempt
        verdict = await self.ask(batch_of(units), deadline=deadline)
        if verdict.meaning == "done":
            if not _is_whole(verdict, units):
                return Verdict("strange", "unexpected_answer", verdict.status, verdict.request_id)
            return await self._with_payloads(units, verdict)
        return verdict

    async def _with_payloads(self, units: Sequence[Unit], verdict: Verdict) -> Verdict:
        """Send the payloads that the server awaits; what stops one stops the batch, which is sent again."""
        contents = {id: content for unit in units for id, content in unit.contents.items()}
        for one in verdict.value["records"]:
            if one.get("payload") == "awaited" and one["id"] in contents:
                request = payload_request(one["payload_id"], contents[one["id"]])
                said = await self.ask(request, deadline=time.monotonic() + self._budgets.attempt)
                if said.meaning != "done":
                    return said
        return verdict

    def _answered(self, units: Sequence[Unit], verdict: Verdict) -> bool:
        """Keep what became of units that were sent; tell whether the next ones may follow."""
        if verdict.meaning == "later" or (verdict.meaning == "strange" and self._is_late(units[0])):
            self._give_back(units[0].conversation, verdict)
            return False
        if verdict.meaning == "done":
            self._store(units, stored_of(verdict.value))
            return True
        self._refuse(units[0], verdict)
        return True

    def _store(self, units: Sequence[Unit], stored: Sequence[Stored]) -> None:
        self._queue.remove(units)
        found = iter(stored)
        for unit in units:
            _tell(unit, Recorded(tuple(next(found) for _ in unit.records)))

    def _refuse(self, unit: Unit, verdict: Verdict) -> None:
        """Report a unit that was refused; of one that is only to be there, leave out what is there otherwise."""
        number = _place_of(verdict)
        if unit.is_ensured and verdict.code == "record_conflict" and number is not None:
            self._leave_out(unit, number)
            return
        self._queue.remove([unit])
        if not unit.settled.done() and unit.settled.set_running_or_notify_cancel():
            unit.settled.set_exception(verdict.error)
        self._queue.refuse(refused_of(unit, verdict))
        log.warning(
            "records.refused code=%s records=%d request_id=%s",
            verdict.code,
            len(unit.records),
            verdict.request_id or "none",
        )

    def _leave_out(self, unit: Unit, number: int) -> None:
        rest = without(unit, number)
        if rest.records:
            self._queue.replace_first(rest)
        else:
            self._queue.remove([unit])
            _tell(unit, Recorded())

    def _fails(self, conversation: str) -> bool:
        lane = self._queue.lane(conversation)
        return lane is not None and lane.tries > 0

    def _is_late(self, unit: Unit) -> bool:
        """Tell whether nobody waits for a unit: something between may speak for a server that has not seen it."""
        lane = self._queue.lane(unit.conversation)
        return lane is not None and lane.is_late

    def _give_back(self, conversation: str, verdict: Verdict) -> None:
        """Try again later, and let nobody wait for it."""
        chance = self._chances.random()
        lane = self._queue.lane(conversation)
        if lane is not None:
            lane.tries += 1
            lane.is_late = True
            pause = self._backoff.pause(lane.tries, chance=chance, asked=verdict.wait)
            lane.due_at = time.monotonic() + pause
        for unit in self._queue.units(conversation):
            _tell(unit, Recorded(pending=True))


def refused_of(unit: Unit, verdict: Verdict) -> Refused:
    """Give the word of a refusal."""
    return Refused(
        code=verdict.code,
        conversation=unit.conversation,
        references=unit.references,
        status=verdict.status,
        request_id=verdict.request_id,
        pointers=verdict.pointers,
    )


def _waited_for(unit: Unit) -> "asyncio.Future[Recorded]":
    future = asyncio.wrap_future(unit.settled)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


def _mark_late(lanes: Sequence[Lane]) -> None:
    for lane in lanes:
        lane.is_late = True


def _tell(unit: Unit, recorded: Recorded) -> None:
    """Tell who waits for a unit, if nobody told that it is late."""
    if not unit.settled.done() and unit.settled.set_running_or_notify_cancel():
        unit.settled.set_result(recorded)


def _place_of(verdict: Verdict) -> int | None:
    found = [_PLACE.fullmatch(pointer) for pointer in verdict.pointers]
    return next((int(place[1]) for place in found if place), None)


def _is_whole(verdict: Verdict, units: Sequence[Unit]) -> bool:
    records = verdict.value.get("records")
    return isinstance(records, list) and len(records) == sum(len(unit.records) for unit in units)  # pyright: ignore[reportUnknownArgumentType]
