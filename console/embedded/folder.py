"""A private folder for one run, which goes with the run, and whose remains the next run removes."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from console.embedded.account import Account
from console.embedded.errors import EmbeddedError

PREFIX = "lastro-run-"
LOCK = "lock"
MAX_BASE_BYTES = 60
"""The path of a Unix socket ends at 107 bytes; the longest of ours adds 43 to the base."""


@dataclass(frozen=True)
class PrivateFolder:
    """The folder, and its lock: a descriptor that the services inherit, free once none of us is left."""

    path: Path
    lock: int

    def part_for(self, name: str, *, account: Account | None) -> Path:
        """Make a folder inside that only one account (and root) can enter."""
        part = self.path / name
        part.mkdir(mode=0o700)
        if account:
            os.chown(part, account.uid, account.gid)
        return part


@contextmanager
def private_folder(*, account: Account | None) -> Iterator[PrivateFolder]:
    """Make a locked private folder with a short path, and remove it at the end."""
    base = _short_base(account)
    _remove_stale(base)
    folder = _locked_folder(base, enterable=account is not None)
    try:
        yield folder
    finally:
        shutil.rmtree(folder.path, ignore_errors=True)
        os.close(folder.lock)


def _short_base(account: Account | None) -> Path:
    for base in map(Path, (tempfile.gettempdir(), "/tmp", "/var/tmp")):  # noqa: S108 - mkdtemp follows
        short = len(os.fsencode(base)) <= MAX_BASE_BYTES
        if short and os.access(base, os.W_OK | os.X_OK) and (account is None or account.may_read(base)):
            return base
    raise EmbeddedError(
        f"No temporary folder with a path of at most {MAX_BASE_BYTES} bytes: set TMPDIR to one."
    )


def _locked_folder(base: Path, *, enterable: bool) -> PrivateFolder:
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    path.chmod(0o711 if enterable else 0o700)
    # Locked under another name first, so that whoever looks for stale folders never sees it unlocked.
    lock = os.open(path / "lock.new", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (path / "lock.new").rename(path / LOCK)
    return PrivateFolder(path=path, lock=lock)


def _remove_stale(base: Path) -> None:
    for path in base.glob(PREFIX + "*"):
        with suppress(OSError):
            _remove_if_stale(path)


def _remove_if_stale(path: Path) -> None:
    lock = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if os.fstat(lock).st_uid == os.geteuid() == path.lstat().st_uid:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path)
    finally:
        os.close(lock)
