"""What a step asks of a model and what it decides, in no provider's words. Pure values; a `repr` shows no content."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lastro.decisions.schemas import require_schema
from lastro.history.records import Message
from lastro.history.windows import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A capability that the model may propose to call; `parameters` is the JSON Schema of its arguments.

    Raises ValueError for a schema that is none, or that points to another document.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def __post_init__(self) -> None:
        require_schema(self.parameters, of=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the runtime reports of a call that it executed: never what was proposed only (HI-13).

    `call_id` names the proposed call, `output` is text or JSON. `inputs` are the arguments as the runtime projects
    them; they are shown where the model's own call is not kept. `provisional` marks a result that is not final yet.
    """

    call_id: str
    name: str
    output: Any = field(repr=False)
    inputs: Any = field(default=None, repr=False)
    is_error: bool = False
    provisional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The shape of a structured decision: a JSON Schema, and what makes the host's own type of it.

    `strict` has OpenAI hold its model to the schema, which then must be of its strict subset. `parse` may refuse with
    ValueError or TypeError: the decision is then not valid. Raises ValueError for a schema that is none, or that points
    to another document.
    """

    schema: Mapping[str, Any]
    name: str = "decision"
    strict: bool = True
    parse: Callable[[Any], Any] = lambda value: value

    def __post_init__(self) -> None:
        require_schema(self.schema, of=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One step: instructions, what the user says (text, or messages of the provider), and what the runtime observed."""

    instructions: str = field(default="", repr=False)
    input: tuple[str | Message, ...] = field(default=(), repr=False)
    observations: tuple[Observation, ...] = ()
    tools: tuple[Tool, ...] = ()
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A call that the model proposes; nothing was executed. `arguments` fit the tool's schema."""

    call_id: str
    name: str
    arguments: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ProposedCalls:
    """The model asks for calls, with what it said beside them."""

    calls: tuple[ProposedCall, ...]
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The model answers in words."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """The model answers with an object of the asked shape; `value` is what `Answer.parse` made of it."""

    value: Any = field(repr=False)


Decision = ProposedCalls | FinalAnswer | TypedAnswer


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's answer: its decision, and the messages to keep, byte for byte."""

    decision: Decision
    messages: tuple[Message, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Step:
    """What a step decided, and the window that it was shown."""

    decision: Decision
    window: Window
