"""A file that only its owner reads: made or reset to 0600, and refused where others could put theirs in its place."""

import os
import stat
from pathlib import Path

from lastro.errors import OutboxUnavailable, OutboxUnsafe

SIDES = ("", "-journal", "-wal", "-shm")


def make_safe(path: Path) -> None:
    """Make the file and protect it and its side files, or refuse it (SD-4).

    Raises OutboxUnsafe for a link, anything but a regular file, a file of somebody else's, or a folder that others can
    write; OutboxUnavailable where the file cannot be made.
    """
    _require_own_folder(path.parent)
    for side in SIDES:
        _protect(path.with_name(path.name + side), make=not side)


def _require_own_folder(folder: Path) -> None:
    try:
        found = folder.stat()
    except OSError:
        raise OutboxUnavailable("the folder is not there") from None
    is_shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not stat.S_ISDIR(found.st_mode) or is_shared or found.st_uid not in (os.getuid(), 0):
        raise OutboxUnsafe("others can write its folder")


def _protect(path: Path, *, make: bool) -> None:
    """Open without following a link, and change what was opened, not what the name leads to by then."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_CREAT if make else 0)
    try:
        file = os.open(path, flags, 0o600)
    except FileNotFoundError:
        return
    except OSError:
        kind = OutboxUnsafe if path.is_symlink() or path.is_dir() else OutboxUnavailable
        raise kind("it is no file that could be opened") from None
    try:
        # A journal may be gone by now: another process has ended its change.
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_uid != os.getuid():
            raise OutboxUnsafe("it is no regular file of this user alone")
        os.fchmod(file, 0o600)
    finally:
        os.close(file)
