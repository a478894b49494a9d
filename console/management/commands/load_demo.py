"""`manage.py load_demo --json FILE`: a workspace with people of each role, keys and an object type (PL-13)."""

import json
import os
import secrets
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction
from django.utils import timezone

from privacy.services.documents import change_document, switch_feature
from workspaces import access, documents
from workspaces.models import Person
from workspaces.rules.rights import ROLES
from workspaces.services import credentials, people, workspaces
from workspaces.services.credentials import KeyWish
from workspaces.types import Actor, ChangeWish, Origin, WorkspaceRef

SYSTEM = Actor(kind="system", id="load_demo", name="load_demo")
NAMES = {
    "owner": "Olivia Prado",
    "security": "Ana Souza",
    "privacy": "Luc Martin",
    "support": "Sofia Lima",
    "engineer": "Emil Costa",
    "auditor": "Alba Nunes",
}
ORDER_TYPE: dict[str, Any] = {
    "type": "order",
    "version": "1",
    "ownership": "agent",
    "agents": ["order-taker"],
    "fields": {
        "step": {
            "type": "enum",
            "values": ["greeting", "cart", "delivery", "confirm", "done"],
            "origin": "observed",
            "label": "Step of the order",
        },
        "cart": {"type": "list", "origin": "provided", "label": "Items and quantities"},
        "total": {"type": "money", "origin": "derived", "label": "Total"},
        "delivery": {"type": "object", "origin": "derived", "label": "Slot and fee"},
        "phone": {"type": "string", "pii": "phone", "origin": "provided", "label": "Phone to call"},
        "note": {"type": "text", "pii": True, "origin": "provided", "label": "What else the customer said"},
        "receipt_email": {
            "type": "string",
            "pii": "email",
            "origin": "provided",
            "label": "Where the receipt goes",
        },
    },
    "retention": {"state": "30d", "phone": "24h"},
    "agent_state": {"scopes": ["conversation", "task", "subject"], "cap_bytes": 4096},
    "purposes": ["order handling"],
    "recipients": ["delivery partner"],
}


class Command(BaseCommand):
    help = "Load a demo workspace into an empty database and write its sign-ins and keys to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", required=True, metavar="FILE", help="where sign-ins and keys go (0600)")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        with transaction.atomic():
            workspace = workspaces.create_workspace(
                slug="mercado-aurora", name="Mercado Aurora", actor=SYSTEM, now=now
            )
            with access.bound(workspace.id):
                staff = [_person(role, name, now) for role, name in NAMES.items() if role in ROLES]
                keys = _keys(now)
                _open_the_feature(now)
        _write(Path(options["json"]), workspace, staff, keys)


def _person(role: str, name: str, now: datetime) -> dict[str, Any]:
    email, password = f"{role}@example.com", secrets.token_urlsafe(12)
    person = Person.objects.create_user(email=email, name=name, password=password, joined_at=now)
    people.join(person=person, roles=[role], actor=SYSTEM, now=now)
    return {"name": name, "email": email, "roles": [role], "password": password}


def _keys(now: datetime) -> list[dict[str, Any]]:
    wishes = [
        KeyWish(source="chat backend", name="agents", scopes=("agent_state",)),
        KeyWish(source="back office", name="administration", scopes=("admin", "agent_state")),
    ]
    made = []
    for wish in wishes:
        key = credentials.make_api_key(
            wish=_expiring(wish, now + timedelta(days=90)), maker=None, actor=SYSTEM, now=now
        )
        made.append({"name": f"{wish.source} ({wish.name})", "key": key.text, "scopes": sorted(wish.scopes)})
    return made


def _expiring(wish: KeyWish, expires_at: datetime) -> KeyWish:
    return KeyWish(source=wish.source, name=wish.name, scopes=wish.scopes, expires_at=expires_at)


def _open_the_feature(now: datetime) -> None:
    """Publish the object type and switch working memory on, as the security person would."""
    security = Person.objects.get(email="security@example.com")
    actor = people.actor_of(security, Origin(address="127.0.0.1"), roles=("security",))
    version = documents.live("object-types")["object-types"].version
    wish = ChangeWish(
        kind="object-types",
        document={"types": [ORDER_TYPE]},
        reason="The order-taking agent keeps its working memory here",
        replaces=version,
    )
    change_document(wish=wish, person_id=security.id, actor=actor, now=now)
    switch_feature(
        feature="agent_state",
        on=True,
        reason="Go-live of the order-taking agent",
        replaces=documents.live("features")["features"].version,
        person_id=security.id,
        actor=actor,
        now=now,
    )


def _write(
    path: Path, workspace: WorkspaceRef, staff: list[dict[str, Any]], keys: list[dict[str, Any]]
) -> None:
    body = {"workspace": {"slug": workspace.slug, "name": workspace.name}, "people": staff, "keys": keys}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(body, file, indent=2)
