"""Pictures of every page, as `make screens` takes them: the demo's workspace after its conversation (CO-14).

python -m console.embedded run -- python -m tests.console.screens [part of a name, or several with commas]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import django
from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / ".lastro" / "screens"
FOR_README = ROOT / "docs" / "images"
THEMES = ("light", "dark")
PICTURES = (
    ("features", "security", "features", "light"),
    ("dialog", "security", "feature dialog", "light"),
    ("working-memory", "support", "profile_working_memory", "light"),
    ("working-memory-dark", "support", "profile_working_memory", "dark"),
)


def main() -> None:
    """Load the demo, play its conversation, and take a picture of each sight in both themes and two widths."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
    django.setup()
    with tempfile.TemporaryDirectory() as scratch:
        from tests.server import Server

        sheet = _loaded(Path(scratch) / "demo.json")
        server = Server(Path(scratch)).start()
        try:
            _play(sheet, server.url)
            house = _house(json.loads(sheet.read_text()))
            if wanted == "--readme":
                _take_for_readme(house, server.url)
            else:
                _take_all(house, server.url, wanted)
        finally:
            server.stop()


def _loaded(sheet: Path) -> Path:
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    call_command("load_demo", json=str(sheet))
    return sheet


def _play(sheet: Path, url: str) -> None:
    sheet.write_text(json.dumps({"base_url": url, **json.loads(sheet.read_text())}))
    environment = {**os.environ, "LASTRO_DEMO_FILE": str(sheet)}
    command = [sys.executable, "examples/order_taking.py"]
    for _ in range(2):
        subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)


def _house(demo: dict[str, Any]) -> Any:
    """Describe the demo's workspace as the tests describe theirs."""
    from django.utils import timezone

    from agentstate.models import SweepRun
    from tests import factories
    from tests.console.assembled import keep_assemblies
    from tests.console.house import (
        EVERY_ROLE,
        WITHOUT_ROLE,
        House,
        ask_and_hold,
        ask_for_a_change,
        count_a_month,
        keep_sessions,
        run_schedule,
    )
    from tests.privacy.packages import package_of
    from workspaces import access
    from workspaces.models import ApiKey, AuditEntry, Invitation, Person, PersonalToken, Profile, Workspace
    from workspaces.rules.rights import ROLES
    from workspaces.scopes import scope_of
    from workspaces.services import people

    workspace = Workspace.objects.get(slug=demo["workspace"]["slug"]).ref
    staff = {role: Person.objects.get(email=f"{role}@example.com") for role in ROLES}
    staff[EVERY_ROLE] = factories.make_person(workspace, *ROLES, name="Eva")
    staff[WITHOUT_ROLE] = factories.make_person(workspace, name="Nils")
    factories.make_token(workspace, staff[EVERY_ROLE], "view_audit", "view_usage")
    quiet = factories.make_workspace("Boulangerie")
    with access.bound(quiet.id):
        people.join(person=staff[EVERY_ROLE], roles=ROLES, actor=factories.SYSTEM, now=timezone.now())
    package = package_of(workspace)
    count_a_month(workspace)
    run_schedule()
    reserved = keep_sessions(workspace, {"type": "phone_e164", "value": "+5511912345678"})
    with access.bound(workspace.id):
        profile = Profile.objects.all()[0].id
    customer = {"type": "phone_e164", "value": "+5511912345678"}
    assembled = keep_assemblies(workspace, customer, word="two free slots on Thursday")
    requests, hold, held = ask_and_hold(workspace, staff)
    with access.bound(workspace.id):
        invitation = people.invite(
            workspace=workspace,
            email="marcos.reis@example.com",
            roles=["support"],
            inviter=staff["owner"],
            actor=factories.SYSTEM,
            now=timezone.now(),
        )
        return House(
            workspace=workspace,
            quiet=quiet,
            people=staff,
            tokens={"security": PersonalToken.objects.get().id, EVERY_ROLE: PersonalToken.objects.get().id},
            invitation=invitation,
            invitation_id=Invitation.objects.get().id,
            profile=profile,
            key=ApiKey.objects.all()[0].id,
            key_text="",
            entry=AuditEntry.objects.get(act="feature.enable", object_id="agent_state").id,
            requests=requests,
            hold=hold,
            held=held,
            reserved=reserved,
            change=ask_for_a_change(staff["engineer"]).id,
            package=package.id,
            assembly=assembled.traced,
            compared=assembled.plain,
            job=f"states-{SweepRun.objects.latest('id').id}",
            scope=scope_of(workspace, kind="conversation", id="c-1").hash.hex(),
        )


def _take_all(house: Any, url: str, wanted: str) -> None:
    from tests.console.browser import PHONE_WIDTH, WIDE, Visits, running_chromium
    from tests.console.sights import sights

    if not wanted:
        shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True, exist_ok=True)
    with running_chromium() as browser:
        for width in (WIDE, PHONE_WIDTH):
            for theme in THEMES:
                visits, pages = Visits(browser, url), dict[str, Page]()
                for number, sight in enumerate(sights()):
                    if not any(word in sight.name for word in wanted.split(",")):
                        continue
                    if sight.who not in pages:
                        pages[sight.who] = visits.open(house.people.get(sight.who), theme=theme, width=width)
                    sight.show(pages[sight.who], house)
                    name = re.sub(r"\W+", "-", sight.name)
                    file = TARGET / f"{number:02}-{name}-{theme}-{width}.png"
                    pages[sight.who].screenshot(path=file, full_page=True)
                visits.close()
    print(f"{len(list(TARGET.iterdir()))} pictures are in {TARGET.relative_to(ROOT)}")  # noqa: T201


def _take_for_readme(house: Any, url: str) -> None:
    from tests.console.browser import Visits, running_chromium
    from tests.console.sights import sights

    known = {sight.name: sight for sight in sights()}
    FOR_README.mkdir(exist_ok=True)
    with running_chromium() as browser:
        visits = Visits(browser, url)
        for name, who, sight, theme in PICTURES:
            page = visits.open(house.people[who], theme=theme, viewport={"width": 1200, "height": 560})
            known[sight].show(page, house)
            page.screenshot(path=FOR_README / f"{name}.png")
        visits.close()


if __name__ == "__main__":
    main()
