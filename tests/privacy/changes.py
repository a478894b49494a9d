"""Proposing and publishing documents over the API."""

from typing import Any

from tests.api import Answer, InProcess
from workspaces.rules.documents import DEFAULTS

CONFIG = "/v1/config"
DIFFS = f"{CONFIG}/diffs"


def change(kind: str, document: Any = None, **members: Any) -> dict[str, Any]:
    """Give the body of a proposal; without a document that of a new workspace."""
    body = DEFAULTS[kind] if document is None else document
    return {"kind": kind, "document": body, "reason": "It is time", **members}


def propose(api: InProcess, kind: str, document: Any = None, **members: Any) -> Answer:
    return api.post(DIFFS, change(kind, document, **members))


def approve(api: InProcess, proposed: Answer) -> Answer:
    return api.post(f"{DIFFS}/{proposed.body['diff_id']}/approve")


def publish(api: InProcess, kind: str, document: Any = None, **members: Any) -> Answer:
    """Propose and publish as one person."""
    proposed = propose(api, kind, document, **members)
    assert proposed.status == 201, proposed.body
    return approve(api, proposed)


def live(api: InProcess, kind: str) -> dict[str, Any]:
    """Read the live document."""
    answer = api.get(f"{CONFIG}/{kind}")
    assert answer.status == 200
    found: dict[str, Any] = answer.body
    return found


def problems(answer: Answer) -> list[tuple[str, str]]:
    """Give the pointers and codes of a refusal."""
    return [(problem["pointer"], problem["code"]) for problem in answer.body.get("errors", [])]
