"""Which code can change a document, the setting of four eyes or somebody's roles: found in the code, not by hand."""

import ast
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
APPS = ("agentstate", "assembly", "console", "history", "privacy", "workspaces")
MODELS = {"Document", "DocumentHead", "FourEyes"}
WRITES = {
    "create",
    "bulk_create",
    "get_or_create",
    "update_or_create",
    "update",
    "bulk_update",
    "delete",
    "select_for_update",
}
ENTRANCES = (".views", ".management", ".tasks", ".admin")


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Give every module of the product by its name, without migrations."""
    for app in APPS:
        for path in sorted((PROJECT / app).rglob("*.py")):
            parts = path.relative_to(PROJECT).with_suffix("").parts
            if "migrations" not in parts:
                yield ".".join(part for part in parts if part != "__init__"), ast.parse(path.read_text())


def definitions() -> dict[str, ast.AST]:
    """Give every function, and every class as a whole, by its full name."""
    return {
        f"{name}.{node.name}": node
        for name, module in modules()
        for node in module.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def writers() -> set[str]:
    """Name what writes a live document or the setting, invites, or puts a person into the group of a role."""
    return {name for name, node in definitions().items() if any(_writes(found) for found in ast.walk(node))}


def entrances_to(targets: set[str]) -> set[str]:
    """Name the views, commands and tasks from which the code reaches one of these."""
    calls = _references()
    reached = set(targets)
    while more := {name for name, named in calls.items() if named & reached} - reached:
        reached |= more
    found = {name for name in reached if any(part in name for part in ENTRANCES)}
    return {name for name in found if not name.rpartition(".")[2].startswith("_")}


def _writes(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    chain = _chain(node.func)
    is_made = chain in (["Document"], ["DocumentHead"], ["Invitation", "objects", "create"])
    is_row = is_made or (bool(chain) and chain[0] in MODELS and chain[-1] in WRITES)
    return is_row or chain[-2:] in (["groups", "add"], ["groups", "set"])


def _references() -> dict[str, set[str]]:
    found = {}
    for name, module in modules():
        known = _imported(module) | {
            node.name: f"{name}.{node.name}"
            for node in module.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        for node in module.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[f"{name}.{node.name}"] = set(_named(node, known)) - {f"{name}.{node.name}"}
    return found


def _imported(module: ast.Module) -> dict[str, str]:
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _named(node: ast.AST, known: dict[str, str]) -> Iterator[str]:
    for found in ast.walk(node):
        chain = _chain(found) if isinstance(found, ast.Name | ast.Attribute) else []
        if chain and chain[0] in known:
            yield ".".join([known[chain[0]], *chain[1:]])


def _chain(node: ast.AST) -> list[str]:
    """Give `a.b.c` as its names, through calls: `A.objects.filter(x).update(y)` too."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*before, node.attr] if (before := _chain(node.value)) else []
    return _chain(node.func) if isinstance(node, ast.Call) else []
