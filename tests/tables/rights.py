"""Who may do what, written down a second time, by hand (PL-2, PL-3).

`ROUTES` are the methods of /v1 and `PAGES` the pages of a workspace: one row says who gets in, and everybody else is
refused. `tests/workspaces/test_rights.py` sends every row of `ROUTES` as everybody; `tests/test_endpoints.py` refuses
a route that stands in no table.
"""

from typing import Any
from uuid import UUID

import msgspec

from tests.factories import ORDER_TYPE

ROLES = ("owner", "security", "privacy", "support", "engineer", "auditor")
KINDS = ("features", "object-types", "masking", "retention", "assembly-policy")
SCOPES = ("agent_state", "history", "context", "admin")

HELD: dict[str, tuple[str, ...]] = {
    "change_features": ("security",),
    "manage_keys": ("security",),
    "propose_documents": ("security", "engineer"),
    "approve_documents": ("security",),
    "publish_documents": ("owner", "security"),
    "break_glass": ("owner",),
    "find_profiles": ("privacy", "support", "auditor"),
    "view_state_metadata": ("privacy", "support", "auditor"),
    "request_erasure": ("privacy",),
    "approve_erasure": ("privacy",),
    "build_package": ("privacy",),
    "place_hold": ("privacy",),
    "lift_hold": ("privacy",),
    "link_profiles": ("privacy",),
    "recover_history": ("engineer",),
    "view_audit": ("security", "privacy", "auditor"),
    "view_assemblies": ("engineer", "auditor"),
    "view_usage": ("security", "engineer", "auditor"),
    "manage_people": ("owner",),
    "manage_workspace": ("owner",),
}
"""The roles that hold each permission, as PL-2 lists them."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One method of a route of /v1: the scopes and the roles that open it. `{...}` is filled from the cast.

    `code` is why those are refused too, by something else than their rights.
    """

    method: str
    path: str
    name: str
    scopes: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    feature: str = ""
    body: Any = None
    ok: int = 200
    code: str | None = None
    row: str = ""

    @property
    def title(self) -> str:
        """Name the row in a test's id."""
        return f"{self.method} {self.name}{'/' if self.row else ''}{self.row}"

    def answer_to(self, caller: str) -> tuple[int, str | None]:
        """Give the status and the code that `key:<scope>`, `role:<role>` or `nobody` gets."""
        kind, _, name = caller.partition(":")
        opens, code = {
            "key": (self.scopes, "scope_missing"),
            "role": (self.roles, "permission_missing"),
        }.get(kind, ((), "unauthenticated"))
        if kind not in {"key", "role"}:
            return 401, code
        if name in opens:
            return self.ok, self.code
        return 403, code if opens else "forbidden"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a workspace and the permissions of which one opens it; none: every member, whatever their role.

    Who lacks them gets 403, a member of another workspace only 404, and nobody the way to the sign-in (302).
    `statuses` names the roles that get something else.
    """

    name: str
    any_of: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("GET",)
    ok: int = 200
    statuses: dict[str, int] = {}

    def status_for(self, role: str) -> int:
        """Give the status that a member with this role gets; an empty role is a member without one."""
        opens = not self.any_of or any(role in HELD[permission] for permission in self.any_of)
        return self.statuses.get(role, self.ok if opens else 403)


_METADATA = ("privacy", "support", "auditor")
_WRITE = {
    "scope": {"kind": "conversation", "id": "of-a-table-of-rights"},
    "agent": "order-taker",
    "mode": "merge_by_key",
    "body": {"step": "cart"},
}
_HANDLE = {"type": "phone_e164", "value": "+55 11 91234-5678"}
_NAME = {"scope": _WRITE["scope"], "agent": "order-taker"}


def _change(kind: str, document: Any) -> dict[str, Any]:
    return {"kind": kind, "document": document, "reason": "For a test"}


ROUTES: tuple[Route, ...] = (
    Route(
        method="PUT",
        path="/v1/agent-state",
        name="agent-state",
        scopes=("agent_state",),
        feature="agent_state",
        body=_WRITE,
    ),
    Route(
        method="POST",
        path="/v1/agent-state/read",
        name="agent-state-read",
        scopes=("agent_state",),
        feature="agent_state",
        body=_NAME,
    ),
    Route(
        method="POST",
        path="/v1/agent-state/delete",
        name="agent-state-delete",
        scopes=("agent_state",),
        feature="agent_state",
        body=_NAME,
    ),
    *(
        Route(
            method="POST",
            path=f"/v1/history/{act}",
            name=f"history-{act.replace('/', '-')}",
            scopes=("history",),
            roles=("engineer",) if act == "recover" else (),
            feature="history",
            body={"session": {"session_id": "cast-session"}, **body},
            ok=ok,
            code=code,
        )
        for act, body, ok, code in (
            ("begin", {}, 200, None),
            ("append", {"items": [{"message": {"role": "user", "content": "Hello"}}]}, 200, None),
            ("commit", {"reservation": "none"}, 409, "decision_history_reservation_lost"),
            ("abort", {"reservation": "none"}, 409, "decision_history_reservation_lost"),
            ("window", {"provider": "openai.chat"}, 200, None),
            ("read", {}, 200, None),
            ("fork", {"to": {"session_id": "another"}, "at": "cast-message"}, 200, None),
            ("delete", {}, 200, None),
            ("items", {}, 200, None),
            ("items/remove", {}, 200, None),
            # A source names a session and a person an id: here both name nothing.
            (
                "recover",
                {"session": {"session_id": "nobody's"}, "id": str(UUID(int=0)), "worker_stopped": True},
                404,
                "decision_history_not_found",
            ),
        )
    ),
    Route(
        method="POST",
        path="/v1/graph",
        name="graph",
        scopes=("context",),
        feature="context",
        body={"records": [{"type": "conversation", "id": "of-a-table-of-rights", "conversation": "c"}]},
    ),
    *(
        Route(
            method=method,
            path=f"/v1/graph/artifacts/{UUID(int=0)}/payload",
            name="graph-payload",
            scopes=("context",),
            feature="context",
            body=body,
            ok=404,
            code="not_found",
        )
        for method, body in (("PUT", {}), ("GET", None))
    ),
    Route(
        method="POST",
        path="/v1/context/assemble",
        name="context-assemble",
        scopes=("context",),
        feature="context",
        body={
            "conversation": "cast-graph",
            "branch": "main.cast-graph",
            "participant": "planner.cast-graph",
            "route": "openai",
        },
    ),
    Route(
        method="GET",
        path="/v1/context/assemblies",
        name="context-assemblies",
        scopes=("context",),
        feature="context",
    ),
    Route(
        method="GET",
        path="/v1/context/assemblies/{assembly}",
        name="context-assembly",
        scopes=("context",),
        feature="context",
    ),
    Route(
        method="POST",
        path="/v1/context/assemblies/{assembly}/why",
        name="context-assembly-why",
        scopes=("context",),
        feature="context",
        body={"type": "tool_memory", "id": "memory.cast-graph"},
    ),
    Route(
        method="GET",
        path="/v1/profiles/{profile}/agent-state",
        name="profile-states",
        scopes=("admin",),
        roles=_METADATA,
        feature="agent_state",
    ),
    Route(
        method="POST",
        path="/v1/profiles/search",
        name="profile-search",
        scopes=("admin",),
        roles=_METADATA,
        body={"query": "+55 11 91234-5678"},
    ),
    Route(
        method="POST",
        path="/v1/profiles/link",
        name="profile-link",
        scopes=("admin",),
        roles=HELD["link_profiles"],
        body={"first": {"handle": _HANDLE}, "second": {"handle": _HANDLE}},
    ),
    Route(
        method="POST",
        path="/v1/profiles/unlink",
        name="profile-unlink",
        scopes=("admin",),
        roles=HELD["link_profiles"],
        body={"handle": _HANDLE},
    ),
    Route(method="GET", path="/v1/sources/me", name="source-me", scopes=SCOPES),
    Route(method="GET", path="/v1/sdk/profile", name="sdk-profile", scopes=SCOPES),
    Route(
        method="POST",
        path="/v1/ingest/status",
        name="ingest-status",
        scopes=SCOPES,
        body={"conversation_id": "c"},
    ),
    Route(method="POST", path="/v1/batch", name="batch", scopes=SCOPES, body={"items": [{}]}),
    Route(method="GET", path="/v1/signing-keys", name="signing-keys", scopes=SCOPES, roles=ROLES),
    Route(method="GET", path="/v1/config/features", name="config", scopes=SCOPES, roles=ROLES),
    Route(
        method="GET",
        path="/v1/config/masking/schema",
        name="config-schema",
        scopes=SCOPES,
        roles=ROLES,
    ),
    Route(
        method="POST",
        path="/v1/config/diffs",
        name="config-diffs",
        row="features",
        roles=HELD["change_features"],
        body=_change("features", {"enabled": []}),
        ok=201,
    ),
    Route(
        method="POST",
        path="/v1/config/diffs",
        name="config-diffs",
        row="object-types",
        roles=HELD["propose_documents"],
        body=_change("object-types", {"types": [ORDER_TYPE]}),
        ok=201,
    ),
    Route(
        method="GET",
        path="/v1/legal-holds",
        name="legal-holds",
        roles=("security", "privacy", "auditor"),
    ),
    Route(
        method="POST",
        path="/v1/legal-holds",
        name="legal-holds",
        roles=HELD["place_hold"],
        body={
            "target": "conversation",
            "conversation_id": "of-a-table-of-rights",
            "reason": "For a test",
            "ends_at": "2050-01-01T00:00:00Z",
        },
        ok=201,
    ),
    Route(
        method="POST",
        path="/v1/legal-holds/{hold}/lift",
        name="legal-hold-lift",
        roles=HELD["lift_hold"],
        body={"reason": "For a test"},
    ),
    *(
        Route(
            method="POST",
            path=f"/v1/config/diffs/{{{kind}}}/approve",
            name="config-approve",
            row=kind,
            roles=HELD["change_features" if kind == "features" else "publish_documents"],
        )
        for kind in KINDS
    ),
    Route(method="GET", path="/v1/config/diffs/{masking}", name="config-diff", scopes=SCOPES, roles=ROLES),
    Route(
        method="PUT",
        path="/v1/config/diffs/{object-types}",
        name="config-diff",
        roles=HELD["propose_documents"],
        body=_change("object-types", {"types": [ORDER_TYPE]}),
        ok=403,
        code="own_change",
    ),
    Route(
        method="POST",
        path="/v1/config/diffs/{masking}/withdraw",
        name="config-withdraw",
        roles=HELD["propose_documents"],
        body={"reason": "For a test"},
        ok=403,
        code="own_change",
    ),
    *(
        Route(
            method="POST",
            path=f"/v1/config/diffs/{{{kind}}}/deny",
            name="config-deny",
            row=kind,
            roles=HELD["approve_documents" if kind == "features" else "publish_documents"],
            body={"reason": "For a test"},
        )
        for kind in KINDS
    ),
    *(
        Route(
            method="POST",
            path=f"/v1/config/diffs/{{{kind}}}/publish",
            name="config-publish",
            row=kind,
            roles=HELD["change_features" if kind == "features" else "publish_documents"],
        )
        for kind in KINDS
    ),
    Route(
        method="POST",
        path="/v1/forget",
        name="forget",
        scopes=("admin",),
        roles=HELD["request_erasure"],
        body={"target": "conversation", "conversation_id": "of-a-table-of-rights"},
        ok=202,
    ),
    Route(
        method="GET",
        path="/v1/forget/{erasure}",
        name="forget-status",
        scopes=("admin",),
        roles=HELD["request_erasure"],
    ),
    Route(
        method="POST",
        path="/v1/export",
        name="export",
        scopes=("admin",),
        roles=HELD["build_package"],
        body={"handle": {"type": "phone_e164", "value": "+55 11 91234-5678"}},
        ok=202,
    ),
    Route(
        method="GET",
        path="/v1/export/{package}",
        name="export-run",
        scopes=("admin",),
        roles=HELD["build_package"],
    ),
)

PUBLIC: dict[str, str] = {
    "root": "It leads to the console.",
    "healthz": "It says that the process lives (PL-11).",
    "readyz": "It says which part is missing, and nothing else (PL-11).",
    "metrics": "It has a token of its own (PL-11).",
    "openapi": "The description of the API holds no data (PL-9).",
    "docs": "The same description, as a page.",
    "package-download": "Its link holds a token (PR-19).",
}

_FORM = ("GET", "POST")
_READERS = ("propose_documents", "approve_documents", "publish_documents", "view_audit", "request_erasure")

_ERASURES = ("request_erasure", "approve_erasure")
_ASKED = ("approve_documents", "propose_documents", "publish_documents", "manage_people", "view_audit")
_JOBS = ("view_usage", *_ERASURES, "build_package")

PAGES: tuple[Page, ...] = (
    Page(name="console:workspace", ok=303),
    Page(name="console:profiles", any_of=("find_profiles",)),
    Page(name="console:find", any_of=("find_profiles",), methods=("POST",), ok=303),
    Page(name="console:profile", any_of=("find_profiles",)),
    Page(name="console:profile_working_memory", any_of=("view_state_metadata",)),
    Page(name="console:profile_history", any_of=("view_state_metadata",)),
    # It says of a person with whom they spoke, so that it takes the metadata of profiles too.
    Page(name="console:profile_assemblies", any_of=("view_assemblies",), statuses={"engineer": 403}),
    Page(name="console:assemblies", any_of=("view_assemblies",)),
    Page(name="console:assembly", any_of=("view_assemblies",)),
    Page(name="console:assembly_why", any_of=("view_assemblies",), methods=_FORM),
    Page(name="console:assembly_compare", any_of=("view_assemblies",)),
    Page(name="console:package_new", any_of=("build_package",), methods=_FORM),
    Page(name="console:packages", any_of=("build_package",)),
    Page(name="console:package", any_of=("build_package",)),
    Page(name="console:package_link", any_of=("build_package",), methods=_FORM),
    Page(name="console:package_revoke", any_of=("build_package",), methods=_FORM),
    Page(name="console:profile_erase", any_of=("request_erasure",), methods=_FORM),
    Page(name="console:profile_hold", any_of=("place_hold",), methods=_FORM),
    Page(name="console:erasures", any_of=_ERASURES),
    Page(name="console:erasures_ended", any_of=_ERASURES),
    Page(name="console:erasure_new", any_of=("request_erasure",), methods=_FORM),
    Page(name="console:scope_erase", any_of=("request_erasure",), methods=_FORM),
    Page(name="console:erasure", any_of=_ERASURES),
    Page(name="console:erasure_receipt", any_of=_ERASURES),
    Page(name="console:erasure_verify", any_of=_ERASURES, methods=_FORM),
    Page(name="console:erasure_approve", any_of=("approve_erasure",), methods=_FORM),
    Page(name="console:erasure_refuse", any_of=("approve_erasure",), methods=_FORM),
    Page(name="console:erasure_extend", any_of=_ERASURES, methods=_FORM),
    Page(name="console:holds", any_of=("place_hold", "lift_hold")),
    Page(name="console:hold_new", any_of=("place_hold",), methods=_FORM),
    Page(name="console:hold_lift", any_of=("lift_hold",), methods=_FORM),
    Page(name="console:retention", any_of=(*_ERASURES, "place_hold", "lift_hold")),
    Page(name="console:reservations", any_of=("recover_history",)),
    Page(name="console:reservation_recover", any_of=("recover_history",), methods=_FORM),
    Page(name="console:start"),
    Page(name="console:features"),
    Page(name="console:feature_change", any_of=("change_features",), methods=_FORM),
    Page(name="console:types", any_of=_READERS),
    Page(name="console:types_draft", any_of=("propose_documents",), methods=_FORM),
    Page(name="console:document_draft", any_of=("propose_documents",), methods=_FORM),
    Page(name="console:type", any_of=_READERS),
    Page(name="console:document", any_of=_READERS),
    Page(name="console:approvals", any_of=_ASKED),
    Page(name="console:approval", any_of=_ASKED),
    Page(name="console:approval_act", any_of=_ASKED[:-1], methods=_FORM),
    Page(name="console:four_eyes", any_of=("approve_documents", "manage_workspace"), methods=_FORM),
    Page(name="console:masking_preview", any_of=_READERS, methods=("POST",)),
    Page(name="console:keys", any_of=("manage_keys", "view_audit")),
    Page(name="console:key_new", any_of=("manage_keys",), methods=_FORM),
    Page(name="console:key_rotate", any_of=("manage_keys",), methods=_FORM),
    Page(name="console:key_revoke", any_of=("manage_keys",), methods=_FORM),
    Page(name="console:people", any_of=("manage_people", "view_audit")),
    Page(name="console:invite", any_of=("manage_people",), methods=_FORM),
    Page(name="console:invitation_withdraw", any_of=("manage_people",), methods=_FORM),
    Page(name="console:person_roles", any_of=("manage_people",), methods=_FORM),
    Page(name="console:person_second_factor", any_of=("manage_people",), methods=_FORM),
    Page(name="console:audit", any_of=("view_audit",)),
    Page(name="console:audit_export", any_of=("view_audit",)),
    Page(name="console:audit_entry", any_of=("view_audit",)),
    Page(name="console:usage", any_of=("view_usage",)),
    Page(name="console:usage_export", any_of=("view_usage",)),
    Page(name="console:jobs", any_of=_JOBS),
    Page(name="console:job", any_of=_JOBS),
    Page(name="console:token_new", methods=_FORM),
    Page(name="console:token_revoke", methods=_FORM),
)

PERSONAL: dict[str, str] = {
    "console:home": "Every person sees the workspaces that are theirs.",
    "console:home_export": "It holds the numbers of the overview, of the workspaces whose usage the person sees.",
    "console:me": "Every person has a profile of their own.",
    "console:features_matrix": "It shows the workspaces that are theirs.",
    "console:second_factor": "Every person has a second factor of their own.",
}
"""Pages that belong to a person and no workspace: everybody who is signed in, the way to the sign-in (302) else."""

PERSONAL_ACTS: dict[str, str] = {
    "console:stay": "It keeps the session of who sends it.",
    "console:session_end": "It ends a session of who sends it.",
    "console:sessions_end": "It ends the other sessions of who sends it.",
    "console:second_factor_off": "It takes away the second factor of who sends it.",
    "console:second_factor_codes": "It makes recovery codes for who sends it.",
}
"""What a person does to what is theirs, where there is something to do it to; the way to the sign-in (302) else."""

OPERATORS: dict[str, tuple[str, ...]] = {"console:health": ("view_usage", "manage_workspace")}
"""Pages of the deployment, for who holds one of the permissions in any workspace; 403 to others, 302 to nobody."""

OPEN_PAGES: dict[str, str] = {
    "console:sign_in": "It is where people sign in.",
    "console:sign_in_code": "It is the second step of that, and leads back to the first without it.",
    "console:openid": "It leads to the provider of OpenID Connect, where there is one.",
    "console:openid_done": "What the provider sends is verified.",
    "console:sign_out": "It ends a session, if there is one.",
    "console:invitation": "Its link holds a token.",
    "console:password_reset": "Who forgot a password is not signed in.",
    "console:password_reset_done": "It says the same to everybody.",
    "console:password_reset_confirm": "Its link holds a token.",
    "console:password_reset_complete": "It says the same to everybody.",
    "console:theme": "It keeps a colour scheme in a cookie.",
    "console:language": "It keeps a language in a cookie.",
}
"""Pages for who is not signed in."""
