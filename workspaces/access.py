"""The one door to tenant data: bind a workspace, then ask (PL-1).

Everything that must look across workspaces is here too, and nowhere else. Row-level security stops a query that does:
each question has a function of the owner in the database, which gives no more than its answer (migration 0003).
"""

from typing import Any, TypeVar

from django.db.models import QuerySet

from workspaces import binding
from workspaces.errors import NotFound, WorkspaceClosed
from workspaces.models import ApiKey, Invitation, Person, PersonalToken, Source, Workspace, WorkspaceRow
from workspaces.types import WorkspaceRef

Row = TypeVar("Row", bound=WorkspaceRow)

bound = binding.bound

_OF_WORKSPACE = ("slug", "name", "key_id", "hash_key_id", "previous_hash_key_id")
_WORKSPACE = ", ".join(f"w.{name} AS w_{name}" for name in _OF_WORKSPACE)
_API_KEY = f"""
SELECT (f.key).*, f.source_name, {_WORKSPACE}
FROM lastro_api_key(%s) f JOIN workspaces_workspace w ON w.id = (f.key).workspace_id
"""
_OTHERS = """
SELECT f.*, {workspace} FROM {function}(%s) f JOIN workspaces_workspace w ON w.id = f.workspace_id
"""
_TOKEN = _OTHERS.format(workspace=_WORKSPACE, function="lastro_personal_token")
_INVITATION = _OTHERS.format(workspace=_WORKSPACE, function="lastro_invitation")
_OF_PERSON = """
SELECT w.* FROM lastro_workspaces_of(%s) f JOIN workspaces_workspace w ON w.id = f.workspace_id ORDER BY w.name
"""


def require_open() -> None:
    """Refuse what would make or change something in a bound workspace that is closed (PL-5b)."""
    if Workspace.objects.filter(id=binding.bound_workspace_id(), closed_at__isnull=False).exists():
        raise WorkspaceClosed


def one(rows: "QuerySet[Row] | type[Row]", **lookup: Any) -> Row:
    """Give the one row of the bound workspace, or refuse: absent and not yours are the same answer."""
    found = (rows if isinstance(rows, QuerySet) else rows.objects).filter(**lookup).first()
    if found is None:
        raise NotFound
    return found


def find_api_key(key_id: str) -> ApiKey | None:
    """Find a key by its id in any workspace: who calls is known only after this."""
    key = _found(ApiKey, _API_KEY, key_id)
    if key is not None:
        # The name comes beside the columns of the row.
        beside = vars(key)["source_name"]
        key.source = Source(id=key.source_id, name=beside, workspace_id=key.workspace_id)
    return key


def find_personal_token(key_id: str) -> PersonalToken | None:
    """Find a token by its id in any workspace: who calls is known only after this."""
    return _found(PersonalToken, _TOKEN, key_id)


def find_invitation(token_hash: bytes) -> Invitation | None:
    """Find an invitation by its token: the invited person belongs to no workspace yet."""
    return _found(Invitation, _INVITATION, token_hash)


def workspaces_of(person: Person) -> list[WorkspaceRef]:
    """List the person's own workspaces by name, for the switcher."""
    return [workspace.ref for workspace in Workspace.objects.raw(_OF_PERSON, [person.id])]


def workspace_of(person: Person, slug: str) -> WorkspaceRef:
    """Give one of the person's own workspaces, or refuse as if there were none."""
    own = [workspace for workspace in workspaces_of(person) if workspace.slug == slug]
    if not own:
        raise NotFound
    return own[0]


def every_workspace() -> list[WorkspaceRef]:
    """List all workspaces, for a command that binds each one in turn."""
    return [workspace.ref for workspace in Workspace.objects.order_by("id")]


def workspaces_with(work: str, *values: Any) -> list[WorkspaceRef]:
    """List the workspaces that have work for a worker, by the function that knows; the worker binds each in turn."""
    holes = ", ".join(["%s"] * len(values))
    query = f"SELECT w.* FROM {work}({holes}) f JOIN workspaces_workspace w ON w.id = f.workspace_id ORDER BY w.id"
    return [workspace.ref for workspace in Workspace.objects.raw(query, list(values))]


def _found(model: type[Row], query: str, value: Any) -> Row | None:
    """Ask one of the functions for one row, and give it with its workspace."""
    found: Any
    for found in QuerySet(model).raw(query, [value]):
        known = {name: getattr(found, f"w_{name}") for name in _OF_WORKSPACE}
        found.workspace = Workspace(id=found.workspace_id, **known)
        row: Row = found
        return row
    return None
