"""What a call does, once for both clients. It belongs to one event loop, and asks through `send` (SD-2 to SD-7).

The order in `write` is what keeps writes in order: what waits for a state goes out first, and a new write is sent at
once only where nothing waits.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from lastro.errors import OutboxUnavailable
from lastro.outbox.contract import Entry, Outbox
from lastro.states.answers import NO_ANSWER, Reply, Verdict, judge, skew
from lastro.states.bodies import json_object
from lastro.states.copies import (
    Copies,
    Copy,
    after_clear,
    after_read,
    after_write,
    predict,
    read_copy,
    unknown,
)
from lastro.states.tuning import Budgets, Tuning
from lastro.states.types import Handle, StateCleared, StateName, StateRead, StateWritten, moment
from lastro.states.writes import SHAPES, Kind, Request, Write, make_write, read_request

log = logging.getLogger("lastro")

T = TypeVar("T")
CONFLICT = "agent_state_conflict"
POLL_SECONDS = 5.0
FLUSH_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)


class Send(Protocol):
    """Sends a request; none is that no whole answer came before the deadline (by `time.monotonic`)."""

    def __call__(self, request: Request, *, deadline: float) -> Awaitable[Reply | None]: ...


class States:
    """Reads and writes of working memory, and the delivery of what waits."""

    def __init__(
        self,
        send: Send,
        *,
        outbox: Outbox,
        budgets: Budgets,
        tuning: Tuning,
    ) -> None:
        self._send, self._outbox, self._budgets = send, outbox, budgets
        self._backoff, self._chances = tuning.backoff, tuning.chances
        self.copies = Copies(most=tuning.max_copies)
        self._me = self._chances.key()
        self._voided: dict[StateName, set[int]] = {}
        self._wake = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._skew = 0.0
        self._busy: set[StateName] = set()
        self._turns = asyncio.Semaphore(8)

    async def read(self, name: StateName, *, deadline: float) -> StateRead:
        """Read a state (SD-3, SD-4). Raises ServerRefusal; out of reach it serves what is known here."""
        if await self._kept(self._outbox.waiting, name):
            await self._deliver(name, deadline=deadline)
        began = self.copies.tick()
        verdict = await self._ask(read_request(name), deadline)
        if verdict.meaning == "later":
            return await self._shown(name, degraded=True)
        if verdict.meaning != "done":
            raise verdict.error
        self._voided.pop(name, None)
        now = self._now()
        read = read_copy(verdict.value, tick=self.copies.tick(), now=now)
        kept = self.copies.keep(name, after_read(self.copies.raw(name), read, began=began))
        return await self._shown(name, degraded=False, copy=kept if kept.is_known else read)

    async def write(
        self,
        name: StateName,
        mode: Kind,
        body: object,
        *,
        if_version: int | None,
        subject: Handle | None,
        deadline: float,
    ) -> StateWritten:
        """Write a state, now or, out of reach, later (SD-2, SD-4). Raises ServerRefusal, InvalidBody and OutboxFull."""
        write = self._made(name, mode, body, if_version=if_version, subject=subject)
        verdict = await self._sent_or_kept(write, deadline)
        if verdict is None:
            return await self._pending(write)
        if verdict.meaning == "done" and verdict.value.get("stored"):
            self._stored(write, verdict, began=write.born)
            return _written(verdict)
        if verdict.meaning == "done":
            return _written(verdict)
        self.copies.forget(name)
        if verdict.meaning == "conflict":
            return StateWritten(stored=False, reason="conflict")
        raise verdict.error

    async def clear(self, name: StateName, *, if_version: int | None, deadline: float) -> StateCleared:
        """Remove a whole state, now or, out of reach, later (WM-16b). Raises ServerRefusal (StateConflict too)."""
        write = self._made(name, "clear", {}, if_version=if_version, subject=None)
        verdict = await self._sent_or_kept(write, deadline)
        if verdict is None:
            return StateCleared(deleted=False, pending=True)
        if verdict.meaning != "done":
            self.copies.forget(name)
            raise verdict.error
        self._cleared(name, verdict)
        return StateCleared(deleted=bool(verdict.value.get("deleted")))

    async def flush(self, *, deadline: float) -> bool:
        """Send what waits until nothing does or the deadline passes; tell whether nothing waits (SD-7)."""
        pauses = iter(FLUSH_PAUSES)
        while await self._kept(self._outbox.count):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            await self._kept(lambda: self._outbox.hurry(now=self._chances.clock()))
            self._wake.set()
            await asyncio.sleep(min(left, next(pauses, FLUSH_PAUSES[-1])))
        return True

    async def run(self) -> None:
        """Deliver what waits whenever it is due, each state by itself, until cancelled."""
        while True:
            self._wake.clear()
            try:
                await self._start_due()
                await self._rest()
            except OutboxUnavailable:
                log.warning("outbox.unavailable")
                await asyncio.sleep(POLL_SECONDS)
            except RuntimeError:
                # The interpreter ends and starts no thread any more, so nothing waits for a disk either.
                return

    def note_added(self) -> None:
        """Look at what waits now."""
        self._wake.set()

    async def _rest(self) -> None:
        """Wait until something is due, or is added."""
        due_at = await self._kept(self._outbox.next_due)
        longest = POLL_SECONDS if self._outbox.is_durable else None
        pause = longest if due_at is None else max(due_at - self._chances.clock(), 0.02)
        pause = pause if longest is None or pause is None else min(pause, longest)
        try:
            await asyncio.wait_for(self._wake.wait(), pause)
        except TimeoutError:
            return

    async def _start_due(self) -> None:
        now = self._chances.clock()
        for name in await self._kept(lambda: self._outbox.due(now=now)):
            self._start(name)

    def _start(self, name: StateName) -> None:
        if name in self._busy:
            return
        self._busy.add(name)
        task = asyncio.create_task(self._deliver_in_turn(name))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda _: self._busy.discard(name))

    async def _deliver_in_turn(self, name: StateName) -> None:
        async with self._turns:
            try:
                await self._deliver(name, deadline=float("inf"))
            except OutboxUnavailable:
                # What was claimed is claimed again when its claim ends.
                log.warning("outbox.unavailable")
                return
        self._wake.set()

    def _made(
        self, name: StateName, kind: Kind, body: object, *, if_version: int | None, subject: Handle | None
    ) -> Write:
        checked = json_object(body, removes=kind != "cas")
        now, key = self._now(), self._chances.key()
        made = make_write(name, kind, body=checked, if_version=if_version, subject=subject, now=now, key=key)
        return replace(made, born=self.copies.tick(), born_by=self._me)

    async def _sent_or_kept(self, write: Write, deadline: float) -> Verdict | None:
        """Send a write behind what waits for its state; no verdict is that it waits too."""
        try:
            return await self._sent_in_order(write, deadline)
        except asyncio.CancelledError:
            # Whether it was stored is not known, and the caller does not want to know.
            self.copies.forget(write.name)
            raise

    async def _sent_in_order(self, write: Write, deadline: float) -> Verdict | None:
        if await self._kept(self._outbox.waiting, write.name):
            await self._deliver(write.name, deadline=deadline)
        waiting = await self._kept(self._outbox.waiting, write.name)
        if self._is_void(write):
            return Verdict("conflict", CONFLICT, 412)
        verdict = None if waiting else await self._ask(write.request, deadline)
        if verdict is None or verdict.meaning == "later":
            await self._keep(write, waiting, verdict)
            return None
        return verdict

    def _is_void(self, write: Write) -> bool:
        """Tell whether a write demands a version that was only shown here, where another life could have it too."""
        copy = self.copies.get(write.name, now=self._now())
        is_partial = copy is not None and copy.version == 0 and bool(copy.over)
        is_create = write.if_version == 0 and is_partial
        return is_create or write.if_version in self._voided.get(write.name, ())

    async def _keep(self, write: Write, waiting: tuple[Write, ...], verdict: Verdict | None) -> None:
        now = self._chances.clock()
        wait = verdict.wait if verdict else None
        pause = self._backoff.pause(1, chance=self._chances.random(), asked=wait) if verdict else 0.0
        told = self._now()
        copy = self.copies.get(write.name, now=told)
        found = predict(copy, (*waiting, write), me=self._me, now=told)
        before = predict(copy, waiting, me=self._me, now=told)
        is_told = write.kind != "clear" and found.version != before.version
        changed = found.version if is_told else None
        foreseen = replace(write, predicted=changed, epoch=found.epoch)
        await self._kept(lambda: self._outbox.add(foreseen, due_at=now + pause, is_asked=wait is not None))
        self.note_added()

    async def _pending(self, write: Write) -> StateWritten:
        shown = await self._shown(write.name, degraded=True)
        return StateWritten(stored=True, version=shown.version, pending=True, epoch=shown.epoch)

    async def _deliver(self, name: StateName, *, deadline: float) -> None:
        """Send what waits for a state, in order, as long as it goes through."""
        goes_on = True
        while goes_on and time.monotonic() < deadline:
            entry = await self._claimed(name)
            if entry is None:
                return
            began = self.copies.tick()
            latest = min(deadline, time.monotonic() + self._budgets.attempt)
            goes_on = await self._settled(entry, await self._asked_late(entry, latest), began=began)

    async def _claimed(self, name: StateName) -> Entry | None:
        now = self._chances.clock()
        until = now + self._budgets.attempt + 1.0
        return await self._kept(lambda: self._outbox.claim(name, now=now, until=until))

    async def _asked_late(self, entry: Entry, deadline: float) -> Verdict:
        try:
            return await self._ask(entry.write.request, deadline)
        except asyncio.CancelledError:
            await self._give_back(entry, NO_ANSWER)
            raise

    async def _settled(self, entry: Entry, verdict: Verdict, *, began: int) -> bool:
        """Keep what became of a late write; tell whether the next one may follow."""
        if verdict.meaning in ("later", "strange"):
            await self._give_back(entry, verdict)
            return False
        if verdict.meaning == "done" and (entry.write.kind == "clear" or verdict.value.get("stored")):
            await self._arrived(entry, verdict, began=began)
            return True
        await self._refused(entry, verdict)
        return True

    async def _arrived(self, entry: Entry, verdict: Verdict, *, began: int) -> None:
        write = entry.write
        if write.kind == "clear":
            self._cleared(write.name, verdict)
        else:
            self._stored(write, verdict, began=began)
        is_same_life = write.epoch in ("", verdict.value.get("epoch"))
        is_foreseen = is_same_life and write.predicted in (None, verdict.value.get("version"))
        if not is_foreseen:
            await self._void(write)
        # What was computed over this write was computed over another state than there is; over one of another life it
        # may carry what was erased, and a version of this life could even fit it.
        behind = "" if is_foreseen else CONFLICT
        await self._kept(lambda: self._outbox.remove(entry.number, behind=behind, with_bodies=is_same_life))

    async def _refused(self, entry: Entry, verdict: Verdict) -> None:
        """Report a late write that was refused, and what was computed over it (SD-5)."""
        code = verdict.value.get("reason") or verdict.code
        is_erased = verdict.status == 410
        self.copies.forget(entry.write.name)
        await self._void(entry.write)
        await self._kept(
            lambda: self._outbox.refuse(
                entry.number,
                code=code,
                request_id=verdict.request_id,
                with_body=not is_erased,
                behind=code if is_erased else CONFLICT,
            )
        )
        log.warning(
            "write.refused code=%s kind=%s request_id=%s",
            code,
            entry.write.kind,
            verdict.request_id or "none",
        )

    async def _void(self, write: Write) -> None:
        """Remember the versions that were predicted from a write on, until the server is read: they never came."""
        waiting = await self._kept(self._outbox.waiting, write.name)
        versions = {each.predicted for each in (write, *waiting) if each.predicted is not None}
        self._voided.setdefault(write.name, set()).update(versions)

    async def _give_back(self, entry: Entry, verdict: Verdict) -> None:
        pause = self._backoff.pause(entry.tries + 1, chance=self._chances.random(), asked=verdict.wait)
        due_at = self._chances.clock() + pause
        is_asked = verdict.wait is not None
        await self._kept(lambda: self._outbox.retry(entry.number, due_at=due_at, is_asked=is_asked))

    def _stored(self, write: Write, verdict: Verdict, *, began: int) -> None:
        value = verdict.value
        kept = after_write(
            self.copies.raw(write.name),
            write,
            version=value["version"],
            epoch=value.get("epoch") or "none",
            began=began,
            tick=self.copies.tick(),
            now=self._now(),
        )
        self.copies.keep(write.name, kept)

    def _cleared(self, name: StateName, verdict: Verdict) -> None:
        epoch = verdict.value.get("epoch") or "none"
        self.copies.keep(name, after_clear(epoch=epoch, tick=self.copies.tick(), now=self._now()))

    async def _shown(self, name: StateName, *, degraded: bool, copy: Copy | None = None) -> StateRead:
        """Give what is known of a state with the writes that wait on top of it."""
        now = self._now()
        copy = copy or self.copies.get(name, now=now)
        waiting = await self._kept(self._outbox.waiting, name)
        found = predict(copy, waiting, me=self._me, now=now)
        known = copy if copy is not None and not copy.has_ended(now) else unknown(0)
        return StateRead(
            body=found.body,
            version=found.version or 0,
            updated_at=moment(known.updated_at),
            valid_until=moment(known.valid_until),
            epoch=known.epoch or "none",
            degraded=degraded,
            pending=len(waiting),
        )

    def _now(self) -> float:
        """Give the time by the server's clock, by which fields end and erasures are held against writes (PR-12)."""
        return self._chances.clock() + self._skew

    async def _ask(self, request: Request, deadline: float) -> Verdict:
        reply = await self._send(request, deadline=deadline)
        now = self._chances.clock()
        found = skew(reply, now=now) if reply is not None else None
        self._skew = self._skew if found is None else found
        return judge(reply, now=now, shape=SHAPES[request.path])

    async def _kept(self, ask: Callable[..., T], *values: Any) -> T:
        """Ask the outbox, beside the loop where it waits for a disk."""
        return await asyncio.to_thread(ask, *values) if self._outbox.is_durable else ask(*values)


def _written(verdict: Verdict) -> StateWritten:
    value = verdict.value
    return StateWritten(
        stored=bool(value.get("stored")),
        version=value.get("version") or 0,
        reason=value.get("reason"),
        masked=value.get("masked") or {},
        epoch=value.get("epoch") or "none",
    )
