"""A turn played again: every state starts empty or as it was recorded, and nothing leaves the process (SD-6).

The executor answers as the server does, by the same rules for versions, merges and removals, so that everything above
it is the same code as in life. It knows no object types: every field counts as declared, and nothing is masked.
"""

import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from lastro.states.answers import Reply
from lastro.states.bodies import compact, detached, json_object, merged
from lastro.states.types import Body, ScopeKind, StateName, StateRead
from lastro.states.writes import CLEAR, WRITE, Request, rfc3339

RecordedStates = Mapping[StateName, StateRead | Mapping[str, Any]]
"""What a recorded turn had read: by state, the read itself, or its body at version 1."""


@dataclass(frozen=True, slots=True)
class _Stored:
    body: Body = field(default_factory=dict[str, Any], repr=False)
    version: int = 0
    life: int = 0
    updated_at: float | None = None
    is_live: bool = False

    @property
    def epoch(self) -> str:
        return f"replay-{self.life}" if self.is_live else "none"

    @property
    def shown_version(self) -> int:
        return self.version if self.is_live else 0


class Executor:
    """Keeps the states of one replay, and answers requests about them as the server would."""

    def __init__(self, states: RecordedStates, *, now: float) -> None:
        self._states = {name: _recorded(found, now=now) for name, found in states.items()}
        self._answers: dict[str, Reply] = {}
        self._now = now

    def send(self, request: Request, *, deadline: float) -> Awaitable[Reply | None]:
        """Answer a request at once."""
        return _at_once(self.answer(request))

    def answer(self, request: Request) -> Reply:
        """Answer a request; one sent again under its key gets its first answer (WM-15)."""
        if request.key in self._answers:
            return self._answers[request.key]
        form: dict[str, Any] = json.loads(request.raw)
        scope = form["scope"]
        name = StateName(cast(ScopeKind, scope["kind"]), scope["id"], form["agent"])
        reply = self._answered((request.method, request.path), name, form)
        if request.key and reply.status == 200:
            self._answers[request.key] = reply
        return reply

    def found(self) -> dict[StateName, StateRead]:
        """Give every state that lives here now."""
        return {
            name: StateRead(body=detached(state.body), version=state.version, epoch=state.epoch)
            for name, state in self._states.items()
            if state.is_live
        }

    def _answered(self, way: tuple[str, str], name: StateName, form: dict[str, Any]) -> Reply:
        state = self._states.get(name, _Stored())
        if way not in (WRITE, CLEAR):
            return _read(state)
        wanted: int | None = form.get("if_version")
        if wanted is not None and wanted != state.shown_version:
            return _reply(412, {"code": "agent_state_conflict", "status": 412})
        if way == CLEAR:
            self._states[name] = replace(state, body={}, is_live=False)
            return _reply(200, {"deleted": state.is_live, "version": 0, "epoch": "none"})
        return self._write(name, state, form)

    def _write(self, name: StateName, state: _Stored, form: dict[str, Any]) -> Reply:
        body = form["body"] if form["mode"] == "cas" else merged(state.body, form["body"])
        life = state.life if state.is_live else state.life + 1
        stored = _Stored(body, state.version + 1, life, self._now, is_live=True)
        self._states[name] = stored
        answer: dict[str, Any] = {"stored": True, "version": stored.version, "reason": None, "masked": {}}
        return _reply(200, {**answer, "epoch": stored.epoch})


def _recorded(found: StateRead | Mapping[str, Any], *, now: float) -> _Stored:
    read = found if isinstance(found, StateRead) else StateRead(body=dict(found), version=1)
    body = json_object(read.body, removes=False)
    return _Stored(body, read.version, 1, now, is_live=read.version > 0)


def _read(state: _Stored) -> Reply:
    at = rfc3339(state.updated_at) if state.is_live and state.updated_at is not None else None
    answer = {"version": state.shown_version, "updated_at": at, "valid_until": None}
    return _reply(200, {**answer, "body": state.body, "epoch": state.epoch, "expires": {}})


def _reply(status: int, body: dict[str, Any]) -> Reply:
    return Reply(status, {}, compact(body))


async def _at_once(reply: Reply) -> Reply:
    return reply
