"""From a model's answer to a typed decision, or to the diagnosis why there is none (HI-20). Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from lastro.decisions.records import (
    Answer,
    Ask,
    Decision,
    FinalAnswer,
    ProposedCall,
    ProposedCalls,
    Tool,
    TypedAnswer,
)
from lastro.decisions.schemas import fits, is_list
from lastro.history.errors import AgentDecisionProviderSchemaViolation


@dataclass(frozen=True, slots=True)
class Heard:
    """What an answer held: text, calls as (id, name, arguments), and why the model stopped, in our words ("": done).

    Arguments are JSON text, or the value where the provider sends one.
    """

    text: str = field(repr=False)
    calls: tuple[tuple[Any, Any, Any], ...] = field(default=(), repr=False)
    stopped: str = ""


def violation(code: str) -> AgentDecisionProviderSchemaViolation:
    """Give the error for an answer without a decision."""
    return AgentDecisionProviderSchemaViolation(code)


def decided(heard: Heard, ask: Ask) -> Decision:
    """Give the decision of an answer (HI-20).

    Raises AgentDecisionProviderSchemaViolation with one of: truncated, refused, filtered, no_decision, unknown_tool,
    malformed_call, malformed_arguments, arguments_mismatch, malformed_json, schema_mismatch.
    """
    if heard.stopped:
        raise violation(heard.stopped)
    if ask.answer is not None:
        return TypedAnswer(_typed(heard, ask.answer))
    if heard.calls:
        return ProposedCalls(_calls(heard.calls, ask.tools), heard.text)
    if not heard.text.strip():
        raise violation("no_decision")
    return FinalAnswer(heard.text)


def _typed(heard: Heard, answer: Answer) -> Any:
    if not heard.text.strip():
        raise violation("no_decision")
    value = parsed(heard.text, code="malformed_json")
    if not fits(value, answer.schema):
        raise violation("schema_mismatch")
    try:
        return answer.parse(value)
    except (ValueError, TypeError):
        pass
    # Outside of the handler: the host's own words may quote the model, and would travel as the cause.
    raise violation("schema_mismatch")


def _calls(calls: Sequence[tuple[Any, Any, Any]], tools: Sequence[Tool]) -> tuple[ProposedCall, ...]:
    ids = [id for id, _, _ in calls]
    if not all(isinstance(id, str) and id for id in ids) or len(set(ids)) < len(ids):
        raise violation("malformed_call")
    return tuple(_call(id, name, arguments, tools) for id, name, arguments in calls)


def _call(id: str, name: Any, arguments: Any, tools: Sequence[Tool]) -> ProposedCall:
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise violation("unknown_tool")
    value = parsed(arguments or "{}", code="malformed_arguments") if isinstance(arguments, str) else arguments
    if not is_object(value):
        raise violation("malformed_arguments")
    if not fits(value, tool.parameters):
        raise violation("arguments_mismatch")
    return ProposedCall(id, tool.name, value)


def parsed(text: str, *, code: str) -> Any:
    """Read strict JSON; anything else is a violation."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        pass
    raise violation(code)


def _no_constant(_: str) -> Any:
    raise ValueError


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Say whether a value is a JSON object."""
    return isinstance(value, dict)


def member(value: Any, *path: str | int) -> Any:
    """Give what stands at a path of an answer, None where it holds something else."""
    for step in path:
        if isinstance(step, str) and is_object(value):
            value = value.get(step)
        elif isinstance(step, int) and is_list(value) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


def objects(value: Any) -> list[dict[str, Any]]:
    """Give a list of objects; anything else is no answer that can be read."""
    if not is_list(value) or not all(map(is_object, value)):
        raise violation("unexpected_shape")
    return value


def text_of(output: Any) -> str:
    """Give a result as the text that providers take: text as it is, anything else as JSON."""
    return (
        output
        if isinstance(output, str)
        else json.dumps(output, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    )
