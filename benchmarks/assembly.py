"""A context assembled from a conversation of a hundred, a thousand, ten thousand and more records (PF-8, CA-16).

`make bench-assembly` measures it alone.
"""

import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from statistics import median
from typing import Any

import msgspec

from benchmarks.ours import Ours
from benchmarks.plan import Plan, full, quick
from benchmarks.scripts import post
from benchmarks.servers import running_server
from benchmarks.workspace import made_workspace
from console.embedded.files import own_folder

PER_CALL = 500
BEGAN = datetime.now(UTC) - timedelta(days=2)
"""Long enough ago for every turn to be past, not for one to have expired."""
Record = dict[str, Any]


class Took(msgspec.Struct, frozen=True):
    """How many milliseconds the server took, at the median: to query, to decide, to write out.

    `recording` is how long a request waited that recorded 500 records, or as many as there are, over HTTP.
    """

    query: float
    policy: float
    rendering: float
    recording: float

    @property
    def whole(self) -> float:
        """Give all of it."""
        return self.query + self.policy + self.rendering


class _Graph:
    """A conversation that grows: a question, a call with its result, what is remembered of it, an answer, again."""

    def __init__(self, key: str) -> None:
        self._key, self._name = key, f"bench-{secrets.token_hex(8)}"

    def fills(self, size: int) -> Iterator[bytes]:
        """Give the requests that record so many records."""
        records = islice(self._records(), size)
        while batch := list(islice(records, PER_CALL)):
            yield post("/v1/graph", self._key, {"records": batch})

    def assembly(self) -> bytes:
        """Give the request for a context on the busier branch, for its own run, rendered too."""
        members = {
            "conversation": self._name,
            "branch": self._id("main"),
            "participant": self._id("planner"),
            "run": self._id("run"),
            "route": "openai",
            "render": "openai.chat",
        }
        return post("/v1/context/assemble", self._key, members)

    def _id(self, name: str) -> str:
        return f"{name}.{self._name}"

    def _records(self) -> Iterator[Record]:
        yield {"type": "conversation", "id": self._name, "conversation": self._name}
        yield self._placed("branch", "main", 0)
        yield self._placed("participant", "planner", 0, name="planner")
        yield self._owned("model_run", "run", 0, run=None, route="openai", model="gpt-4.1")
        yield self._said("said-0", 0, "user")
        yield self._placed("branch", "side", 0, parent=self._id("main"), fork_message=self._id("said-0"))
        for turn in count(1):
            branch = self._id("side" if turn % 3 == 0 else "main")
            yield from ({**record, "branch": branch} for record in self._turn(turn))

    def _turn(self, turn: int) -> Iterator[Record]:
        tool = {"tool": "orders.search"}
        result = {"orders": [{"id": f"o-{turn}-{row}", "total": row * 7} for row in range(8)]}
        yield self._said(f"asked-{turn}", turn, "user")
        yield self._owned("tool_call", f"call-{turn}", turn, **tool, arguments={"value": {"turn": turn}})
        call = {"call": self._id(f"call-{turn}"), "status": "succeeded", "result": {"value": result}}
        yield self._owned("tool_artifact", f"found-{turn}", turn, **tool, **call)
        known = {"artifacts": [self._id(f"found-{turn}")], "summary": f"Eight orders in turn {turn}."}
        seen = {"freshness": "durable", "observed_at": _at(turn), "tools": ["orders.search"]}
        yield self._owned("tool_memory", f"known-{turn}", turn, **known, **seen)
        yield self._said(f"told-{turn}", turn, "assistant")

    def _said(self, name: str, turn: int, role: str) -> Record:
        text = f"In turn {turn} there is something to say about the orders, and this is it."
        return self._owned("message", name, turn, role=role, parts=[{"text": text}])

    def _placed(self, kind: str, name: str, turn: int, /, **members: Any) -> Record:
        base = {"type": kind, "id": self._id(name), "conversation": self._name, "recorded_at": _at(turn)}
        return {**base, **members}

    def _owned(self, kind: str, name: str, turn: int, /, **members: Any) -> Record:
        owner = {
            "branch": self._id("main"),
            "participant": self._id("planner"),
            "run": self._id("run"),
            "privacy": "public",
        }
        found = self._placed(kind, name, turn, **{**owner, **members})
        return {member: value for member, value in found.items() if value is not None}


class _Exchange:
    """One request, and the body that came back."""

    def __init__(self, request: bytes) -> None:
        self._request, self.body = request, b""

    def request(self) -> bytes:
        return self._request

    def accept(self, status: int, body: bytes) -> bool:
        self.body = body
        return status == 200


def assemblies(ours: Ours, plan: Plan) -> Mapping[int, Took]:
    """Record a conversation of each size, and assemble a context of each in turn."""
    graphs = {size: _Graph(ours.key) for size in plan.graph_sizes}
    recorded = {size: _recorded(ours, graph.fills(size)) for size, graph in graphs.items()}
    taken: dict[int, list[Mapping[str, float]]] = {size: [] for size in graphs}
    for _ in range(plan.assemblies):
        for size, graph in graphs.items():
            exchange = _Exchange(graph.assembly())
            ours.ask(exchange)
            taken[size].append(json.loads(exchange.body)["milliseconds"])
    return {size: _median(found, recorded[size]) for size, found in taken.items()}


def _recorded(ours: Ours, requests: Iterable[bytes]) -> float:
    """Record, and give how many milliseconds a request waited, at the median."""
    waited = []
    for request in requests:
        began = time.perf_counter()
        ours.ask(_Exchange(request))
        waited.append((time.perf_counter() - began) * 1_000)
    return median(waited)


def _median(found: Sequence[Mapping[str, float]], recording: float) -> Took:
    parts = {part: median(one[part] for one in found) for part in ("query", "policy", "rendering")}
    return Took(**parts, recording=recording)


def _at(turn: int) -> str:
    return (BEGAN + timedelta(seconds=turn)).isoformat()


def main() -> int:
    """Measure this alone, on the services that the environment names, and print it."""
    folder = own_folder() / "log" / "bench-assembly"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    plan = quick({}) if "--quick" in sys.argv else full({})
    key = made_workspace()
    with running_server(variables=os.environ, folder=folder) as served:
        found = assemblies(Ours(served.address, key), plan)
    print("records  query  policy  rendering  together  a batch recorded (ms at the median)")
    for size, took in sorted(found.items()):
        parts = f"{took.query:6.1f} {took.policy:7.1f} {took.rendering:10.1f} {took.whole:9.1f}"
        print(f"{size:7,} {parts} {took.recording:11.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
