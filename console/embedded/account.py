"""Under which account the services run: PostgreSQL refuses root, and Valkey needs no rights."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from console.embedded.errors import EmbeddedError

UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True)
class Account:
    """An account other than our own, for the services."""

    name: str
    uid: int
    gid: int

    def may_read(self, path: Path) -> bool:
        """Answer whether the mode bits let this account come to a file or folder and read it."""
        real = path.resolve()
        return self._has(real, stat.S_IROTH) and all(
            self._has(folder, stat.S_IXOTH) for folder in real.parents
        )

    def _has(self, path: Path, bit: int) -> bool:
        status = path.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & bit << 6)
        if status.st_gid == self.gid:
            return bool(status.st_mode & bit << 3)
        return bool(status.st_mode & bit)


def service_account() -> Account | None:
    """Answer an existing unprivileged account when we are root, else None: the services run as ourselves."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise EmbeddedError(
        f"PostgreSQL does not run as root, and this machine has no account {' or '.join(UNPRIVILEGED)}. "
        "Run as an ordinary user, or set DATABASE_URL, KEYS_DATABASE_URL, HOT_STORE_URL and BROKER_URL."
    )
