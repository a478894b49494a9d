"""A run as both clients have it: its records, and the calls of its tools (SD-10)."""

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import Token
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from lastro.assembly.records import FileRef, Message, ModelRun, RunFinished, RuntimeKind
from lastro.client.graphs import GraphCalls
from lastro.recording.places import FinalStatus, Origin, ended
from lastro.recording.tools import (
    NOT_ASKED,
    Asked,
    Calling,
    Declares,
    Executes,
    Members,
    Tool,
    calling,
    current_run,
    failure_by_type,
    tool,
)

P = ParamSpec("P")
R = TypeVar("R")
Named = Message | str
"""A message, or its id."""


def name_of(message: Named | None) -> str | None:
    """Give the id of a message."""
    return message.id if isinstance(message, Message) else message


class Running:
    """What both clients' runs are made of."""

    def __init__(self, calls: GraphCalls, origin: Origin, record: ModelRun) -> None:
        self.calls, self.origin, self.record_of_run = calls, origin, record
        self._token: Token[Executes | None] | None = None
        self._report: str = ""
        self._files: Sequence[FileRef] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.record_of_run.kind}>"

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.record_of_run.id

    @property
    def kind(self) -> RuntimeKind:
        """What kind of run it is (CA-10)."""
        return self.record_of_run.kind

    def reports(self, report: str, *, files: Sequence[FileRef] = ()) -> None:
        """Say what a sub-agent's run leaves to its parent when it ends (CA-6)."""
        self._report, self._files = report, files

    @overload
    def tool(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def tool(self, /, **members: Unpack[Members]) -> Declares: ...
    def tool(self, function: Callable[..., Any] | None = None, /, **members: Unpack[Members]) -> Any:
        """Make a tool of a function whose calls are recorded in this run, from any thread (members as of `tool`)."""

        def declares(given: Callable[P, R], /) -> Tool[P, R]:
            made = tool(**members)(given)
            made.run = self
            return made

        return declares if function is None else declares(function)

    def begin(self) -> None:
        """Record that the run began, and let the tools of this thread or task be recorded in it."""
        self.calls.note([self.record_of_run])
        self._token = current_run.set(self)

    def end(self, error: BaseException | None) -> RunFinished:
        """Give the end of the run, with the error that ended it."""
        if self._token is not None:
            current_run.reset(self._token)
        return ended(
            self.origin,
            status=_status_of(error),
            error=failure_by_type(error) if error else None,
            report=self._report,
            files=self._files,
            now=self.calls.now(),
        )

    def executed(
        self,
        tool: Tool[Any, Any],
        arguments: Mapping[str, Any],
        invoke: Callable[[], Any],
        asked: Asked = NOT_ASKED,
    ) -> Any:
        """Call a tool and record it; of a coroutine function give the coroutine that does."""
        begun = self._calling(tool, arguments, asked)
        if inspect.iscoroutinefunction(tool.function):
            return self.awaited(begun, invoke)
        return self._waited(begun, invoke)

    async def awaited(self, begun: Calling, invoke: Callable[[], Any]) -> Any:
        """Record a call, await what it gives, and record that before it is given back (CA-4)."""
        await asyncio.wrap_future(self.calls.record([begun.call]))
        try:
            given = invoke()
            value: Any = await given if inspect.isawaitable(given) else given
        except asyncio.CancelledError as error:
            # Nothing is waited for any more by who cancels.
            self.calls.keep(begun.failed(error, now=self.calls.now()))
            raise
        except BaseException as error:
            await asyncio.wrap_future(self.calls.keep(begun.failed(error, now=self.calls.now())))
            raise
        await asyncio.wrap_future(self.calls.keep(begun.answered(value, now=self.calls.now())))
        return value

    def asked_for(self, members: Mapping[str, Any], answers: Named | None) -> dict[str, Any]:
        """Give the members of the request for the context of this run."""
        origin = self.origin
        return {
            "conversation": origin.conversation,
            "branch": origin.branch,
            "participant": origin.participant,
            "kind": self.kind,
            "route": self.record_of_run.route,
            "run": self.id,
            "answers": name_of(answers) or origin.message,
            **members,
        }

    def _waited(self, begun: Calling, invoke: Callable[[], Any]) -> Any:
        """Record a call, do it, and record what it gave before it is given back (CA-4)."""
        self._wait(self.calls.record([begun.call]))
        try:
            value = invoke()
        except BaseException as error:
            self._wait(self.calls.keep(begun.failed(error, now=self.calls.now())))
            raise
        self._wait(self.calls.keep(begun.answered(value, now=self.calls.now())))
        return value

    def _wait(self, future: Any) -> None:
        """Wait for a record, or not, as the client does."""
        raise NotImplementedError

    def _calling(self, tool: Tool[Any, Any], arguments: Mapping[str, Any], asked: Asked) -> Calling:
        return calling(tool, arguments, self.origin, asked=asked, now=self.calls.now())


def _status_of(error: BaseException | None) -> FinalStatus:
    if error is None:
        return "succeeded"
    if isinstance(error, TimeoutError):
        return "timed_out"
    is_cancelled = isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit)
    return "cancelled" if is_cancelled else "failed"
