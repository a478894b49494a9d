"""An agent that looks for a room, over several steps and several runs; its messages are kept between them.

    python examples/room_agent.py CONVERSATION WHAT THE GUEST SAYS
    python examples/room_agent.py CONVERSATION --recover

It asks OpenAI (OPENAI_API_KEY; OPENAI_BASE_URL for another server that speaks the Responses API). The history is in the
file `rooms.sqlite` of the folder, or, with LASTRO_KEY and LASTRO_URL, on a Lastro server.
"""

import os
import sys
from contextlib import closing

from openai import OpenAI

from lastro.decisions import (
    Ask,
    DecisionProvider,
    FinalAnswer,
    Observation,
    ProposedCall,
    ProposedCalls,
    Tool,
)
from lastro.decisions.openai_responses import OpenAIResponses
from lastro.errors import LastroError
from lastro.history import History, ServerStore, Session, SqliteStore

INSTRUCTIONS = "You find rooms for the guests of a small hotel. Be brief."
FREE_ROOMS = Tool(
    name="free_rooms",
    description="Lists the rooms that are free on a day.",
    parameters={"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]},
)


def answer(provider: DecisionProvider, session: Session, text: str) -> str:
    """Go on until the model has nothing more to ask for."""
    step = provider.decide(Ask(instructions=INSTRUCTIONS, input=(text,), tools=(FREE_ROOMS,)), session)
    while isinstance(step.decision, ProposedCalls):
        seen = tuple(executed(call) for call in step.decision.calls)
        step = provider.decide(
            Ask(instructions=INSTRUCTIONS, observations=seen, tools=(FREE_ROOMS,)), session
        )
    return step.decision.text if isinstance(step.decision, FinalAnswer) else ""


def executed(call: ProposedCall) -> Observation:
    """Do what the model proposes, if it may; here a list stands for the hotel's own system."""
    return Observation(call_id=call.call_id, name=call.name, output={"free": [12, 14]})


def store() -> SqliteStore | ServerStore:
    """Keep sessions on a server where there is one, else in a file."""
    if key := os.environ.get("LASTRO_KEY"):
        return ServerStore(key, base_url=os.environ["LASTRO_URL"])
    return SqliteStore("rooms.sqlite")


def main(conversation: str, *words: str) -> int:
    """Answer one message of a guest, or free what a stopped worker has left."""
    with closing(store()) as kept:
        model = OpenAIResponses(os.environ.get("MODEL", "gpt-5.1"), client=OpenAI())
        provider = DecisionProvider(model, history=History(kept, namespace="hotel", max_messages=40))
        session = provider.session(conversation, conversation=conversation, worker=f"worker {os.getpid()}")
        try:
            if words == ("--recover",):
                session.recover(worker_stopped=True)
            else:
                print(answer(provider, session, " ".join(words)))
        except LastroError as refusal:
            print(f"{refusal.code}: {refusal}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
