"""The refusals of governance."""

from workspaces.errors import Problem


class NotPossibleNow(Problem):
    code = "not_possible_now"
    status = 409
    title = "The request does not stand where this could be done"


class OnHold(Problem):
    code = "legal_hold"
    status = 409
    title = "A legal hold keeps this as it is"
