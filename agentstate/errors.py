"""The refusals of working memory."""

from workspaces.errors import Problem


class AgentStateConflict(Problem):
    code = "agent_state_conflict"
    status = 412
    title = "The stored version is another one than `if_version` says"


class InvalidFieldValue(Problem):
    code = "invalid_field_value"
    status = 422
    title = "A value is not of the type that its field declares"


class SubjectMismatch(Problem):
    code = "subject_mismatch"
    status = 409
    title = "The state already names another person"


class ScopeKindNotDeclared(Problem):
    code = "scope_kind_not_declared"
    status = 422
    title = "The object type does not list this kind of scope"
