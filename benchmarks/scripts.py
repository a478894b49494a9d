"""What our clients ask, as bytes that are ready but for numbers of a fixed width, and how they check the answers."""

import json
import secrets
from typing import Any

AGENT = "order-taker"
FIELDS = tuple(f"part_{number:02d}" for number in range(16))
ITEM_BYTES = 48
NUMBER = "1000000000"
"""A number of ten digits, in whose place others of that width are put."""


def body_of(size: int) -> dict[str, Any]:
    """Make the state of an order of exactly so many bytes as compact JSON; it compresses as badly as a real one."""
    body: dict[str, Any] = {
        "step": "cart",
        "total": {"amount": "12.50", "currency": "BRL"},
        "delivery": {"slot": "18:00", "fee": "4.90"},
        "phone": "+55 11 91234-5678",
        "note": "the blue door, ring twice",
        "serial": int(NUMBER),
        "cart": [],
    }
    while len(compact(body)) < size - 2 * ITEM_BYTES:
        body["cart"].append({"sku": secrets.token_hex(8), "qty": len(body["cart"]) % 7 + 1})
    body["filler"] = ""
    body["filler"] = secrets.token_hex(size)[: size - len(compact(body))]
    return body


def small_body(size: int) -> dict[str, Any]:
    """Make a state of so many bytes without an order in it."""
    body = {"serial": int(NUMBER), "filler": ""}
    body["filler"] = secrets.token_hex(size)[: size - len(compact(body))]
    return body


class Get:
    """One path, always answered 200."""

    def __init__(self, path: str) -> None:
        self._request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()

    def request(self) -> bytes:
        return self._request

    def accept(self, status: int, body: bytes) -> bool:
        return status == 200


class Read:
    """A warm read of one state, which must answer the version that was stored last."""

    def __init__(self, key: str, scope: dict[str, str], version: int) -> None:
        self._request = post("/v1/agent-state/read", key, {"scope": scope, "agent": AGENT})
        self.expect(version)

    def expect(self, version: int) -> None:
        """Name the version that is right from now on."""
        self._version = b'"version":%d,' % version

    def request(self) -> bytes:
        return self._request

    def accept(self, status: int, body: bytes) -> bool:
        return status == 200 and self._version in body


class Write:
    """Writes of one state by its only writer: each must be stored, at the next version.

    `is_known` clients name the customer and send an Idempotency-Key, the others do neither.
    """

    def __init__(
        self, key: str, scope: dict[str, str], body: dict[str, Any], *, mode: str, subject: str | None = None
    ) -> None:
        members: dict[str, Any] = {"scope": scope, "agent": AGENT, "mode": mode, "body": body}
        if mode == "cas":
            members["if_version"] = int(NUMBER)
        if subject is not None:
            members["subject"] = {"type": "phone_e164", "value": subject}
        self.scope, self.version, self._number = scope, 0, int(NUMBER)
        more = f"Idempotency-Key: b-{secrets.token_hex(8)}-{NUMBER}\r\n" if subject else ""
        self._template = numbered(_request("PUT", "/v1/agent-state", key, members, more))

    def request(self) -> bytes:
        self._number += 1
        serial = b"%10d" % self._number
        return self._template % {b"serial": serial, b"version": b"%10d" % self.version}

    def accept(self, status: int, body: bytes) -> bool:
        if status != 200 or b'"stored":true,"version":%d,' % (self.version + 1) not in body:
            return False
        self.version += 1
        return True


class Merge:
    """Merges of one field of a state that others write too (PF-5).

    It knows how many were answered as stored, and the serial number of the last of them.
    """

    def __init__(self, key: str, scope: dict[str, str], field: str, size: int) -> None:
        value = {"serial": int(NUMBER), "filler": secrets.token_hex(size)[:size]}
        members = {"scope": scope, "agent": AGENT, "mode": "merge_by_key", "body": {field: value}}
        self.scope, self.field, self.stored, self.confirmed = scope, field, 0, 0
        self._number = int(NUMBER)
        self._template = numbered(_request("PUT", "/v1/agent-state", key, members, ""))

    def request(self) -> bytes:
        self._number += 1
        return self._template % {b"serial": b"%10d" % self._number}

    def accept(self, status: int, body: bytes) -> bool:
        if status != 200 or b'"stored":true' not in body:
            return False
        self.stored += 1
        self.confirmed = self._number
        return True


class Fleet:
    """Writes of many states by one client: new ones while it grows, then any of them, each at its version."""

    def __init__(self, key: str, body: dict[str, Any]) -> None:
        scope = {"kind": "conversation", "id": f"c-{secrets.token_hex(8)}-{NUMBER}"}
        members = {"scope": scope, "agent": AGENT, "mode": "cas", "body": body, "if_version": int(NUMBER)}
        self._template = numbered(_request("PUT", "/v1/agent-state", key, members, ""))
        self.versions: list[int] = []
        self.is_growing = True
        self._chosen = 0

    @property
    def stored(self) -> int:
        """Tell how many states there are."""
        return len(self.versions)

    def request(self) -> bytes:
        self._chosen = self.stored if self.is_growing else secrets.randbelow(self.stored)
        version = 0 if self.is_growing else self.versions[self._chosen]
        serial = b"%10d" % (int(NUMBER) + self._chosen)
        return self._template % {b"serial": serial, b"version": b"%10d" % version}

    def accept(self, status: int, body: bytes) -> bool:
        is_new = self._chosen == self.stored
        version = 1 if is_new else self.versions[self._chosen] + 1
        if status != 200 or b'"stored":true,"version":%d,' % version not in body:
            return False
        if is_new:
            self.versions.append(version)
        else:
            self.versions[self._chosen] = version
        return True


def post(path: str, key: str, body: dict[str, Any]) -> bytes:
    """Write a POST of a body, with a key."""
    return _request("POST", path, key, body, "")


def _request(method: str, path: str, key: str, body: dict[str, Any], more: str) -> bytes:
    raw = compact(body)
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n{more}"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


def numbered(request: bytes) -> bytes:
    """Put places for numbers into a request: the version that is expected, and a serial number elsewhere."""
    number = NUMBER.encode()
    expected = b'"if_version":'
    safe = request.replace(b"%", b"%%")
    return safe.replace(expected + number, expected + b"%(version)s").replace(number, b"%(serial)s")


def compact(body: Any) -> bytes:
    """Write a body as the shortest JSON."""
    return json.dumps(body, separators=(",", ":")).encode()
