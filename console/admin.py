"""Django's admin, for deployments that enable it: it only reads, shows metadata only, and each look is audited (PL-20).

It works on one workspace at a time, which `?workspace=<slug>` chooses; the rights are those of the console's pages.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.views import redirect_to_login
from django.db import models, transaction
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agentstate.models import State
from assembly.models import ContextAssembly, Graph, GraphRecord, Payload
from console.pages import actor, personal_page
from history.models import Session
from privacy.models import ErasureRequest, PackageRun
from workspaces import access, audit
from workspaces.errors import NotFound
from workspaces.models import ApiKey, AuditEntry, Document, Hold, Membership, Profile, Source
from workspaces.selectors.people import permissions_of
from workspaces.types import AuditObject, WorkspaceRef

CHOSEN = "admin_workspace"
KEPT_PAGES = ("index", "app_list", "jsi18n")
_View = Callable[..., HttpResponseBase]


class MetadataSite(AdminSite):
    """The admin of one workspace at a time."""

    site_header = site_title = _("Lastro: read-only administration")
    index_template = "console/admin/index.html"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        """Let in whoever comes this far: `admin_view` has asked for the sign-in, and each table asks for its right."""
        return True

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:  # type: ignore[override]
        """Lead to the one sign-in that there is, with its second factor and its lock-out (PL-4)."""
        return redirect_to_login(request.get_full_path())

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Leave out what changes something, and what is there twice: passwords, the sign-in and the sign-out."""
        return [url for url in super().get_urls() if isinstance(url, URLResolver) or url.name in KEPT_PAGES]

    def admin_view(self, view: _View, cacheable: bool = False) -> _View:  # type: ignore[override]  # noqa: FBT001
        """Run a view bound to the chosen workspace; what it shows is rendered before the binding ends."""

        @personal_page
        @wraps(view)
        def bound_view(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
            request.workspace = _chosen(request)
            if request.workspace is None:
                return self._choice(request)
            with access.bound(request.workspace.id):
                request.may = permissions_of(request.user, request.workspace)
                return _rendered(view(request, *args, **kwargs))

        return super().admin_view(bound_view, cacheable)

    def _choice(self, request: Any) -> HttpResponseBase:
        context = {**self.each_context(request), "title": _("Choose a workspace"), "app_list": []}
        return _rendered(TemplateResponse(request, self.index_template, context))

    def each_context(self, request: Any) -> dict[str, Any]:
        """Tell the templates which workspaces there are to choose from."""
        request.may = getattr(request, "may", frozenset())
        own = access.workspaces_of(request.user)
        return {**super().each_context(request), "own_workspaces": own, "site_url": "/console/"}


class MetadataAdmin(ModelAdmin):  # type: ignore[type-arg]
    """A table that is looked at: the columns it names, nothing else, and no button that changes anything."""

    permission = ""
    change_form_template = "console/admin/row.html"
    actions = None
    list_per_page = 50
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        """Keep the list and the one row."""
        kept = (f"{self.opts.app_label}_{self.opts.model_name}_{page}" for page in ("changelist", "change"))
        names = set(kept)
        return [url for url in super().get_urls() if url.name in names]

    def has_view_permission(self, request: Any, obj: Any = None) -> bool:
        return self.permission in request.may

    def has_module_permission(self, request: Any) -> bool:
        return self.permission in request.may

    def has_add_permission(self, request: Any) -> bool:
        return False

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: Any) -> bool:
        """Filter by what the list offers alone: any other column could be guessed by how many rows are left."""
        column, _, how = lookup.partition("__")
        return column in self.list_filter and how in ("", "exact") and "\0" not in str(value)

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        """List rows, and note who looked."""
        answer = super().changelist_view(request, extra_context)
        return self._noted(request, answer, id="")

    def changeform_view(
        self, request: Any, object_id: Any = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """Show a row, and note who looked."""
        answer = super().changeform_view(request, object_id, form_url, extra_context)
        return self._noted(request, answer, id=str(object_id))

    def _noted(self, request: Any, answer: Any, *, id: str) -> Any:
        if answer.status_code == 200:
            seen = AuditObject(kind=str(self.opts.model_name), id=id)
            with transaction.atomic():
                audit.record("admin.read", actor=actor(request), on=seen, now=timezone.now())
        return answer


site = MetadataSite(name="admin")


def _show(
    model: type[models.Model], permission: str, columns: str, *, newest: str, filters: str = ""
) -> None:
    """Let who holds a permission see a table, by these columns alone; all are separated by blanks."""
    shown = tuple(columns.split())
    members = {
        "permission": permission,
        "fields": shown,
        "readonly_fields": shown,
        "list_display": shown,
        "list_filter": tuple(filters.split()),
        "ordering": (f"-{newest}",),
    }
    site.register(model, type(f"{model.__name__}Admin", (MetadataAdmin,), members))


_show(
    State,
    "view_state_metadata",
    "id agent scope_kind type type_version life version body_bytes created_at updated_at due_at",
    newest="updated_at",
    filters="life scope_kind",
)
_show(
    Session,
    "view_state_metadata",
    "id source life provider model item_count stored_bytes created_at touched_at due_at",
    newest="touched_at",
    filters="life provider",
)
_show(
    Graph,
    "view_assemblies",
    "id life position created_at touched_at due_at",
    newest="touched_at",
    filters="life",
)
_show(
    GraphRecord,
    "view_assemblies",
    "id kind name position visibility privacy state naive_tokens recorded_at expires_at",
    newest="id",
    filters="kind visibility privacy",
)
_show(
    Payload,
    "view_assemblies",
    "id role state size_bytes",
    newest="id",
    filters="state",
)
_show(
    ContextAssembly,
    "view_assemblies",
    "id policy policy_version kind route position as_of considered naive_tokens assembled_tokens digest created_at",
    newest="created_at",
    filters="kind",
)
_show(Profile, "find_profiles", "id pseudonym created_at last_seen_at", newest="created_at")
_show(
    ErasureRequest,
    "request_erasure",
    "id number target status refusal regime due_on requested_at ended_at",
    newest="number",
    filters="status target",
)
_show(
    PackageRun,
    "build_package",
    "id status asked_at size_bytes downloads expires_at",
    newest="asked_at",
    filters="status",
)
_show(Hold, "place_hold", "id scope_kind placed_at ends_at lifted_at", newest="placed_at")
_show(
    ApiKey,
    "manage_keys",
    "id key_id name source scopes agents created_at expires_at revoked_at last_used_on",
    newest="created_at",
)
_show(Source, "manage_keys", "id name created_at", newest="created_at")
_show(Document, "propose_documents", "id kind version published_at", newest="published_at", filters="kind")
_show(Membership, "manage_people", "id person joined_at", newest="joined_at")
_show(
    AuditEntry,
    "view_audit",
    "id seq at act actor_name object_kind object_id result",
    newest="seq",
    filters="result",
)


def _chosen(request: Any) -> WorkspaceRef | None:
    """Give the workspace that the address or the session names, if it is one of the person's own."""
    asked = request.GET.get("workspace")
    if asked is not None:
        request.session[CHOSEN] = asked
    slug = request.session.get(CHOSEN)
    if slug is None:
        return None
    try:
        return access.workspace_of(request.user, slug)
    except NotFound as error:
        del request.session[CHOSEN]
        raise Http404 from error


def _rendered(answer: HttpResponseBase) -> HttpResponseBase:
    return answer.render() if isinstance(answer, TemplateResponse) else answer
