"""A case as its file says it (schema `history-case/1`): what is stored, what is done, and what must come of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lastro.history.records import Message, Provider
from lastro.testing.cases.names import act_of, argument_of, dialect_of, outcome_of

SCHEMA = "history-case/1"
NEUTRAL = "neutral"


class CaseUnreadable(Exception):
    """A file is no case: not JSON, another schema, or a member is missing."""


def members(value: Any) -> Mapping[str, Any]:
    """Give the members of an object of the file, none where it is absent."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def elements(value: Any) -> Sequence[Any]:
    """Give the elements of an array of the file, none where it is absent."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


@dataclass(frozen=True, slots=True)
class Step:
    """One act of a case: its name, and its members as they stand in the file."""

    do: str
    members: Mapping[str, Any]

    @property
    def args(self) -> Mapping[str, Any]:
        """Give the arguments of the act, by their names in one way of writing."""
        return {argument_of(name): value for name, value in members(self.members.get("args")).items()}

    @property
    def expected(self) -> str:
        """Give the outcome that the file names for this act, "" for none."""
        return outcome_of(self.members.get("expect"))

    def word(self, *names: str) -> str:
        """Give the first of these members that is there, as a text."""
        return next((str(self.members[name]) for name in names if self.members.get(name) is not None), "")


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `given` is what is stored, by the id that each message gets; `steps` what is done with it."""

    id: str
    kind: str
    provider: Provider
    title: str
    input: Mapping[str, Any]
    given: Mapping[str, Message]
    steps: Sequence[Step]
    expect: Mapping[str, Any]
    needs_assembly: bool

    @property
    def outcomes(self) -> Sequence[str]:
        """Give the results that are allowed: `ok`, `refused`."""
        return [str(name) for name in self.expect.get("outcomes") or ("ok",)]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Give the values to compare."""
        return members(self.expect.get("facts"))

    @property
    def is_clocked(self) -> bool:
        """Tell whether the case sets the time."""
        return "stored_at" in self.input or any(step.do == "at" for step in self.steps)

    @property
    def dialect(self) -> str:
        """Give the words of the dialect that the served windows are for."""
        return dialect_of(self.input, [str(name) for name in elements(self.expect.get("invariants"))])

    @property
    def summarizes_itself(self) -> bool:
        """Tell whether the steps say when there is a summary."""
        return any(step.do in ("at", "summarize") for step in self.steps)

    @property
    def appends_itself(self) -> bool:
        """Tell whether the steps say when each given message is stored."""
        return any("indices" in step.members or "index" in step.members for step in self.steps)


def read_case(path: Path) -> Case:
    """Read a file. Raises CaseUnreadable."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        return _case(whole)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CaseUnreadable(f"{path.name}: {type(error).__name__}") from error


def _case(whole: Mapping[str, Any]) -> Case:
    if whole["schema"] != SCHEMA:
        raise ValueError("another schema")
    operation, given = whole["operation"], whole["input"]
    return Case(
        id=str(whole["id"]),
        kind=str(whole["kind"]),
        provider=whole["provider"],
        title=str(whole.get("title") or ""),
        input=given,
        given=_given(given),
        steps=_steps(operation),
        expect=whole["expect"],
        needs_assembly=whole["provider"] == NEUTRAL,
    )


def _given(given: Mapping[str, Any]) -> Mapping[str, Message]:
    if "tree" in given:
        return {str(node["id"]): node["message"] for node in given["tree"]}
    messages = elements(
        json.loads(given["messages_json"]) if "messages_json" in given else given.get("messages")
    )
    return {item_id(index): message for index, message in enumerate(messages)}


def item_id(index: int) -> str:
    """Name the item that a given message is stored as."""
    return f"m{index}"


def _steps(operation: Mapping[str, Any]) -> Sequence[Step]:
    if operation["name"] != "sequence":
        return [_step(str(operation["name"]), operation)]
    return [_step(str(step["do"]), step) for step in operation["steps"]]


def _step(name: str, found: Mapping[str, Any]) -> Step:
    return Step(act_of(name, found), found)
