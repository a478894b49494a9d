"""Every refusal that belongs to the ground floor: a class with a code, a status and a sentence (PL-8).

What the catcher does next decides the base class: `Problem` is reported to the caller as it is,
`Unavailable` may be tried again later.
"""

from workspaces.types import FieldProblem


class Problem(Exception):
    """A refusal that is answered as an RFC 9457 problem."""

    code = "internal_error"
    status = 500
    title = "Something went wrong"

    def __init__(self, detail: str = "", *, errors: tuple[FieldProblem, ...] = ()) -> None:
        super().__init__(self.code)
        self.detail = detail
        self.errors = errors


class InvalidJson(Problem):
    code = "invalid_json"
    status = 400
    title = "The body is not acceptable JSON"


class InvalidInput(Problem):
    code = "invalid_input"
    status = 422
    title = "The request does not have the documented form"
