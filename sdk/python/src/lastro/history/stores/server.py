"""A store on a Lastro server: sessions that every worker of a source sees, encrypted, bounded and erasable (HI-21)."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import httpx

from lastro.errors import LastroError
from lastro.history.contract import View
from lastro.history.errors import (
    DecisionHistoryNotFound,
    DecisionHistoryReservationLost,
    DecisionHistoryStorageFailed,
)
from lastro.history.records import Head, Item, Outcome, SessionKey, Snapshot
from lastro.history.stores.appends import body_of
from lastro.history.stores.bounds import Bounds
from lastro.history.stores.reserving import Reserved, ReservingStore, beside_the_loop, new_id
from lastro.history.stores.wire import (
    head_read,
    head_written,
    item_read,
    item_written,
    refusal_of,
    session_written,
)

T = TypeVar("T")

USER_AGENT = "lastro-python/0.1.0"
PAGE = 100
TRIES = 2
"""How often a request is sent: each carries a key, so that the server answers a repeated one as it did at first."""


@dataclass(frozen=True, slots=True)
class ServerView:
    """A session as it stands on the server while its reservation holds; items are read in pages when asked for."""

    head: Head
    pages: "Pages"

    def backwards(self, leaf: str) -> Iterator[Item]:
        """Give the items from a leaf to the root, newest first."""
        return self.pages.items(of="path", leaf=leaf) if leaf else iter(())

    def instructions(self) -> Sequence[Item]:
        """Give the instructions that stand first."""
        return list(self.pages.items(of="instructions"))

    def known(self, key: str) -> Sequence[Item]:
        """Give the items of a dedupe key."""
        return list(self.pages.items(of="key", key=key))

    def opaque(self) -> Iterator[Item]:
        """Give the opaque items that no removal took, newest first."""
        return self.pages.items(of="opaque")


class Pages:
    """Lists of one reserved session. What was asked once is not asked again: nobody else can change it."""

    def __init__(self, call: Callable[[str, Mapping[str, Any]], Any], named: Mapping[str, Any]) -> None:
        self._call = call
        self._named = named
        self._kept: dict[str, Any] = {}

    def items(self, **wish: str) -> Iterator[Item]:
        """Give the items of a list, page by page."""
        cursor: str | None = None
        while True:
            page = self._page({**wish, "cursor": cursor, "limit": PAGE})
            yield from (item_read(json.loads(item)) for item in page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _page(self, wish: Mapping[str, Any]) -> Any:
        name = json.dumps(wish, sort_keys=True)
        if name not in self._kept:
            found = self._call("items", {**self._named, **wish})
            # As text, so that who changes an item that was read changes no later reading.
            self._kept[name] = {**found, "items": [json.dumps(item) for item in found["items"]]}
        return self._kept[name]


class ServerStore(ReservingStore):
    """Keep sessions on a server, under the source of an API key with the scope `history` (HI-2, HI-21).

    `timeout` is in seconds and for one request. The bounds are those of the workspace. The namespace of a session is a
    label that narrows the source. The server keeps of a conversation and a subject only that it can find them: they
    come back empty, and a subject is the text of a handle, `type:value` or `type:namespace:value`.

    Raises what every store raises; for what a store has not, the errors of the clients, such as Unauthenticated; and
    DecisionHistoryStorageFailed where the server cannot be reached: then a commit may have been stored or not, and the
    reservation, where there is one, stays until it is recovered or its session expires.
    """

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = "http://127.0.0.1:8000",
        timeout: float = 10.0,
        trust_env: bool = True,
    ) -> None:
        super().__init__(Bounds())
        headers = {"Authorization": f"Bearer {api_key}", "User-Agent": USER_AGENT}
        self._open = partial(
            httpx.Client,
            base_url=base_url,
            headers=headers,
            timeout=timeout,
            trust_env=trust_env,
            follow_redirects=False,
        )
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None

    def look(self, key: SessionKey, reading: Callable[[View], T]) -> T:
        """Run a reading on a session without reserving it (HI-6)."""
        named = {"session": session_written(key)}
        found = self._call("items", {**named, "of": "instructions", "limit": 1, "with_head": True})
        return reading(ServerView(head_read(found["head"]), Pages(self._call, named)))

    def close(self) -> None:
        """Close the connections; the next call opens others."""
        with self._lock:
            client, self._http = self._http, None
        if client is not None:
            client.close()

    async def _apart(self, call: Callable[[], T], *, undo: Callable[[T], None] | None = None) -> T:
        return await beside_the_loop(call, undo=undo)

    def _reserve(self, key: SessionKey, *, worker: str, create: bool) -> Reserved:
        named = {"session": session_written(key)}
        begun = self._call("begin", {**named, "create": create, "worker": worker}, is_keyed=True)
        token = str(begun["reservation"])
        if begun["is_new"]:
            return Reserved(key, token, None)
        pages = Pages(self._call, {**named, "reservation": token})
        return Reserved(key, token, ServerView(head_read(begun["head"]), pages))

    def _save(self, reserved: Reserved, outcome: Outcome[T]) -> None:
        if not outcome.append and outcome.head is None:
            self._call("abort", self._held(reserved), is_keyed=True)
            return
        for number, item in enumerate(outcome.append):
            body_of(item, pointer=f"/append/{number}")
        items = [item_written(item, pointer=f"/append/{at}") for at, item in enumerate(outcome.append)]
        left = {"items": items, **head_written(outcome.head)}
        try:
            self._call("commit", {**self._held(reserved), **left}, is_keyed=True)
        except DecisionHistoryNotFound as error:
            # It was there when it was reserved: given up by a recovery, or ended since.
            raise DecisionHistoryReservationLost(request_id=error.request_id) from error

    def _release(self, reserved: Reserved) -> None:
        # What stood in the way of the decision is told, and not what stood in the way of giving it up.
        with suppress(LastroError):
            self._call("abort", self._held(reserved), is_keyed=True)

    def _snapshot(self, key: SessionKey) -> Snapshot | None:
        try:
            read = self._call("read", {"session": session_written(key)})
        except DecisionHistoryNotFound:
            return None
        return Snapshot(key, head_read(read["head"]), tuple(item_read(item) for item in read["items"]))

    def _fork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        if not at:
            raise DecisionHistoryNotFound
        named = {"session": session_written(key), "to": session_written(to), "at": at}
        self._call("fork", named, is_keyed=True)

    def _recover(self, key: SessionKey) -> None:
        self._call("recover", {"session": session_written(key), "worker_stopped": True}, is_keyed=True)

    def _delete(self, key: SessionKey) -> None:
        self._call("delete", {"session": session_written(key)}, is_keyed=True)

    def _held(self, reserved: Reserved) -> dict[str, Any]:
        return {"session": session_written(reserved.key), "reservation": reserved.token}

    def _call(self, what: str, body: Mapping[str, Any], *, is_keyed: bool = False) -> Any:
        """Send a request and give its answer, or raise what the server refused."""
        headers = {"Content-Type": "application/json"}
        headers |= {"Idempotency-Key": new_id()} if is_keyed else {}
        raw = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        answer = self._sent(f"/v1/history/{what}", raw, headers)
        try:
            read: Any = json.loads(answer.content)
        except ValueError:
            read = None
        if not answer.is_success or not isinstance(read, dict):
            raise refusal_of(answer.status_code, cast(object, read))
        return cast("dict[str, Any]", read)

    def _sent(self, path: str, raw: bytes, headers: Mapping[str, str]) -> httpx.Response:
        for number in range(TRIES):
            try:
                return self._client().post(path, content=raw, headers=dict(headers))
            except httpx.TransportError as error:
                if number + 1 == TRIES:
                    raise DecisionHistoryStorageFailed("the server cannot be reached") from error
        raise DecisionHistoryStorageFailed

    def _client(self) -> httpx.Client:
        with self._lock:
            self._http = self._http or self._open()
            return self._http
