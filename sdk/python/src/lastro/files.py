"""A SQLite file, and the files that SQLite puts beside it, are their owner's alone (HI-7, SD-4)."""

import os
import stat
from pathlib import Path

SIDES = ("-wal", "-shm", "-journal")
PRIVATE = 0o600
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class FileUnsafe(Exception):
    """The file is a link, no regular file or somebody else's, or in a folder that others can write."""


class FileUnreachable(Exception):
    """The file cannot be reached or made."""


def protected(file: str | os.PathLike[str]) -> Path:
    """Make the file, or reset it and its side files, to 0600, and give its real path.

    Raises FileUnsafe for a link, for what is no regular file, for a file of another user, and for a folder that others
    can write; FileUnreachable. What is found stays so: nobody else can change names in such a folder.
    """
    try:
        given = Path(os.fspath(file))
        path = given.parent.resolve(strict=True) / given.name
        if os.name == "posix":
            make_private(path)
    except (OSError, RuntimeError, ValueError):
        raise FileUnreachable("the file cannot be reached or made") from None
    return path


def make_private(path: Path) -> None:
    """Protect the file and those beside it, and make it where there is none."""
    require_folder(path.parent)
    for name in (path, *(path.with_name(path.name + side) for side in SIDES)):
        protect(name)
    create(path)


def require_folder(folder: Path) -> None:
    """Refuse a folder that others can write, and one that others can move away.

    A sticky folder above it, as /tmp is, keeps others from moving what is not theirs; as the folder of the file itself
    it still lets them put a side file there first.
    """
    status = folder.stat()
    if status.st_mode & OTHERS_WRITE or status.st_uid not in (0, os.geteuid()):
        raise FileUnsafe("others can write in the file's folder")
    for above in folder.parents:
        mode = above.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise FileUnsafe("others can move the file's folder away")


def protect(path: Path) -> None:
    """Reset a file to 0600, where there is one.

    It is not opened for that: to close it again would drop the locks of a connection that this process has open.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise FileUnsafe("the file is a link, or no regular file")
    if status.st_uid != os.geteuid():
        raise FileUnsafe("the file is another user's")
    if stat.S_IMODE(status.st_mode) != PRIVATE:
        path.chmod(PRIVATE)


def create(path: Path) -> None:
    """Make the file with 0600 from its first moment, where there is none."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags, PRIVATE))
    except FileExistsError:
        protect(path)
