"""What a correct server does with one operation on one state (WM-7 to WM-18), without time and without stores."""

from typing import NamedTuple

import msgspec

from tests.linearizability.history import Answer, Body, Operation, Outcome, body_of, size_of

REMEMBERED = 32


class State(NamedTuple):
    """A state between two operations. `numbering` goes on over deletions, `life` counts how often it began."""

    numbering: int = 0
    life: int = 0
    is_live: bool = False
    body: Body = ()
    memory: tuple[tuple[str, int, int], ...] = ()

    @property
    def version(self) -> int:
        return self.numbering if self.is_live else 0


class Expected(NamedTuple):
    """The answer that is right; the epoch is that of a life, whatever its word is. A life of 0 is none."""

    outcome: Outcome
    version: int = 0
    life: int = 0
    body: Body = ()

    def justifies(self, answer: Answer) -> bool:
        """Tell whether an answer is this one, but for the word of its epoch."""
        is_same = (self.outcome, self.version, self.body) == (answer.outcome, answer.version, answer.body)
        return is_same and (self.life == 0) == (answer.epoch == "none")


class Model(msgspec.Struct, frozen=True):
    """The declared fields and the cap of the type that the states have."""

    declared: frozenset[str]
    cap_bytes: int

    def perform(self, state: State, operation: Operation) -> tuple[Expected, State]:
        """Give the right answer to an operation at this point, and the state after it."""
        if operation.kind == "read":
            return Expected("read", state.version, _life(state), state.body), state
        if operation.kind == "delete":
            return self._delete(state, operation)
        return self._write(state, operation)

    def _delete(self, state: State, operation: Operation) -> tuple[Expected, State]:
        if operation.demanded not in (None, state.version):
            return Expected("conflict"), state
        if not state.is_live:
            return Expected("absent"), state
        return Expected("deleted"), state._replace(is_live=False, body=())

    def _write(self, state: State, operation: Operation) -> tuple[Expected, State]:
        if operation.name:
            for name, version, life in state.memory:
                if name == operation.name:
                    return Expected("stored", version, life), state
        if operation.demanded not in (None, state.version):
            return Expected("conflict"), state
        if not self._is_declared(operation):
            return Expected("not_declared_field", state.version, _life(state)), state
        body = _next_body(state, operation)
        if size_of(body) > self.cap_bytes:
            return Expected("over_cap", state.version, _life(state)), state
        return _stored(state, operation, body)

    def _is_declared(self, operation: Operation) -> bool:
        return self.declared >= operation.changes.keys()


def _life(state: State) -> int:
    return state.life if state.is_live else 0


def _next_body(state: State, operation: Operation) -> Body:
    kept = dict(state.body) if operation.kind == "merge" else {}
    changed = {**kept, **operation.changes}
    return body_of({field: value for field, value in changed.items() if value is not None})


def _stored(state: State, operation: Operation, body: Body) -> tuple[Expected, State]:
    version, life = state.numbering + 1, state.life if state.is_live else state.life + 1
    memory = state.memory
    if operation.name:
        memory = (*memory, (operation.name, version, life))[-REMEMBERED:]
    return Expected("stored", version, life), State(version, life, is_live=True, body=body, memory=memory)
