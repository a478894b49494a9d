"""The client for code that waits (SD-1 to SD-7)."""

import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lastro.client.calls import Calls
from lastro.client.graph_sync import Contexts, Graph
from lastro.client.runtime import OpensHistory, Options, Replay, Runtime, history_on
from lastro.client.scopes import Conversation, Scope, handle_of, object_id
from lastro.client.waiting import waited
from lastro.errors import InvalidCall
from lastro.outbox import Outbox
from lastro.replay import RecordedStates
from lastro.states.tuning import Budgets, Tuning
from lastro.states.types import (
    Body,
    Conflict,
    Handle,
    Mode,
    StateCleared,
    StateName,
    StateRead,
    StateWritten,
)

Change = Callable[[Body], Mapping[str, Any]]


class State:
    """The working memory of one agent in one scope."""

    def __init__(self, client: "Lastro", runtime: Runtime, name: StateName, subject: Handle | None) -> None:
        # A client that nobody holds any more is closed.
        self._client = client
        self._calls = Calls(runtime, name, subject)

    def __repr__(self) -> str:
        return f"<State {self.name.kind} agent={self.name.agent}>"

    @property
    def name(self) -> StateName:
        """Which state it is."""
        return self._calls.name

    def get(self) -> StateRead:
        """Read it within the budget of a read (250 ms); out of reach, what is known here, `degraded` (SD-3, SD-4).

        Raises ServerRefusal: Unauthenticated, NotAllowed, FeatureOff, InvalidRequest, UnexpectedAnswer.
        """
        return waited(self._calls.get())

    def put(
        self, body: Mapping[str, Any], *, mode: Mode = "merge_by_key", if_version: int | None = None
    ) -> StateWritten:
        """Replace the fields that `body` names, or with mode `cas` the whole state at `if_version` (WM-7, WM-8).

        Within the budget of a write (1 s); out of reach it is kept and sent later, `pending` (SD-4). A conflict is an
        answer: `stored` false, `reason` `conflict`. Raises InvalidBody, OutboxFull, OutboxUnavailable, ServerRefusal.
        """
        return waited(self._calls.put(body, mode=mode, if_version=if_version))

    def delete(self, *fields: str) -> StateWritten:
        """Remove fields, by a merge (WM-8)."""
        return waited(self._calls.delete(fields))

    def update(self, change: Change, *, tries: int = 5) -> StateWritten:
        """Read, let `change` make the new body of the old, and write it if nobody wrote since; else again (SD-2).

        At most `tries` times within the budget of an update (3 s). Raises StateConflict after the last.
        """
        update = self._calls.tries(tries)
        while True:
            read = waited(update.get())
            written = waited(update.put(read, change(read.body)))
            if written.reason != "conflict":
                return written
            time.sleep(update.pause())

    def clear(self, *, if_version: int | None = None) -> StateCleared:
        """Remove the whole state; it reads as never written afterwards (WM-16b). Raises ServerRefusal."""
        return waited(self._calls.clear(if_version=if_version))

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The late writes of this state that were refused, the oldest first, until dismissed (SD-5)."""
        return self._calls.conflicts()

    def dismiss_conflicts(self) -> None:
        """Forget the refused late writes, once they are dealt with."""
        self._calls.dismiss()


class Lastro:
    """A client of one workspace, for code that waits. One is enough for a process; it is safe across threads and forks.

    `outbox` keeps what could not be sent: in memory, or in a file whose path is given (SD-4). `agent` is whose states
    these are where a call names none. `history` makes the history of conversations on the
    store it is given, with limits of its own. Times are seconds. Use it in a `with`, or call `close`.
    """

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str,
        agent: str | None = None,
        outbox: Outbox | str | Path | None = None,
        budgets: Budgets | None = None,
        history: OpensHistory = history_on,
        trust_env: bool = True,
        tuning: Tuning | None = None,
    ) -> None:
        options = Options(
            agent=agent,
            outbox=outbox,
            budgets=budgets or Budgets(),
            history=history,
            trust_env=trust_env,
            tuning=tuning or Tuning(),
        )
        self._agent = agent
        self._runtime = runtime = Runtime(api_key, base_url, options)
        self._ending = weakref.finalize(self, runtime.stop)

    def __repr__(self) -> str:
        return "<Lastro>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def conversation(
        self, id: str, *, subject: Handle | str | None = None, agent: str | None = None
    ) -> Conversation[State]:
        """Name a conversation, and whom it is about."""
        return Conversation(
            id,
            subject=subject,
            agent=agent or self._agent,
            opens=self._open,
            histories=self._runtime.histories(),
        )

    def task(self, id: str, *, subject: Handle | str | None = None, agent: str | None = None) -> Scope[State]:
        """Name a task, and whom it is about."""
        return Scope("task", id, subject=subject, agent=agent or self._agent, opens=self._open)

    def object(
        self, ref: str, *, subject: Handle | str | None = None, agent: str | None = None
    ) -> Scope[State]:
        """Name an object, `type:namespace:id`, and whom it is about."""
        return Scope("object", object_id(ref), subject=subject, agent=agent or self._agent, opens=self._open)

    def subject(self, handle: Handle | str, *, agent: str | None = None) -> Scope[State]:
        """Name a person by a handle."""
        person = handle_of(handle)
        if person is None:
            raise InvalidCall("name a person by a handle")
        return Scope("subject", person.text, subject=None, agent=agent or self._agent, opens=self._open)

    @property
    def graph(self) -> Graph:
        """The runtime graph: runs, calls, results and memories (SD-10)."""
        return Graph(self, self._runtime)

    @property
    def context(self) -> Contexts:
        """Contexts for the next request of a model (SD-10)."""
        return Contexts(self, self._runtime)

    def replay(self, states: RecordedStates | None = None) -> AbstractContextManager[Replay]:
        """Let nothing leave the process: every state starts empty, or as given (SD-6).

        It holds for the calls of this thread or task, for what is started with a copy of its context, and for the
        scopes that are made within it, wherever they are used.
        """
        return self._runtime.replaying(states or {})

    def flush(self, timeout: float) -> bool:
        """Send what waits, for at most `timeout` seconds; tell whether nothing waits any more (SD-7)."""
        return waited(self._runtime.flush(timeout))

    def close(self, timeout: float | None = None) -> bool:
        """Send what waits (for at most 5 s unless told), and end; tell whether nothing waits.

        What then still waits in memory is lost, with a warning in the log; in a file it is kept.
        """
        if self._runtime.is_closed:
            return True
        seconds = self._runtime.options.budgets.close if timeout is None else timeout
        is_sent = self.flush(seconds) if self._runtime.waiting() else True
        self._ending()
        return is_sent

    def _open(self, name: StateName, subject: Handle | None) -> State:
        return State(self, self._runtime, name, subject)
