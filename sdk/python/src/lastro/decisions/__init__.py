"""Decisions of models over the providers' own packages, with history, window and guard (HI-13 to HI-17, HI-20).

One module per provider, each with the package of its extra: `openai_responses`, `openai_chat`, `anthropic_messages`,
`gemini`.
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
