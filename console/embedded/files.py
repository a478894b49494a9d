"""Files that only their owner may read, never seen half-written."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from console.embedded.errors import EmbeddedError
from console.embedded.services import PROJECT


def own_folder() -> Path:
    """Answer the project's folder for what a run leaves behind, `.lastro/`."""
    folder = PROJECT / ".lastro"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise EmbeddedError(f"{folder} belongs to somebody else: run as its owner, or remove it.")
    return folder


def write_private(path: Path, text: str) -> None:
    """Put a file of mode 0600 in place of an older one."""
    fresh = _fresh(path, text)
    fresh.replace(path)


def create_private(path: Path, text: str) -> None:
    """Make a file of mode 0600 unless there is one; of two at once, one wins and both use it."""
    fresh = _fresh(path, text)
    with suppress(FileExistsError):
        os.link(fresh, path)
    fresh.unlink()


def _fresh(path: Path, text: str) -> Path:
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # its mode is 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(fresh)
