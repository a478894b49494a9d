"""Every documented operation, played against a real server with good and bad data (PL-9, WM-25).

Whatever is sent, each answer is no 5xx, has a documented status, its content type, its headers and its schema (which
lists the codes that the route may answer); bad data is refused, a request without its key too, and a method that is
not documented is a 405. All checks of Schemathesis are on. One is widened: a request that fits the schema may still
meet another version (412) or mean nothing here (422), and a check of our own tells that from a refusal of its shape.
"""

import zlib
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings

from tests import factories
from tests.api import OverHttp
from tests.server import Server
from workspaces.http.openapi import document
from workspaces.rules.rights import KEY_SCOPES, PERMISSIONS

SCHEMA = schemathesis.openapi.from_dict(document())
SCHEMA.config.seed = 4711
SCHEMA.config.checks.positive_data_acceptance.expected_statuses = [
    "2xx", "400", "401", "403", "404", "409", "412", "422",
]  # fmt: skip
OF_SHAPE = {"wrong_type", "not_a_choice", "unknown_member", "too_short", "too_small", "too_large"}

# The only type of a workspace is the type of every agent; `step` and `any` take what the generator likes.
OPEN_TYPE = {
    "type": "open",
    "version": "1",
    "ownership": "agent",
    "fields": {
        "step": {"type": "string"},
        "cart": {"type": "list"},
        "anything": {"type": "any"},
        "note": {"type": "text", "pii": True},
    },
}

Case = schemathesis.Case[Any]
Play = Callable[[Case], None]


class Cast:
    """Who calls, and what is there to be named: a profile with a state, and a proposal."""

    def __init__(self, url: str) -> None:
        workspace = factories.make_ready_workspace("Fuzz", OPEN_TYPE)
        factories.switch(workspace, "history", on=True)
        factories.switch(workspace, "context", on=True)
        person = factories.make_person(workspace, "owner", "security", "privacy", "engineer")
        self.credentials = {
            "key": factories.make_key(workspace, *KEY_SCOPES),
            "token": factories.make_token(workspace, person, *PERMISSIONS),
        }
        key, self._token = (OverHttp(url, text) for text in self.credentials.values())
        subject = {"type": "phone_e164", "value": "+55 11 91234-5678"}
        assert key.write(factories.write({"step": "a"}, subject=subject)).body["stored"]
        found = key.post("/v1/profiles/search", {"query": subject["value"]})
        self.profile_id = found.body["items"][0]["profile_id"]
        self.numbers = count()

    def propose(self) -> str:
        """Propose that nothing changes; give the id of the proposal."""
        body = {"kind": "features", "document": {"enabled": ["agent_state"]}, "reason": "Fuzz"}
        return str(self._token.post("/v1/config/diffs", body).body["diff_id"])


@pytest.fixture(scope="module")
def cast(server: Server, django_db_blocker: Any) -> Iterator[Cast]:
    with django_db_blocker.unblock():
        yield Cast(server.url)


@pytest.fixture(scope="module")
def play(server: Server, cast: Cast) -> Iterator[Play]:
    """Play a case, as the key and as the token by turns where both may call, and check its answer."""
    with requests.Session() as session:
        session.trust_env = False

        def played(case: Case) -> None:
            # From the case itself, so that a request is the same whenever it is played.
            turn = zlib.crc32(repr((case.body, case.path_parameters)).encode("utf-8", "replace"))
            if turn & 2 and case.meta is not None and case.meta.generation.mode.is_positive:
                _name_what_is_there(case, cast)
            case.call_and_validate(
                base_url=server.url,
                session=session,
                headers={"Prefer": "respond-async", **_authorization(case, cast, turn)},
                additional_checks=[its_shape_is_not_refused],
            )

        yield played


QUICK = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@SCHEMA.parametrize()
@QUICK
def test_operations(case: Case, play: Play) -> None:
    """PL-8, PL-9, WM-25: in `make test`, the same requests each time."""
    play(case)


@pytest.mark.long
@pytest.mark.timeout(1800)
@SCHEMA.parametrize()
@settings(QUICK, max_examples=800, derandomize=False)
def test_operations_at_length(case: Case, play: Play) -> None:
    """PL-8, PL-9, WM-25: in `make test-long`, other requests each time."""
    play(case)


def _authorization(case: Case, cast: Cast, turn: int) -> dict[str, str]:
    callers = [name for option in case.operation.definition.raw["security"] for name in option]
    return {"Authorization": f"Bearer {cast.credentials[callers[turn % len(callers)]]}"} if callers else {}


def _name_what_is_there(case: Case, cast: Cast) -> None:
    """Let a good request reach further: an id that exists, a field that is declared, a key that is new."""
    if "profile_id" in case.path_parameters:
        case.path_parameters["profile_id"] = cast.profile_id
    if "change_id" in case.path_parameters:
        case.path_parameters["change_id"] = cast.propose()
    if "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = f"turn-{next(cast.numbers)}"
    if case.operation.label == "PUT /v1/agent-state" and isinstance(case.body, dict):
        case.body["body"] = {"anything": case.body["body"]}


def its_shape_is_not_refused(_context: Any, response: Any, case: Case) -> None:
    """Require that what fits the schema is refused only for what it means, or for a number that JSON cannot carry."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code < 400:
        return
    problem = response.json()
    codes = {found["code"] for found in problem.get("errors", ())}
    assert problem["code"] != "invalid_input" or not codes & OF_SHAPE, codes
    assert (
        problem["code"] != "invalid_json" or "number" in problem["detail"] or "64 bits" in problem["detail"]
    )
