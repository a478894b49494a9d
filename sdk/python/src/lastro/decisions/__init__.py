"""Decisions of models over the providers' own packages, with history, window and guard (HI-13 to HI-17, HI-20).

One module per provider, each with the package of its extra: `openai_responses`, `openai_chat`, `anthropic_messages`,
`gemini`; and `typed` for a generator of the host's own. A step asks, the runtime executes what it allows of the
proposal, and the next step reports what it observed:

    from openai import OpenAI

    from lastro.decisions import Ask, DecisionProvider, Observation, ProposedCalls, Tool
    from lastro.decisions.openai_responses import OpenAIResponses

    rooms = Tool(name="free_rooms", parameters={"type": "object", "properties": {"day": {"type": "string"}}})
    provider = DecisionProvider(OpenAIResponses("gpt-5.1", client=OpenAI()))
    session = provider.session(run_id="run-7", invocation_id="1", agent_ref="concierge")

    step = provider.decide(Ask(input=("A room for Friday?",), tools=(rooms,)), session)
    while isinstance(step.decision, ProposedCalls):
        observations = tuple(
            Observation(call_id=call.call_id, name=call.name, output={"free": [12, 14]})
            for call in step.decision.calls
        )
        step = provider.decide(Ask(observations=observations, tools=(rooms,)), session)
    print(step.decision.text)
"""

from lastro.decisions.provider import DecisionProvider
from lastro.decisions.records import (
    Answer,
    Ask,
    Decision,
    FinalAnswer,
    Observation,
    ProposedCall,
    ProposedCalls,
    Step,
    Tool,
    TypedAnswer,
)

__all__ = [
    "Answer",
    "Ask",
    "Decision",
    "DecisionProvider",
    "FinalAnswer",
    "Observation",
    "ProposedCall",
    "ProposedCalls",
    "Step",
    "Tool",
    "TypedAnswer",
]
