"""The environment of what a run starts: everything the project needs, nothing the person set replaced."""

import base64
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from console.embedded.files import create_private, own_folder
from console.embedded.services import Services

KEY_BYTES = 32
# Tests ask as fast as they can, all from one address, and give a busy machine ten times the time.
UNHURRIED = {"RATE_PER_KEY": "100000", "RATE_PER_ADDRESS": "100000", "READ_WITHIN_MILLISECONDS": "2500"}
LOOPBACK = "127.0.0.1,localhost"


def completed(given: Mapping[str, str], services: Services, *, badge: str) -> dict[str, str]:
    """Add what is absent: where the services are, the keys and the badge (PL-12, PL-13)."""
    variables = _places(given, services.variables) | {
        "LASTRO_SECRET_KEY": secrets.token_urlsafe(48),
        "LASTRO_ENVIRONMENT": badge,
        "CHECKPOINTS_URL": f"file://{quote(str(services.scratch / 'checkpoints'))}",
        "PAYLOADS_URL": f"file://{quote(str(services.scratch / 'payloads'))}",
    }
    if not given.get("LASTRO_MASTER_KEY") and not given.get("LASTRO_MASTER_KEY_FILE"):
        variables["LASTRO_MASTER_KEY_FILE"] = str(
            _key_file(services.scratch if badge == "test" else own_folder())
        )
    if badge == "test":
        variables |= UNHURRIED
    present = {name: value for name, value in given.items() if value or name not in variables}
    return variables | present | {"NO_PROXY": _no_proxy(given), "no_proxy": _no_proxy(given)}


def _places(given: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    # Our owner cannot migrate a database that the person named.
    named = {f"{name}_OWNER_URL" for name in ("DATABASE", "KEYS_DATABASE") if given.get(f"{name}_URL")}
    return {name: url for name, url in ours.items() if name not in named}


def _key_file(folder: Path) -> Path:
    path = folder / "master.key"
    if not path.exists():
        create_private(path, base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n")
    return path


def _no_proxy(given: Mapping[str, str]) -> str:
    # A proxy of the person's network cannot reach this machine's own servers.
    present = given.get("no_proxy") or given.get("NO_PROXY")
    return f"{present},{LOOPBACK}" if present else LOOPBACK
