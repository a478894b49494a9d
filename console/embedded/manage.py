"""Management commands on the demo that is up, in the environment that it runs in."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from console.embedded.errors import EmbeddedError
from console.embedded.files import own_folder, write_private
from console.embedded.services import PROJECT

FILE = "demo-environment.json"
OURS = (
    *("DATABASE_URL", "DATABASE_OWNER_URL", "KEYS_DATABASE_URL", "KEYS_DATABASE_OWNER_URL"),
    *("HOT_STORE_URL", "BROKER_URL", "EMAIL_URL", "DJANGO_SETTINGS_MODULE"),
)


@contextmanager
def remembered(variables: Mapping[str, str]) -> Iterator[None]:
    """Leave a demo's environment in `.lastro/` (0600) while it is up; of two demos the later one counts."""
    file = own_folder() / FILE
    text = json.dumps({name: value for name, value in variables.items() if _is_ours(name)})
    write_private(file, text)
    try:
        yield
    finally:
        if file.exists() and file.read_text(encoding="utf-8") == text:
            file.unlink()


def manage(arguments: Sequence[str]) -> int:
    """Run one management command on the demo, and answer its exit code."""
    file = own_folder() / FILE
    if not file.exists():
        raise EmbeddedError("No demo is up in this folder: start one with `make demo`.")
    variables = json.loads(file.read_text(encoding="utf-8"))
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=PROJECT, env={**os.environ, **variables}, check=False).returncode


def _is_ours(name: str) -> bool:
    return name in OURS or name.startswith("LASTRO_")
