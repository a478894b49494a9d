"""Every package that the project names is explained, and its lock files agree."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
LOCKS = PROJECT / "requirements"
PINNED = re.compile(r"^([a-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def direct_dependencies() -> set[str]:
    """The names in pyproject.toml, and those of the clients, which have lock files of their own."""
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    groups = declared["dependency-groups"].values()
    listed = [entry for group in groups for entry in group if isinstance(entry, str)]
    names = {_name(entry) for entry in [*declared["project"]["dependencies"], *listed]}
    return names | extras() | {file.stem.split("-")[0] for file in LOCKS.glob("niadra-*.txt")}


def extras() -> set[str]:
    """The names that a deployment installs by itself, for what it has chosen: no lock file pins them."""
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    return {
        _name(entry) for listed in declared["project"]["optional-dependencies"].values() for entry in listed
    }


def _name(entry: str) -> str:
    return re.split(r"[\[<>=~! ;]", entry)[0]


def pins(lock: str) -> dict[str, str]:
    return dict(PINNED.findall((LOCKS / lock).read_text()))


def test_each_dependency_has_its_line() -> None:
    """PL-16: each one has a line in the docs saying what it is for, and none that is gone has one."""
    lines = re.findall(
        r"^\| `([a-z0-9-]+)` \| [^|]+ \| [^|]+ \| [^|]+ \|$",
        (PROJECT / "docs" / "dependencies.md").read_text(),
        re.MULTILINE,
    )
    assert sorted(lines) == sorted(direct_dependencies())


def test_lock_files_agree() -> None:
    """PL-16: the demo runs on the versions that the tests run on, and every direct dependency is pinned."""
    run, dev, bench = pins("run.txt"), pins("dev.txt"), pins("bench.txt")
    assert run.items() <= dev.items()
    assert direct_dependencies() - {"niadra"} - extras() <= dev.keys() | bench.keys()
    assert bench["psycopg"] == dev["psycopg"]


def test_the_clients_are_pinned_to_what_their_file_says() -> None:
    """PL-16: each client's lock file holds the release that its name says."""
    versions = {file.stem: pins(file.name)["niadra"] for file in LOCKS.glob("niadra-*.txt")}
    assert versions == {"niadra-0.10.5": "0.10.5", "niadra-0.11.7": "0.11.7"}


def test_every_pin_has_hashes() -> None:
    """PL-16: pip refuses a lock file in which a package has no hash; none has."""
    for file in LOCKS.glob("*.txt"):
        blocks = PINNED.split(file.read_text())[3::3]
        assert blocks
        assert all("--hash=sha256:" in block for block in blocks)
