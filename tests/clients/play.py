"""Play scenes with the published client: `python play.py sync|async`, a plan on stdin, what it saw on stdout.

It runs with nothing but the client on its path, and gives it a key and a base URL as for any server. Each scene is
written once: `got` waits for what the async client gives and passes on what the sync one gives, and the sync client
never meets an event loop. A plan is a JSON object of parts: {"scene", "key", "url"} and what the scene needs.
"""

import asyncio
import inspect
import json
import logging
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import niadra  # type: ignore[import-not-found]  # the client lies apart from our environment
from niadra.models.state import (  # type: ignore[import-not-found]
    AgentStateReadRequest,
    AgentStateScope,
    AgentStateWrite,
)

IS_ASYNC = sys.argv[1] == "async"
PHONE = "+55 11 91234-5678"
OTHER_PHONE = "+55 21 98765-4321"
Answers = dict[str, Any]
Part = dict[str, str]
Scene = Callable[[Any, Part], Coroutine[Any, Any, Answers]]


class Noted(logging.Handler):
    """Keeps what the client logs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


async def got(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def pause(seconds: float) -> None:
    if IS_ASYNC:
        await asyncio.sleep(seconds)
    else:
        time.sleep(seconds)


@asynccontextmanager
async def entered(thing: Any) -> AsyncIterator[Any]:
    if IS_ASYNC:
        async with thing as inner:
            yield inner
    else:
        with thing as inner:
            yield inner


def client(part: Part, **options: Any) -> Any:
    kind = niadra.AsyncNiadra if IS_ASYNC else niadra.Niadra
    return kind(part["key"], **{"base_url": part["url"], "channel": "whatsapp"} | options)


def shown(answer: Any) -> Answers:
    """Give an answer of the client as JSON."""
    if hasattr(answer, "model_dump"):
        return dict(answer.model_dump(mode="json"))
    members = {
        name: getattr(answer, name)
        for name in ("body", "version", "stored", "reason", "pending", "degraded")
        if hasattr(answer, name)
    }
    return members | ({"updated": answer.updated_at is not None} if hasattr(answer, "updated_at") else {})


async def states(ours: Any, part: Part) -> Answers:
    """Read, cas, merge, conflict, a field that is not declared; a second client sees the same."""
    async with entered(ours.conversation(agent_id="order-taker")) as talk, entered(client(part)) as other:
        state = talk.agent_state
        seen: Answers = {"never": shown(await got(state.get()))}
        seen["created"] = shown(await got(state.put({"step": "cart", "cart": ["tea"]}, mode="cas")))
        seen["read"] = shown(await got(state.get()))
        seen["twice"] = shown(await got(state.put({"step": "done"}, mode="cas")))
        seen["replaced"] = shown(
            await got(state.put({"step": "delivery", "cart": []}, mode="cas", if_version=1))
        )
        seen["merged"] = shown(await got(state.put({"qty": 2})))
        seen["stale"] = shown(await got(state.put({"qty": 3}, if_version=1)))
        seen["removed"] = shown(await got(state.put({"cart": {"$delete": True}})))
        seen["undeclared"] = shown(await got(state.put({"wish": "x"})))
        seen["at_the_end"] = shown(await got(state.get()))
        async with entered(other.conversation(talk.id, agent_id="order-taker")) as same:
            seen["elsewhere"] = shown(await got(same.agent_state.get()))
    async with entered(ours.task(agent_id="order-taker")) as task:
        await got(task.agent_state.put({"step": "cart"}))
        seen["task"] = shown(await got(task.agent_state.get()))
    return seen


async def masking(ours: Any, part: Part) -> Answers:
    """What is masked shows at the next get, at the same version."""
    async with entered(ours.conversation(agent_id="order-taker")) as talk:
        stored = shown(await got(talk.agent_state.put({"phone": PHONE, "remark": "4111 1111 1111 1111"})))
        return {"stored": stored, "read": shown(await got(talk.agent_state.get()))}


async def too_big(ours: Any, part: Part) -> Answers:
    """A state of 100,000 characters, over the cap or where there is none."""
    async with entered(ours.conversation(agent_id="order-taker")) as talk:
        await got(talk.agent_state.put({"step": "cart"}))
        stored = shown(await got(talk.agent_state.put({"remark": "x" * 100_000})))
        read = await got(talk.agent_state.get())
        return {"stored": stored, "fields": sorted(read.body), "version": read.version}


async def refused(ours: Any, part: Part) -> Answers:
    """A put and a get that the server refuses."""
    async with entered(ours.conversation(agent_id="order-taker")) as talk:
        return {
            "stored": shown(await got(talk.agent_state.put({"step": "cart"}))),
            "read": shown(await got(talk.agent_state.get())),
            "waiting": len(ours._outbox),
        }


async def outage(ours: Any, part: Part) -> Answers:
    """The line is cut: writes are kept and arrive later; a cas that met a newer version is reported."""
    switch = Path(part["switch"])
    async with (
        entered(ours.conversation(agent_id="order-taker")) as talk,
        entered(ours.conversation(agent_id="order-taker")) as contested,
        entered(client(part, base_url=part["straight"])) as other,
    ):
        for session in (talk, contested):
            await got(session.agent_state.put({"step": "cart"}))
        switch.touch()
        seen: Answers = {"late": shown(await got(talk.agent_state.put({"qty": 1})))}
        seen["later"] = shown(await got(talk.agent_state.put({"remark": "late"})))
        seen["meanwhile"] = shown(await got(talk.agent_state.get()))
        seen["late_cas"] = shown(
            await got(contested.agent_state.put({"step": "done"}, mode="cas", if_version=1))
        )
        await got(other.conversation(contested.id, agent_id="order-taker").agent_state.put({"qty": 9}))
        switch.unlink()
        seen["delivered"] = await _delivered(ours)
        seen["afterwards"] = shown(await got(talk.agent_state.get()))
        there = other.conversation(talk.id, agent_id="order-taker")
        seen["on_the_server"] = shown(await got(there.agent_state.get()))
        seen["conflicts"] = [(found.body, found.if_version) for found in contested.agent_state.conflicts]
        seen["contested"] = shown(await got(contested.agent_state.get()))
    return seen


async def lost_answer(ours: Any, part: Part) -> Answers:
    """A cas is stored, its answer is lost, and the client sends it again."""
    deaf = Path(part["deaf"])
    async with entered(ours.conversation(agent_id="order-taker")) as talk:
        await got(talk.agent_state.put({"step": "cart"}, mode="cas"))
        deaf.touch()
        seen: Answers = {
            "unheard": shown(await got(talk.agent_state.put({"step": "done"}, mode="cas", if_version=1)))
        }
        deaf.unlink()
        seen["delivered"] = await _delivered(ours)
        seen["conflicts"] = [(found.body, found.if_version) for found in talk.agent_state.conflicts]
        return seen | {"read": shown(await got(talk.agent_state.get()))}


async def _delivered(ours: Any) -> bool:
    """Wait until nothing waits to be sent again: the pause between two tries doubles."""
    for _ in range(300):
        if await got(ours.flush(timeout=5)):
            return True
        await pause(0.1)
    return False


async def metadata(ours: Any, part: Part) -> Answers:
    """A person is found by any spelling, and what names them is listed without content."""
    person = niadra.phone(PHONE)
    async with entered(ours.conversation(subject=person, agent_id="order-taker")) as talk:
        await got(talk.agent_state.put({"step": "cart", "qty": 1}))
    scope = AgentStateScope(kind="subject", id=f"phone_e164:{PHONE}")
    write = AgentStateWrite(scope=scope, agent="order-taker", mode="merge_by_key", body={"step": "done"})
    seen: Answers = {"written": shown(await got(ours.api.write_agent_state(write)))}
    read = AgentStateReadRequest(scope=scope, agent="order-taker")
    seen["read"] = shown(await got(ours.api.read_agent_state(read)))
    found = [
        await got(ours.admin.find_profiles(query))
        for query in (PHONE, "+5511912345678", "nobody@example.com")
    ]
    seen["found"] = [[shown(match) for match in matches] for matches in found]
    by_pseudonym = await got(ours.admin.find_profiles(found[0][0].pseudonym, limit=1))
    seen["by_pseudonym"] = [match.profile_id for match in by_pseudonym]
    page = await got(ours.api.profile_agent_states(found[0][0].profile_id))
    return seen | {"states": [shown(item) for item in page.items]}


async def session(_ours: Any, part: Part) -> Answers:
    """A plain session with turns, heartbeats and questions about itself: nothing lost, nothing logged."""
    subject = niadra.phone(PHONE)
    often = niadra.QueueOptions(heartbeat_interval=0.0)
    async with entered(client(part, queue=often)) as ours:
        for number in range(3):
            async with entered(ours.conversation(subject=subject)) as talk:
                talk.customer(f"Hello {number}")
                talk.agent("Good morning")
                await got(talk.agent_state.get())
        async with entered(ours.task(object="order:shop:4711")) as task:
            task.agent("Packed")
        delivered = await got(ours.flush(timeout=10))
        who, profile = await got(ours.whoami()), await got(ours.profile())
        status = await got(ours.ingest_status(conversation_id=talk.id))
        return {
            "delivered": delivered,
            "pending": ours.pending,
            "dropped": ours.dropped,
            "scopes": who.scopes,
            "features": profile.features,
            "types": profile.types,
            "ingest": status.state,
        }


async def forget(ours: Any, part: Part) -> Answers:
    """A person asks to be forgotten: the same client and a new one read nothing from the answer on."""
    person = niadra.phone(OTHER_PHONE)
    async with entered(ours.conversation(subject=person, agent_id="order-taker")) as talk:
        await got(talk.agent_state.put({"step": "cart"}))
    seen: Answers = {"asked": shown(await got(ours.admin.forget(handle=person)))}
    async with entered(client(part)) as other:
        async with entered(other.conversation(talk.id, agent_id="order-taker")) as same:
            seen["read"] = shown(await got(same.agent_state.get()))
        seen["found"] = len(await got(other.admin.find_profiles(OTHER_PHONE)))
    unknown = await got(ours.admin.forget(conversation_id="nobody-wrote-here"))
    return seen | {"conversation": shown(unknown)}


async def forgotten(ours: Any, part: Part) -> Answers:
    """What became of the request, after a worker has been at it."""
    return {"status": shown(await got(ours.admin.forget_status(part["request"])))}


async def export(ours: Any, part: Part) -> Answers:
    """A person's package, by their profile, by a handle, and of nobody."""
    return {
        "by_profile": shown(await got(ours.admin.export(profile_id=part["profile_id"]))),
        "by_handle": shown(await got(ours.admin.export(handle=niadra.phone(PHONE)))),
        "nobody": await got(ours.admin.export(handle=niadra.phone("+55 11 90000-0000"))),
    }


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        states,
        masking,
        too_big,
        refused,
        outage,
        lost_answer,
        metadata,
        session,
        forget,
        forgotten,
        export,
    )
}


async def play(part: Part) -> Answers:
    async with entered(client(part)) as ours:
        return await SCENES[part["scene"]](ours, part)


def run(work: Coroutine[Any, Any, Answers]) -> Answers:
    """Run to the end: the sync client has nothing to wait for, so that one step is all of it."""
    if IS_ASYNC:
        return asyncio.run(work)
    try:
        work.send(None)
    except StopIteration as end:
        return dict(end.value)
    raise RuntimeError("The sync client waited for an event loop.")


def played(part: Part) -> Answers:
    """Play one part; a failure is an answer, so that the other parts are played."""
    noted = Noted()
    logging.getLogger("niadra").addHandler(noted)
    try:
        return run(play(part)) | {"log": noted.lines}
    except Exception:
        return {"failed": traceback.format_exc()}
    finally:
        logging.getLogger("niadra").removeHandler(noted)


def main() -> None:
    plan: dict[str, Part] = json.load(sys.stdin)
    seen = {name: played(part) for name, part in plan.items()}
    sys.stdout.write(json.dumps({"version": niadra.__version__, "seen": seen}, default=str))


if __name__ == "__main__":
    main()
