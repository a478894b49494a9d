"""What belongs to no workspace, and every route that takes an id of one (PL-1)."""

from typing import Any

import msgspec

WITHOUT_WORKSPACE: dict[str, str] = {
    "workspaces_workspace": "It is the workspace.",
    "workspaces_person": "A person may belong to several workspaces; memberships and roles say to which.",
    "workspaces_person_groups": "It joins a person to the group of a role, which stands in workspaces_role.",
    "workspaces_person_user_permissions": "Django makes it; nobody holds a permission but by a role.",
    "workspaces_deploymentkey": "The deployment's own keys; those of workspaces stand in another table.",
    "workspaces_deploymentauditentry": "Acts outside every workspace, such as a failed sign-in (PR-21).",
    "workspaces_deploymentaudithead": "The last entry of the deployment's own chain.",
    "workspaces_signingkey": "The deployment's signing keys, whose public halves everybody may read (PR-20b).",
    "workspaces_scheduledrun": "When each scheduled task of the deployment ran last (PL-11).",
    "workspaces_outgoing": "Signed documents on their way out of the deployment, without content (PR-22).",
    "auth_group": "One group for each role of each workspace; workspaces_role says whose it is.",
    "auth_group_permissions": "Django makes it; a role's rights are object permissions on its workspace.",
    "auth_permission": "The names of the rights, the same everywhere.",
    "guardian_groupobjectpermission": "The rights of a role's group; its object is the workspace.",
    "guardian_userobjectpermission": "Guardian makes it; nobody holds a permission but by a role.",
    "django_content_type": "The names of the models.",
    "django_migrations": "Which migrations have run, in each of the two databases.",
    "django_session": "Django makes it; sessions stand in workspaces_staffsession.",
    "workspaces_staffsession": "A signed-in person's session, in whichever of their workspaces they are.",
    "workspaces_secondfactor": "A person's app, for whichever of their workspaces.",
    "workspaces_recoverycode": "A person's codes for who has lost the app, hashed.",
    "workspaces_openidaccount": "A person's account at the provider of OpenID Connect.",
    "workspaces_failingnetwork": "Where sign-ins fail from, before anybody is known (PL-4).",
}


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """A request that names something by an id; `kind` is what the id is of, and `{id}` is where it goes.

    `home` is what the same request is answered at home, where it is found.
    """

    method: str
    path: str
    route: str
    kind: str
    body: Any = None
    home: int = 200


_WHY = {"reason": "For a test"}
GUESSES = (
    Guess(method="GET", path="/v1/profiles/{id}/agent-state", route="profile-states", kind="profile"),
    Guess(
        method="POST",
        path="/v1/profiles/search",
        route="profile-search",
        kind="pseudonym",
        body={"query": "{id}"},
    ),
    Guess(
        method="POST",
        path="/v1/legal-holds",
        route="legal-holds",
        kind="profile",
        body={
            "target": "profile",
            "profile_id": "{id}",
            "reason": "For a test",
            "ends_at": "2050-01-01T00:00:00Z",
        },
        home=201,
    ),
    Guess(
        method="POST",
        path="/v1/legal-holds/{id}/lift",
        route="legal-hold-lift",
        kind="hold",
        body={"reason": "For a test"},
    ),
    Guess(
        method="POST",
        path="/v1/profiles/link",
        route="profile-link",
        kind="profile",
        body={"first": {"profile_id": "{id}"}, "second": {"profile_id": "{id}"}},
    ),
    Guess(method="POST", path="/v1/config/diffs/{id}/approve", route="config-approve", kind="change"),
    Guess(method="GET", path="/v1/forget/{id}", route="forget-status", kind="erasure"),
    Guess(method="GET", path="/v1/config/diffs/{id}", route="config-diff", kind="change"),
    Guess(
        method="PUT",
        path="/v1/config/diffs/{id}",
        route="config-diff",
        kind="change",
        body={
            "kind": "object-types",
            "document": {"types": []},
            "reason": "For a test",
            "drop": ["order.step"],
        },
        home=403,
    ),
    *(
        Guess(
            method="POST",
            path=f"/v1/config/diffs/{{id}}/{act}",
            route=f"config-{act}",
            kind="change",
            body=body,
            home=home,
        )
        for act, body, home in (("deny", _WHY, 200), ("withdraw", _WHY, 403), ("publish", None, 200))
    ),
    Guess(
        method="POST",
        path="/v1/export",
        route="export",
        kind="profile",
        body={"profile_id": "{id}"},
        home=202,
    ),
    Guess(method="GET", path="/v1/export/{id}", route="export-run", kind="package"),
    Guess(
        method="POST",
        path="/v1/agent-state/read",
        route="agent-state-read",
        kind="scope",
        body={"scope": {"kind": "conversation", "id": "{id}"}, "agent": "order-taker"},
    ),
    Guess(
        method="POST",
        path="/v1/agent-state/delete",
        route="agent-state-delete",
        kind="scope",
        body={"scope": {"kind": "conversation", "id": "{id}"}, "agent": "order-taker"},
    ),
    Guess(
        method="PUT",
        path="/v1/agent-state",
        route="agent-state",
        kind="scope",
        body={
            "scope": {"kind": "conversation", "id": "{id}"},
            "agent": "order-taker",
            "mode": "cas",
            "if_version": 1,
            "body": {"step": "done"},
        },
    ),
)

_SESSION = {"session": {"session_id": "{id}"}}
_NEW_MESSAGE = [{"message": {"role": "user", "content": "Hello"}}]
HISTORY_GUESSES = tuple(
    Guess(
        method="POST",
        path=f"/v1/history/{act}",
        route=f"history-{act.replace('/', '-')}",
        kind="session",
        body=_SESSION | body,
        home=home,
    )
    for act, body, home in (
        ("begin", {}, 200),
        ("append", {"items": _NEW_MESSAGE}, 200),
        ("commit", {"reservation": "none"}, 409),
        ("abort", {"reservation": "none"}, 409),
        ("window", {"provider": "openai.chat"}, 200),
        ("read", {}, 200),
        ("fork", {"to": {"session_id": "another"}, "at": "cast-message"}, 200),
        ("recover", {"worker_stopped": True}, 200),
        ("delete", {}, 200),
        ("items", {}, 200),
        ("items/remove", {}, 200),
    )
)

_NEW_BRANCH = {
    "type": "branch",
    "id": "another",
    "conversation": "{id}",
    "recorded_at": "2050-01-01T00:00:00Z",
}
CONTEXT_GUESSES = (
    Guess(method="POST", path="/v1/graph", route="graph", kind="graph", body={"records": [_NEW_BRANCH]}),
    # Another source of the home than the one that recorded it.
    *(
        Guess(
            method=method,
            path="/v1/graph/artifacts/{id}/payload",
            route="graph-payload",
            kind="payload",
            home=403,
        )
        for method in ("GET", "PUT")
    ),
    Guess(
        method="POST",
        path="/v1/context/assemble",
        route="context-assemble",
        kind="graph",
        body={
            "conversation": "{id}",
            "branch": "main.{id}",
            "participant": "planner.{id}",
            "route": "openai",
        },
    ),
    Guess(
        method="GET",
        path="/v1/context/assemblies?conversation={id}",
        route="context-assemblies",
        kind="graph",
    ),
    Guess(method="GET", path="/v1/context/assemblies/{id}", route="context-assembly", kind="assembly"),
    Guess(
        method="POST",
        path="/v1/context/assemblies/{id}/why",
        route="context-assembly-why",
        kind="assembly",
        body={"type": "tool_memory", "id": "memory.cast-graph"},
    ),
)

NAMES_NOTHING: dict[str, str] = {
    "source-me": "It answers about the key itself.",
    "sdk-profile": "It answers about the key's own workspace.",
    "ingest-status": "It answers the same for every id: nothing is ingested.",
    "batch": "It keeps nothing.",
    "signing-keys": "The public keys are the deployment's, the same for every workspace.",
    "profile-unlink": "A handle is a value, which each workspace hashes with a key of its own.",
    "config": "A kind of document is a word that every workspace has.",
    "config-schema": "The schemas are the same everywhere.",
    "config-diffs": "A new change takes no id.",
    "forget": "An id of another workspace names nobody here, and is answered as a request of its own.",
    "package-download": "Its token opens one package to whoever holds it; tests/privacy tries others.",
}
