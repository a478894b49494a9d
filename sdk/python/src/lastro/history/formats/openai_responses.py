"""OpenAI Responses: items instead of messages; a response is a run of them (R1 to R7)."""

from collections.abc import Sequence, Set

from lastro.history.formats.shapes import (
    NOT_EXECUTED,
    Call,
    Flaw,
    Format,
    Reading,
    Result,
    text,
)
from lastro.history.records import Message

STATELESS = frozenset({"stateless", "store=false"})
Mended = tuple[Message | None, tuple[Flaw, ...]]


class OpenAIResponses(Format):
    """Items with a type; what the model gave in a row is one response, with the reasoning that it came with."""

    provider = "openai.responses"
    orphan_rule = "R1"
    runs = True

    def read(self, message: Message) -> Reading:
        """Tell by type and role; a call that the provider ran itself has no `call_id` and waits for nothing."""
        kind = text(message.get("type"))
        result = _result(message, kind)
        if result is not None:
            return Reading("results", results=(result,))
        role = message.get("role")
        if role in ("system", "developer"):
            return Reading("instruction")
        if role is not None and role != "assistant":
            return Reading("input")
        return Reading("response", calls=_calls(message, kind))

    def mended_run(self, messages: Sequence[Message], *, words: Set[str]) -> tuple[Mended, ...]:
        """Leave out reasoning whose item is not there (R3), and what needs the server's own state (R5)."""
        lost = [bool(words & STATELESS) and _is_lost(message) for message in messages]
        freed = False
        mended: list[Mended] = []
        for message, following, gone in zip(messages, [*messages[1:], None], lost, strict=True):
            reasons = message.get("type") == "reasoning"
            freed = gone if reasons else freed
            mended.append(_mended(message, following=following, lost=gone, freed=freed and not reasons))
        return tuple(mended)

    def item_id(self, message: Message) -> str:
        """Give the id of the item; a reference to one stands for it."""
        return text(message.get("id"))

    def leads(self, message: Message) -> bool:
        """Tell reasoning by its type (R4)."""
        return message.get("type") == "reasoning"

    def anonymous(self, message: Message) -> Message:
        """Take the id; a reference is nothing else."""
        return message if message.get("type") == "item_reference" else _without_id(message)

    def not_executed(self, call: Call) -> Message:
        """Write an output of the call's kind that says so; an approval is refused."""
        if call.kind == "mcp_approval_request":
            refused = {"approval_request_id": call.id, "approve": False, "reason": NOT_EXECUTED}
            return {"type": "mcp_approval_response", **refused}
        output: object = NOT_EXECUTED
        if call.kind == "shell_call":
            output = [{"stdout": "", "stderr": NOT_EXECUTED, "outcome": {"type": "exit", "exit_code": 1}}]
        return {"type": f"{call.kind or 'function_call'}_output", "call_id": call.id, "output": output}

    def summary(self, text: str) -> Message:
        """Write a user's message."""
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def _result(message: Message, kind: str) -> Result | None:
    if kind.endswith("_call_output"):
        return Result(0, text(message.get("call_id")), kind=kind.removesuffix("_output"))
    if kind == "mcp_approval_response":
        return Result(0, text(message.get("approval_request_id")), kind="mcp_approval_request")
    if kind == "tool_search_output" and message.get("execution") == "client":
        return Result(0, text(message.get("call_id")), kind="tool_search_call")
    return None


def _calls(message: Message, kind: str) -> tuple[Call, ...]:
    if kind == "mcp_approval_request":
        return (Call(0, text(message.get("id")), text(message.get("name")), kind=kind),)
    waits = kind.endswith("_call") and message.get("call_id") and message.get("execution") != "server"
    return (Call(0, text(message.get("call_id")), text(message.get("name")), kind=kind),) if waits else ()


def _is_lost(message: Message) -> bool:
    """Say whether an item lives on the provider's server alone."""
    if message.get("type") == "item_reference":
        return True
    return (
        message.get("type") == "reasoning"
        and bool(message.get("id"))
        and not message.get("encrypted_content")
    )


def _mended(message: Message, *, following: Message | None, lost: bool, freed: bool) -> Mended:
    if lost:
        return None, (Flaw("R5"),)
    if message.get("type") != "reasoning":
        return (_without_id(message) if freed else message), ()
    if message.get("id") and (following is None or following.get("type") == "reasoning"):
        return None, (Flaw("R3"),)
    return (message, ()) if "summary" in message else ({**message, "summary": []}, (Flaw("R6"),))


def _without_id(message: Message) -> Message:
    """Let the id go with the reasoning that it was given beside (R4); an approval is answered by it."""
    if message.get("type") == "mcp_approval_request" or "id" not in message:
        return message
    return {name: value for name, value in message.items() if name != "id"}
