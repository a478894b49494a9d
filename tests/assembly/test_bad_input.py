"""Bad requests for a context, and bad questions of why: a problem says where and never what (CA-9, CA-17, PL-8)."""

from typing import Any

import pytest

from tests.agentstate.test_bad_input import named, pointers, require_problem
from tests.assembly.graphs import ASSEMBLE, ASSEMBLIES, Story
from tests.tables import bad_input
from tests.tables.bad_input import MARK


@pytest.fixture
def told(story: Story) -> Story:
    """A conversation with a question."""
    story.stored(*story.opening())
    return story


@pytest.mark.parametrize(("why", "over", "at"), named(bad_input.INVALID_ASSEMBLE))
def test_a_request_for_a_context(told: Story, why: str, over: dict[str, Any], at: tuple[str, ...]) -> None:
    """CA-9, PL-8: each fault at its place; without it the request is answered."""
    answer = told.api.post(ASSEMBLE, told.asking(**over))
    assert pointers(require_problem(answer, 422, "invalid_input")) == list(at)
    assert told.assembled()["items"]


@pytest.mark.parametrize("path", [ASSEMBLE, f"{ASSEMBLIES}/{{kept}}/why"])
def test_no_object(told: Story, path: str) -> None:
    """PL-8: what is no object names the whole body."""
    path = path.format(kept=told.assembled()["assembly_id"])
    for body in ([MARK], MARK, 7):
        answer = told.api.post(path, body)
        assert pointers(require_problem(answer, 422, "invalid_input")) == [""], body
    require_problem(told.api.call("POST", path, bad_input.WRITE_TEXT[:-1].encode()), 400, "invalid_json")


def test_a_question_of_why(told: Story) -> None:
    """CA-17, PL-8: each fault at its place; without it the question is answered."""
    path = f"{ASSEMBLIES}/{told.assembled()['assembly_id']}/why"
    good = {"type": "message", "id": told.id("hello")}
    for why, over, at in bad_input.INVALID_WHY:
        answer = told.api.post(path, good | over)
        assert pointers(require_problem(answer, 422, "invalid_input")) == list(at), why
    assert told.api.post(path, good).body["outcome"] == "included"
