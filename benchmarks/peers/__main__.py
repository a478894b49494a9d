"""`python -m benchmarks.peers URL`: take turns by the line, as JSON on standard input, and tell what was done."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from time import perf_counter
from typing import Any

from benchmarks.peers.catalogue import PACKAGES, PEERS
from benchmarks.peers.contract import AsyncPeer, SyncPeer


class Stage:
    """The peers that are open, each with as many connections as it has clients at most."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open: dict[str, SyncPeer | AsyncPeer] = {}

    async def open(self, name: str, *, clients: int) -> None:
        """Open a peer."""
        module, kind = PEERS[name]
        peer = getattr(import_module(f"benchmarks.peers.{module}"), kind)()
        await _done(peer.open(self._url, clients=clients))
        self._open[name] = peer

    async def prepare(self, name: str, *, clients: int, body: dict[str, Any]) -> None:
        """Give each client a place of its own, with the body in it."""
        for client in range(clients):
            await _done(self._open[name].prepare(client, body))

    async def turn(self, name: str, *, act: str, clients: int, seconds: float) -> list[float]:
        """Let all clients write, or read, for some seconds; give how long each call took."""
        step = getattr(self._open[name], act)
        latencies: list[float] = []
        if asyncio.iscoroutinefunction(step):
            until = perf_counter() + seconds
            await asyncio.gather(*(_repeat(step, client, until, latencies) for client in range(clients)))
        else:
            _repeat_in_threads(step, clients, seconds, latencies)
        return latencies

    async def close(self) -> None:
        """Close them all."""
        for peer in self._open.values():
            await _done(peer.close())


async def _main(url: str) -> None:
    stage = Stage(url)
    _say({"versions": {name: version(name) for name in PACKAGES}})
    for line in sys.stdin:
        _say(await _answer(stage, json.loads(line)))
    await stage.close()


async def _answer(stage: Stage, order: dict[str, Any]) -> dict[str, Any]:
    match order.pop("do"):
        case "open":
            await stage.open(**order)
            return {}
        case "prepare":
            await stage.prepare(**order)
            return {}
        case _:
            return {"latencies": await stage.turn(**order)}


async def _done(result: Any) -> None:
    if asyncio.iscoroutine(result):
        await result


async def _repeat(step: Callable[[int], Any], client: int, until: float, latencies: list[float]) -> None:
    before = perf_counter()
    while before < until:
        await step(client)
        now = perf_counter()
        if now < until:
            latencies.append(now - before)
        before = now


def _repeat_in_threads(
    step: Callable[[int], None], clients: int, seconds: float, latencies: list[float]
) -> None:
    start = threading.Barrier(clients)
    threads = [
        threading.Thread(target=_thread, args=(step, client, start, seconds, latencies))
        for client in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _thread(
    step: Callable[[int], None],
    client: int,
    start: threading.Barrier,
    seconds: float,
    latencies: list[float],
) -> None:
    start.wait()
    before = perf_counter()
    until = before + seconds
    while before < until:
        step(client)
        now = perf_counter()
        if now < until:
            latencies.append(now - before)
        before = now


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
