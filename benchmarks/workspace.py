"""`python -m benchmarks.workspace`: make the workspace that is measured, and print a key for it.

A process of its own: the load must not carry Django.
"""

import json
import os
import subprocess
import sys
from typing import Any
from uuid import uuid4

from benchmarks.scripts import AGENT, FIELDS

ORDER: dict[str, Any] = {
    "type": "order",
    "version": "1",
    "ownership": "agent",
    "agents": [AGENT],
    "fields": {
        "step": {"type": "enum", "values": ["cart", "delivery", "done"]},
        "cart": {"type": "list"},
        "total": {"type": "money"},
        "delivery": {"type": "object"},
        "phone": {"type": "string", "pii": "phone"},
        "note": {"type": "text", "pii": True},
        "serial": {"type": "integer"},
        "filler": {"type": "string"},
        **{name: {"type": "object"} for name in FIELDS},
    },
    "retention": {"state": "30d", "phone": "24h"},
    "agent_state": {"scopes": ["conversation"], "cap_bytes": 1_048_576},
}


def made_workspace() -> str:
    """Create the tables and the workspace in processes of their own; give the key."""
    subprocess.run([sys.executable, "manage.py", "migrate", "--no-input", "-v", "0"], check=True)
    made = subprocess.run(
        [sys.executable, "-m", "benchmarks.workspace"], check=True, stdout=subprocess.PIPE, text=True
    )
    return str(json.loads(made.stdout)["key"])


def _make() -> str:
    from django.utils import timezone

    from privacy.services.documents import change_document, switch_feature
    from workspaces import access, documents
    from workspaces.services import credentials, workspaces
    from workspaces.services.credentials import KeyWish
    from workspaces.types import Actor, ChangeWish

    actor, now = Actor(kind="system", id="benchmarks", name="benchmarks"), timezone.now()
    why: dict[str, Any] = {"reason": "To be measured", "person_id": None, "actor": actor, "now": now}
    slug = f"benchmark-{uuid4().hex[:10]}"
    workspace = workspaces.create_workspace(slug=slug, name="Benchmark", actor=actor, now=now)
    with access.bound(workspace.id):
        version = documents.live("object-types")["object-types"].version
        types = {"types": [ORDER]}
        wish = ChangeWish(kind="object-types", document=types, reason=why.pop("reason"), replaces=version)
        change_document(wish=wish, **why)
        for feature in ("agent_state", "history", "context"):
            version = documents.live("features")["features"].version
            switch_feature(feature=feature, on=True, reason="To be measured", replaces=version, **why)
        key = KeyWish(source="benchmark", name="load", scopes=("agent_state", "history", "context"))
        return credentials.make_api_key(wish=key, maker=None, actor=actor, now=now).text


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    print(json.dumps({"key": _make()}))
