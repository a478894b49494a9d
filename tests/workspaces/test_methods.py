"""Methods of routes: what is not declared is refused, and HEAD is no way around GET."""

from uuid import uuid4

import pytest

from console import metrics
from tests import factories
from tests.api import InProcess
from workspaces.types import WorkspaceRef


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_head_needs_what_get_needs(aurora: WorkspaceRef, method: str) -> None:
    """PL-3: a key without the scope gets no answer by HEAD that it would not get by GET."""
    bare = InProcess(factories.make_key(aurora, "agent_state"))
    path = f"/v1/profiles/{uuid4()}/agent-state"
    assert bare.call(method, path).status == 403
    allowed = InProcess(factories.make_key(aurora, "admin"))
    assert allowed.call(method, path).status == 404


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "POST"])
def test_a_method_that_no_route_declares_is_refused(agent: InProcess, method: str) -> None:
    """PL-8: an undeclared method answers 405 as a problem that names the declared ones."""
    answer = agent.call(method, "/v1/agent-state")
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "PUT"
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_word_of_the_caller_makes_no_metric(agent: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    """PL-11, WM-24: a method that HTTP does not know is counted and logged as `other`."""
    agent.call("CANARYMETHOD", "/v1/agent-state")
    assert b"CANARYMETHOD" not in metrics.exposition(many_processes=False)
    assert b'method="other"' in metrics.exposition(many_processes=False)
    assert [vars(record)["method"] for record in caplog.records if record.msg == "request.answered"] == [
        "other"
    ]
