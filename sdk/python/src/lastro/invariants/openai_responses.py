"""R1 to R7: OpenAI Responses."""

from collections import Counter
from collections.abc import Iterator, Sequence

from lastro.invariants.anywhere import Told
from lastro.invariants.subject import Message, Subject, Violation

ANSWERED = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "computer_call": "computer_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "mcp_approval_request": "mcp_approval_response",
}
OUTPUTS = {output: call for call, output in ANSWERED.items()}


def _call(item: Message) -> str | None:
    kind = str(item.get("type"))
    if kind not in ANSWERED:
        return None
    return f"{kind}:{item.get('id') if kind == 'mcp_approval_request' else item.get('call_id')}"


def _output(item: Message) -> str | None:
    kind = str(item.get("type"))
    if kind not in OUTPUTS:
        return None
    return (
        f"{OUTPUTS[kind]}:{item.get('approval_request_id' if kind == 'mcp_approval_response' else 'call_id')}"
    )


def told(item: Message) -> Told:
    """Give the calls and outputs by kind and id."""
    call, output = _call(item), _output(item)
    return [call] if call else [], [output] if output else []


def r1(subject: Subject) -> Iterator[Violation]:
    """Each output has an earlier call of its kind with its id."""
    met: set[str] = set()
    for index, item in enumerate(subject.served):
        output = _output(item)
        if output is not None and output not in met:
            yield Violation("R1", index, "no such call before it")
        met.update(told(item)[0])


def r2(subject: Subject) -> Iterator[Violation]:
    """Each call has its output."""
    outputs = Counter(output for item in subject.served if (output := _output(item)))
    calls = Counter(call for item in subject.served if (call := _call(item)))
    for index, item in enumerate(subject.served):
        call = _call(item)
        if call is not None and outputs[call] < calls[call]:
            yield Violation("R2", index, "a call without its output")


def r3(subject: Subject) -> Iterator[Violation]:
    """Reasoning with an id is followed directly by an item that a model gave."""
    for index, item in enumerate(subject.served):
        following = subject.served[index + 1] if index + 1 < len(subject.served) else None
        if item.get("type") == "reasoning" and item.get("id") and not _is_produced(following):
            yield Violation("R3", index, "reasoning without the item behind it")


def _is_produced(item: Message | None) -> bool:
    if item is None or item.get("type") == "reasoning" or _output(item):
        return False
    return item.get("role") in (None, "assistant")


def r4(subject: Subject) -> Iterator[Violation]:
    """An item stored directly behind reasoning is sent behind it, or without its id."""
    if subject.stored is None or subject.sources is None:
        return
    behind = [_is_behind_reasoning(subject.stored, source) for source in subject.sources]
    for index, source in enumerate(subject.sources):
        sent = index > 0 and source is not None and subject.served[index - 1] == subject.stored[source - 1]
        if behind[index] and not sent and subject.served[index].get("id"):
            yield Violation("R4", index, "an item without its reasoning")


def _is_behind_reasoning(stored: Sequence[Message], source: int | None) -> bool:
    if not source:
        return False
    return stored[source - 1].get("type") == "reasoning" and _is_produced(stored[source])


def r5(subject: Subject) -> Iterator[Violation]:
    """Nothing refers to an item that only the provider's server has."""
    for index, item in enumerate(subject.served):
        kept = item.get("type") == "reasoning" and item.get("id") and not item.get("encrypted_content")
        if kept or item.get("type") == "item_reference":
            yield Violation("R5", index, "refers to the state of the server")


def r6(subject: Subject) -> Iterator[Violation]:
    """Reasoning keeps its `summary`, also an empty one."""
    for index, item in enumerate(subject.served):
        if item.get("type") == "reasoning" and "summary" not in item:
            yield Violation("R6", index, "reasoning without its summary")


def r7(subject: Subject) -> Iterator[Violation]:
    """Reasoning of what is sent was not lost, though a server would take the request."""
    yield from (Violation("R7", violation.index, violation.detail) for violation in r4(subject))
