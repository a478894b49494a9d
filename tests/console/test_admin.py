"""Django's admin, where a deployment enables it (PL-20)."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import models
from django.test import Client
from playwright.sync_api import Browser, expect

from console.admin import MetadataAdmin, site
from tests import factories
from tests.console.browser import Visits
from tests.server import Server
from workspaces import access
from workspaces.models import AuditEntry, Person
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.browser
CANARY = "thirty-silent-oboes"
PHONE = "+5511955554444"


@pytest.fixture(scope="module")
def administered(_deployment_key: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a deployment that enables the admin."""
    running = Server(tmp_path_factory.mktemp("admin"), LASTRO_ADMIN="true").start()
    yield running
    running.stop()


@pytest.fixture
def admin_visits(chromium: Browser, committed: None, administered: Server) -> Iterator[Visits]:
    """Open pages of that server; what breaks the policy fails the test."""
    opened = Visits(chromium, administered.url)
    yield opened
    opened.close()


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace in which an agent keeps something about a customer."""
    workspace = factories.make_ready_workspace("Shop")
    factories.make_state(
        workspace, body={"step": "cart", "remark": CANARY}, subject={"type": "phone_e164", "value": PHONE}
    )
    return workspace


def reads_of(workspace: WorkspaceRef, person: Person) -> list[tuple[str, str]]:
    with access.bound(workspace.id):
        found = AuditEntry.objects.filter(act="admin.read", actor_id=str(person.id)).order_by("seq")
        return list(found.values_list("object_kind", "object_id"))


def test_the_admin_is_off_by_default(signed_in: object, aurora: WorkspaceRef) -> None:
    """PL-20: without LASTRO_ADMIN there is no such page."""
    assert settings.LASTRO_ADMIN is False
    assert Client().get("/admin/").status_code == 404


def test_an_auditor_looks_at_states_and_changes_nothing(admin_visits: Visits, shop: WorkspaceRef) -> None:
    """PL-20: a workspace is chosen, rows show metadata only, no page offers a change, and each look is audited."""
    auditor = factories.make_person(shop, "auditor", name="Ada")
    page = admin_visits.open(auditor)
    page.goto("/admin/")
    page.get_by_label("Workspace").select_option(label="Shop")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="States").click()
    expect(page.locator("#result_list")).to_contain_text("conversation")
    seen = page.content()
    page.locator("#result_list tbody tr a").first.click()
    expect(page.get_by_text("Body bytes")).to_be_visible()
    seen += page.content()
    assert CANARY not in seen
    assert PHONE[3:] not in seen
    assert page.get_by_role("button", name="Save").count() == 0
    assert page.get_by_role("link", name="Delete").count() == 0
    kinds = reads_of(shop, auditor)
    assert [kind for kind, _ in kinds] == ["state", "state"]
    assert kinds[0][1] == ""
    assert kinds[1][1]


@pytest.mark.parametrize(
    ("role", "sees", "does_not"),
    [
        ("support", "States", "Api keys"),
        ("security", "Api keys", "States"),
        ("engineer", "Graphs", "Profiles"),
    ],
)
def test_the_rights_are_those_of_the_pages(
    admin_visits: Visits, shop: WorkspaceRef, role: str, sees: str, does_not: str
) -> None:
    """PL-2, PL-20: each table asks for the permission that its page asks for."""
    page = admin_visits.open(factories.make_person(shop, role, name=role.title()))
    page.goto(f"/admin/?workspace={shop.slug}")
    expect(page.get_by_role("link", name=sees, exact=True)).to_be_visible()
    assert page.get_by_role("link", name=does_not, exact=True).count() == 0


def test_what_is_not_yours_is_not_there(admin_visits: Visits, shop: WorkspaceRef) -> None:
    """PL-1, PL-20: another workspace, a table without the right, a look-up that no list offers, and a visitor."""
    other = factories.make_ready_workspace("Other")
    page = admin_visits.open(factories.make_person(shop, "support", name="Sofia"))
    statuses = {
        f"/admin/?workspace={other.slug}": 404,
        f"/admin/workspaces/apikey/?workspace={shop.slug}": 403,
        "/admin/agentstate/state/add/": 404,
        "/admin/agentstate/state/?life__exact=live": 200,
        "/admin/agentstate/state/?life__exact=%00": 400,
        "/admin/agentstate/state/?agent__regex=(": 400,
        "/admin/password_change/": 404,
    }
    for url, status in statuses.items():
        answer = page.goto(url)
        assert answer is not None
        assert answer.status == status, url
    stranger = admin_visits.open()
    stranger.goto("/admin/agentstate/state/")
    assert "/console/sign-in/" in stranger.url


LOOKS = ("", "__exact", "__startswith", "__regex", "__gt", "__in", "__isnull", "__exact__exact")


@pytest.mark.parametrize("table", site._registry.values(), ids=lambda table: table.model.__name__)
def test_no_filter_tells_of_what_is_not_shown(table: MetadataAdmin) -> None:
    """PL-20: a column is filtered by where the list offers it; no other is guessed by how many rows are left."""
    columns = [field.name for field in table.model._meta.get_fields()]
    through = [f"{name}__workspace__slug" for name in columns]
    asked = [f"{name}{look}" for name in columns for look in LOOKS]
    allowed = {look for look in (*asked, *through) if table.lookup_allowed(look, "a", None)}
    assert allowed == {f"{name}{look}" for name in table.list_filter for look in ("", "__exact")}
    assert not any(table.lookup_allowed(look, "\0", None) for look in asked)


def test_no_column_can_hold_content() -> None:
    """PL-20: what is sealed, hashed, or free text and JSON is no column of any table of the admin."""
    kinds = (models.BinaryField, models.JSONField, models.TextField)
    shown = {
        f"{model.__name__}.{name}": model._meta.get_field(str(name))
        for model, table in site._registry.items()
        for name in table.list_display
    }
    assert len(shown) > 80
    assert [name for name, field in shown.items() if isinstance(field, kinds)] == []
    assert all(table.fields == table.list_display for table in site._registry.values())
