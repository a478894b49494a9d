"""What a tool declares of its records, and the records of one call of it: before it runs, and when it has (CA-4)."""

import functools
import inspect
import json
import math
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, cast

from lastro.assembly.extractors import EXTRACTORS, Extractor, extract
from lastro.assembly.locators import canonical
from lastro.assembly.records import (
    Failure,
    Freshness,
    Isolation,
    Payload,
    Privacy,
    Record,
    RetryContract,
    ToolArtifact,
    ToolCall,
    ToolMemory,
    Visibility,
)
from lastro.assembly.records.classes import MUST_GO_STALE
from lastro.assembly.records.forms import SURROGATES
from lastro.errors import InvalidCall
from lastro.recording.places import Origin

P = ParamSpec("P")
R = TypeVar("R")
MESSAGE_CHARACTERS = 4_096

Extracts = bool | Extractor | Mapping[str, Extractor]
"""Which extractors make a memory of a result: all of `lastro.assembly.extractors`, none, or those given."""


@dataclass(frozen=True, slots=True)
class Later:
    """What a tool gives whose result is not there yet: `pending` comes by itself, for `deferred` somebody must act."""

    status: Literal["pending", "deferred"] = "pending"
    retry: RetryContract | None = None


def failure_by_type(error: BaseException) -> Failure:
    """Give an error of a tool as it is recorded: its type and its message."""
    return Failure(code=type(error).__name__[:256], message=_whole(str(error))[:MESSAGE_CHARACTERS])


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a tool says of itself once; it holds for the records of each call.

    `freshness` and `lives` replace those of the extractor: what is `volatile` or `bounded` goes stale after `lives`.
    `failure` and `retry` read an exception: what is recorded of it, and what a retry needs.
    """

    name: str
    version: str | None = None
    privacy: Privacy = "internal"
    visibility: Visibility = "participant"
    isolation: Isolation = "shared"
    freshness: Freshness | None = None
    lives: timedelta | None = None
    extract: Extracts = True
    failure: Callable[[BaseException], Failure] = failure_by_type
    retry: Callable[[BaseException], RetryContract | None] = lambda _: None

    def __post_init__(self) -> None:
        if self.freshness in MUST_GO_STALE and self.lives is None:
            raise InvalidCall(f"what is {self.freshness} says for how long it lives")

    @property
    def classes(self) -> dict[str, Any]:
        """Give the members of each record that it decides."""
        return {"privacy": self.privacy, "visibility": self.visibility, "isolation": self.isolation}


class Members(TypedDict, total=False):
    """What a tool may say of itself; see Declared."""

    name: str
    version: str
    privacy: Privacy
    visibility: Visibility
    isolation: Isolation
    freshness: Freshness
    lives: timedelta
    extract: Extracts
    failure: Callable[[BaseException], Failure]
    retry: Callable[[BaseException], RetryContract | None]


class Tool(Generic[P, R]):
    """A function whose calls are recorded within a run (`with ...run(...)`); elsewhere it is no more than that."""

    def __init__(self, function: Callable[P, R], declared: Declared) -> None:
        self.function = function
        self.declared = declared
        self.run: Executes | None = None
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        """Call it: recorded, if the caller is within a run. An exception is recorded and raised again."""
        run = self.run or current_run.get()
        if run is None:
            return self.function(*args, **named)
        arguments = arguments_of(self.function, args, named)
        return cast(R, run.executed(self, arguments, functools.partial(self.function, *args, **named)))


class Executes(Protocol):
    """A run, as a tool meets it."""

    def executed(
        self, tool: "Tool[Any, Any]", arguments: Mapping[str, Any], invoke: Callable[[], Any]
    ) -> Any:
        """Call a tool and record it."""
        ...


current_run: ContextVar[Executes | None] = ContextVar("lastro_run", default=None)


class Declares(Protocol):
    """Makes a tool of a function."""

    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...


def tool(**members: Unpack[Members]) -> Declares:
    """Make a tool of a function, plain or async: within a run each call is recorded (see Declared for the members)."""

    def declares(function: Callable[P, R], /) -> Tool[P, R]:
        named: Members = {"name": function.__name__, **members}
        return Tool(function, Declared(**named))

    return declares


def tool_of(function: Callable[..., Any]) -> Tool[Any, Any]:
    """Give a function as a tool, with what holds where nothing is declared."""
    if isinstance(function, Tool):
        return function  # pyright: ignore[reportUnknownVariableType]
    return Tool(function, Declared(name=function.__name__))


def arguments_of(
    function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Give the arguments of a call by their names."""
    bound = inspect.signature(function).bind(*args, **named)
    found = dict(bound.arguments)
    kinds = {one.name: one.kind for one in bound.signature.parameters.values()}
    for name, kind in kinds.items():
        if kind is inspect.Parameter.VAR_KEYWORD:
            found |= found.pop(name, {})
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """How a model asked for a call: under which id, in which of the run's responses, and what must go back with it."""

    id: str | None = None
    in_round: int | None = None
    provider_metadata: Any = field(default=None, repr=False)


NOT_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class Calling:
    """One call: its records before it runs, and when it has."""

    declared: Declared
    origin: Origin
    call: ToolCall = field(repr=False)

    def answered(self, value: Any, *, now: datetime) -> "Answer":
        """Give the records of a result; of bytes the payload goes apart, as it is."""
        if isinstance(value, Later):
            return Answer((self._artifact(now, status=value.status, retry=value.retry),))
        if isinstance(value, bytes | bytearray):
            raw = bytes(value)
            placeholder = Payload(media_type="application/octet-stream")
            return self._with_memory(self._artifact(now, status="succeeded", result=placeholder), raw, now)
        kept = json_of(value)
        media_type = "text/plain" if isinstance(kept, str) else "application/json"
        result = Payload(value=kept, media_type=media_type)
        return self._with_memory(self._artifact(now, status="succeeded", result=result), None, now)

    def failed(self, error: BaseException, *, now: datetime) -> "Answer":
        """Give the records of a call that raised."""
        declared = self.declared
        artifact = self._artifact(
            now, status="failed", error=declared.failure(error), retry=declared.retry(error)
        )
        return self._with_memory(artifact, None, now)

    def _artifact(self, now: datetime, **members: Any) -> ToolArtifact:
        declared = self.declared
        return self.origin.made(
            ToolArtifact,
            now=now,
            id=f"{self.call.id}.result" if len(self.call.id) <= 57 else None,
            call=self.call.id,
            tool=declared.name,
            tool_version=declared.version,
            **declared.classes,
            **members,
        )

    def _with_memory(self, artifact: ToolArtifact, raw: bytes | None, now: datetime) -> "Answer":
        payloads = {} if raw is None else {artifact.id: raw}
        memory = self._memory(artifact, raw)
        return Answer((artifact,) if memory is None else (artifact, memory), payloads)

    def _memory(self, artifact: ToolArtifact, raw: bytes | None) -> ToolMemory | None:
        extractors = _extractors(self.declared.extract)
        if not extractors:
            return None
        result = artifact.result
        payload = canonical(result.value) if raw is None and result is not None else raw
        memory = extract(artifact, payload=payload, extractors=extractors)
        return None if memory is None else self._aged(memory)

    def _aged(self, memory: ToolMemory) -> ToolMemory:
        declared = self.declared
        if declared.freshness is None:
            return memory
        ends = memory.observed_at + declared.lives if declared.lives else None
        return replace(memory, freshness=declared.freshness, stale_after=ends)


@dataclass(frozen=True, slots=True)
class Answer:
    """The records of what came of a call, and the payload that goes apart."""

    records: tuple[Record, ...]
    payloads: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)


def calling(
    tool: Tool[Any, Any],
    arguments: Mapping[str, Any],
    origin: Origin,
    *,
    asked: Asked,
    now: datetime,
) -> Calling:
    """Begin a call: under the id that the model gave it, where it gave one."""
    declared = tool.declared
    call = origin.made(
        ToolCall,
        now=now,
        id=asked.id,
        tool=declared.name,
        arguments=Payload(value=json_of(dict(arguments))),
        round=asked.in_round,
        provider_metadata=asked.provider_metadata,
        **declared.classes,
    )
    return Calling(declared, origin, call)


def json_of(value: Any) -> Any:
    """Give a value as JSON: models and dataclasses as their members, what has no such form by the name of its type."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_told)
        return json.loads(_whole(text), parse_constant=str, parse_float=_finite)
    except (TypeError, ValueError, RecursionError):
        return {"type": type(value).__name__}


def _told(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(cast("set[Any]", value), key=str)
    if isinstance(value, datetime):
        return value.isoformat()
    return {"type": type(value).__name__}


def _finite(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _whole(text: str) -> str:
    return SURROGATES.sub("\ufffd", text)


def _extractors(wanted: Extracts) -> Mapping[str, Extractor]:
    if isinstance(wanted, bool):
        return EXTRACTORS if wanted else {}
    return {"own": wanted} if callable(wanted) else wanted
