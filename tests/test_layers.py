"""The house keeps its shape: who may import whom, and what stands in one place only."""

import ast
import re._constants as constants  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from workspaces.hotstore.names import KINDS

PROJECT = Path(__file__).resolve().parents[1]
APPS = ("console", "privacy", "agentstate", "history", "assembly", "workspaces")
MAX_LINES = {"tests": 600}
MAX_LINES_OF_CODE = 400

PROCESS_BOUNDARIES: dict[str, str] = {
    "console/parts.py": "Each transport of the broker raises exceptions of its own.",
    "workspaces/http/hot.py": "It answers a request, as the dispatch of REST framework does.",
}
"""Where any exception may be caught, and why."""

OWN_SQL: dict[str, str] = {
    "workspaces/access.py": "The functions that look across workspaces, each with one question (PL-1).",
    "workspaces/postgresql/roles.py": "What the application's role may do, granted by the owner.",
    "workspaces/locks.py": "An advisory lock on a name.",
    "workspaces/rehashing.py": "The functions that move a name in every table at once (PL-12).",
    "workspaces/audit.py": "The walk along one chain, by its workspace and below row-level security, as text (PR-22).",
    "workspaces/services/chains.py": "The owner's function that removes the beginning of a chain (PR-22).",
    "assembly/selectors/snapshots/counting.py": "How many records lie beyond, and their size, in one graph (CA-11).",
    "assembly/selectors/snapshots/naming.py": "The branches above one, and what a checkpoint names (CA-10).",
    "assembly/selectors/snapshots/ranking.py": "One ranking of a graph's records, and counts of the rest (CA-11).",
    "assembly/selectors/snapshots/related.py": "A walk along the links of chosen records, in their workspace (CA-13).",
    "workspaces/services/usage.py": "Adds to the numbers of the bound workspace (CO-10).",
    "console/parts.py": "SELECT 1, and the database's version.",
}
"""Where SQL is written by hand, and what it asks."""

READS_THE_ENVIRONMENT = ("console/env.py", "console/embedded/")
NAMES_THE_SETTINGS = ("console/celery.py", "console/wsgi.py", "manage.py")


def files(*roots: str) -> Iterator[Path]:
    """List the Python files that are ours below some folders."""
    for root in roots:
        yield from (path for path in (PROJECT / root).rglob("*.py") if "migrations" not in path.parts)


def name_of(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def found(wanted: Callable[[ast.AST], bool], *roots: str) -> dict[str, list[int]]:
    """Find where a kind of code stands: the lines by file."""
    places: dict[str, list[int]] = {}
    for path in (*files(*(roots or APPS)), PROJECT / "manage.py"):
        lines = [getattr(node, "lineno", 0) for node in ast.walk(tree(path)) if wanted(node)]
        if lines:
            places[name_of(path)] = lines
    return places


def calls(node: ast.AST, *names: str) -> bool:
    """Tell whether a function or method of one of these names is called."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", None)) in names


def test_imports_keep_the_contracts() -> None:
    """Style: the layers of the apps and inside each app, as import contracts in pyproject.toml."""
    check = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    run = subprocess.run(
        [sys.executable, "-c", check], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]


def test_the_contracts_cover_every_app() -> None:
    """Style: a new app that no contract knows fails here; the SDK is the one package beside the apps."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]
    apps = {path.parent.name for path in PROJECT.glob("*/apps.py")}
    assert apps == set(APPS)
    assert {*apps, "lastro"} == set(contracts["root_packages"])
    layered = [name for contract in contracts["contracts"] for name in contract.get("containers", [])]
    assert sorted(layered) == sorted(apps)
    assert all(contract["exhaustive"] for contract in contracts["contracts"] if "containers" in contract)


def test_one_door_looks_across_workspaces() -> None:
    """PL-1: the manager that does not filter by workspace is used nowhere; a question across stands in five files."""
    assert not found(lambda node: isinstance(node, ast.Attribute) and node.attr == "_base_manager")
    asks = found(lambda node: calls(node, "workspaces_with"))
    assert asks.keys() == {
        "agentstate/access.py",
        "assembly/access.py",
        "history/access.py",
        "privacy/access.py",
        "workspaces/tasks.py",
    }


def test_no_query_goes_around_the_managers() -> None:
    """PL-1: SQL of our own, which no manager scopes, stands only where it names no table of a tenant."""
    places = found(
        lambda node: (
            calls(node, "raw", "cursor", "chunked_cursor", "extra") and isinstance(node.func, ast.Attribute)  # type: ignore[attr-defined]
        )
    )
    assert places.keys() == OWN_SQL.keys()


def test_the_environment_is_read_in_one_place() -> None:
    """Style: only console/env.py and the embedded services read it; three entries name the settings module."""

    def reads(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute | ast.Name) and (
            getattr(node, "attr", None) or getattr(node, "id", None)
        ) in {"environ", "getenv", "environb"}

    places = {
        name: lines for name, lines in found(reads).items() if not name.startswith(READS_THE_ENVIRONMENT)
    }
    assert places.keys() == set(NAMES_THE_SETTINGS)
    for name in NAMES_THE_SETTINGS:
        text = (PROJECT / name).read_text()
        assert text.count("environ") == 1
        assert 'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")' in text


def catches_everything(node: ast.AST) -> bool:
    """Tell whether a handler takes any exception and does not pass it on."""
    if not isinstance(node, ast.ExceptHandler) or isinstance(node.body[-1], ast.Raise):
        return False
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"})
        for kind in kinds
    )


def test_any_exception_is_caught_at_the_edge_only() -> None:
    """Style: no `except Exception` outside the boundaries of a process, each with its reason."""
    assert found(catches_everything).keys() == PROCESS_BOUNDARIES.keys()


def test_one_table_lists_what_the_hot_store_keeps() -> None:
    """WM-20: every kind of name stands in one table, with what it is for."""
    kinds = [
        str(node.args[0].value)
        for path in files(*APPS)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and calls(node, "name_of") and isinstance(node.args[0], ast.Constant)
    ]
    assert sorted(kinds) == sorted(KINDS)


def test_nothing_prints() -> None:
    """PL-11: what the server says goes through its log; only commands for people print."""

    places = found(lambda node: calls(node, "print", "pprint")).keys()
    assert not [name for name in places if not name.startswith(("console/embedded/", "console/vendor.py"))]


def test_rules_have_no_clock() -> None:
    """Style: clock and randomness are passed in; no rule asks what time it is."""

    roots = [name_of(path) for app in APPS for path in PROJECT.glob(f"{app}/rules")]
    assert roots
    clocks = ("now", "today", "utcnow", "time", "monotonic", "uuid4", "urandom", "token_bytes")
    assert not found(lambda node: calls(node, *clocks), *roots, "workspaces/masking")


def test_only_one_module_knows_the_celery_application() -> None:
    """Style: apps declare shared tasks; console/celery.py alone makes the application."""

    def knows(node: ast.AST) -> bool:
        makers = {"celery", "celery.app", "console.celery"}
        if not isinstance(node, ast.ImportFrom) or node.module not in makers:
            return False
        return {alias.name for alias in node.names} != {"shared_task"}

    assert found(knows).keys() == {"console/celery.py"}


@pytest.mark.parametrize("root", [*APPS, "benchmarks", "tests", "examples"])
def test_files_are_short(root: str) -> None:
    """Style: a module that outgrows its page becomes a folder with one file per noun."""
    most = MAX_LINES.get(root, MAX_LINES_OF_CODE)
    long = {
        name_of(path): lines for path in files(root) if (lines := len(path.read_text().splitlines())) > most
    }
    assert long == {}


@pytest.mark.parametrize("word", ["utils", "helpers", "common", "misc"])
def test_no_drawer_for_everything(word: str) -> None:
    """Style: there is no module whose name says nothing."""
    assert not [
        name_of(path) for path in files(*APPS, "benchmarks", "tests") if word in path.with_suffix("").parts
    ]


def operations(pattern: Any) -> Iterator[Any]:
    """List the operations of a parsed regular expression at any depth."""
    for part in pattern if isinstance(pattern, list | tuple | parser.SubPattern) else ():
        yield part
        yield from operations(part)


def test_regular_expressions_read_alike_on_every_python() -> None:
    """PL-16: before 3.11.5 possessive repeats and atomic groups matched wrongly, and Debian 12 has 3.11.2."""
    for path in files(*APPS):
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "compile"
            ):
                for text in (part.value for part in node.args[:1] if isinstance(part, ast.Constant)):
                    used = set(map(str, operations(parser.parse(str(text)))))
                    assert not used & {str(constants.POSSESSIVE_REPEAT), str(constants.ATOMIC_GROUP)}, (
                        path,
                        text,
                    )
