"""Subject packages for people: asked for, followed, handed out by a link shown once, revoked (PR-18, PR-19)."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from privacy.models import PackageRun
from privacy.tasks import build_packages
from tests import factories
from tests.api import InProcess
from tests.console.conftest import SignedIn
from tests.privacy.packages import MARIA, content, download, opened, profile_of
from workspaces import access
from workspaces.models import AuditEntry, Profile
from workspaces.types import WorkspaceRef


@pytest.fixture
def privacy(aurora: WorkspaceRef, signed_in: SignedIn) -> Client:
    """Somebody in Aurora who answers what persons ask for."""
    return signed_in(factories.make_person(aurora, "privacy", name="Paula"))


@pytest.fixture
def maria(aurora: WorkspaceRef, agent: InProcess) -> Profile:
    """A person in Aurora whom a state names."""
    assert agent.write(factories.write({"remark": "two lemons"}, subject=MARIA)).body["stored"]
    return profile_of(aurora, MARIA)


def page_of(workspace: WorkspaceRef, name: str, *ids: Any) -> str:
    return reverse(f"console:{name}", args=[workspace.slug, *ids])


def run_of(workspace: WorkspaceRef) -> PackageRun:
    with access.bound(workspace.id):
        return PackageRun.objects.get()


def test_a_package_is_asked_for_on_the_page_of_a_profile(
    aurora: WorkspaceRef, privacy: Client, maria: Profile
) -> None:
    """PR-18, CO-7: with a reason that is kept; the page of the package shows each step, also after a reload."""
    profile = privacy.get(page_of(aurora, "profile", maria.id)).content.decode()
    address = page_of(aurora, "package_new", maria.id)
    assert f'href="{address}"' in profile
    assert privacy.post(address, {"reason": " "}).status_code == 422
    answer = privacy.post(address, {"reason": "Request 42"})
    run = run_of(aurora)
    assert (answer.status_code, answer["Location"]) == (303, page_of(aurora, "package", run.id))
    for _ in range(2):
        waiting = privacy.get(answer["Location"]).content.decode()
        assert "Waits for a worker" in waiting
        assert 'hx-trigger="every 2s"' in waiting
    build_packages()
    ready = privacy.get(answer["Location"]).content.decode()
    assert "Works until" in ready
    assert "hx-trigger" not in ready
    assert "agent_states.jsonl" in ready
    assert "two lemons" not in ready
    assert "Request 42" in ready
    listed = privacy.get(page_of(aurora, "packages")).content.decode()
    assert answer["Location"] in listed
    with access.bound(aurora.id):
        entry = AuditEntry.objects.get(act="package.request")
    assert (entry.reason, entry.object_id) == ("Request 42", str(maria.id))


def test_a_link_is_shown_once(aurora: WorkspaceRef, privacy: Client, maria: Profile) -> None:
    """PR-19: on the answer itself, in no message, page or entry of the audit; the one before stops working."""
    privacy.post(page_of(aurora, "package_new", maria.id), {"reason": "Request 42"})
    build_packages()
    address = page_of(aurora, "package_link", run_of(aurora).id)
    assert "token=" not in privacy.get(address).content.decode()
    links = []
    for _ in range(2):
        shown = privacy.post(address, {"reason": "For the person"}).content.decode()
        (found,) = re.findall(r'<code id="secret">(.*?)</code>', shown)
        links.append(found)
    assert opened(content(download(links[1]))).lines("handles.jsonl")
    assert download(links[0]).status_code == 404
    for name in ("package", "package_link", "package_revoke"):
        text = privacy.get(page_of(aurora, name, run_of(aurora).id)).content.decode()
        assert links[1].partition("token=")[2] not in text
    with access.bound(aurora.id):
        entries = AuditEntry.objects.filter(act="package.link")
        assert [entry.reason for entry in entries] == ["For the person"] * 2
        assert links[1].partition("token=")[2] not in repr(
            [vars(entry) for entry in AuditEntry.objects.all()]
        )


def test_a_package_is_revoked(aurora: WorkspaceRef, privacy: Client, maria: Profile) -> None:
    """PR-19, CO-5: with a reason; afterwards the page offers neither a link nor to revoke it again."""
    privacy.post(page_of(aurora, "package_new", maria.id), {"reason": "Request 42"})
    run = run_of(aurora)
    answer = privacy.post(page_of(aurora, "package_revoke", run.id), {"reason": "Not theirs"})
    assert answer.status_code == 303
    text = privacy.get(answer["Location"]).content.decode()
    assert page_of(aurora, "package_revoke", run.id) not in text
    assert page_of(aurora, "package_link", run.id) not in text
    for name in ("package_revoke", "package_link"):
        assert privacy.post(page_of(aurora, name, run.id), {"reason": "Again"}).status_code == 409
    build_packages()
    assert run_of(aurora).status == "revoked"


LISTED = {"": True, "open": True, "ready": False, "expired": False, "x": True}


@pytest.mark.parametrize("state", LISTED)
def test_packages_are_filtered_by_state(
    aurora: WorkspaceRef, privacy: Client, maria: Profile, state: str
) -> None:
    """CO-4: by what a package is now; a word that is no state does not filter."""
    privacy.post(page_of(aurora, "package_new", maria.id), {"reason": "Request 42"})
    text = privacy.get(page_of(aurora, "packages"), {"state": state}).content.decode()
    assert (maria.pseudonym in text) is LISTED[state]


def test_who_may_not_build_packages_is_not_offered_one(
    aurora: WorkspaceRef, signed_in: SignedIn, maria: Profile
) -> None:
    """PL-2: support sees the profile, and no way to its package."""
    support = signed_in(factories.make_person(aurora, "support", name="Sofia"))
    address = page_of(aurora, "package_new", maria.id)
    assert address not in support.get(page_of(aurora, "profile", maria.id)).content.decode()
    assert support.post(address, {"reason": "Curious"}).status_code == 403
