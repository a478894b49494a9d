"""The documents say what is so: generated pages are fresh, links lead somewhere, names exist, examples parse (PL-9)."""

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from django.core.management import get_commands

from console.management.commands.write_reference import FOLDER, PAGES
from privacy.selectors.packages import MANIFEST, PAGE
from workspaces.http.exceptions import catalogue
from workspaces.http.openapi import document
from workspaces.rules.rights import KEY_SCOPES, PERMISSIONS, ROLE_TITLES, ROLES

PROJECT = Path(__file__).resolve().parents[1]
OURS = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", PROJECT / "sdk" / "python" / "README.md"]
DOCUMENTS = sorted([*OURS, *(PROJECT / "docs").rglob("*.md")])
NAMES = [str(path.relative_to(PROJECT)) for path in DOCUMENTS]
FOLDERS = [path for path in PROJECT.iterdir() if path.is_dir() and not path.name.startswith(".")]
FILES = [file for folder in FOLDERS for file in folder.rglob("*")] + list(PROJECT.glob("*.*"))
# What a run leaves in the project, and no commit has; beside it what a subject package holds.
MADE = set((PROJECT / ".gitignore").read_text(encoding="utf-8").split())
# What the examples read from the reader's own shell, and no setting of the server.
OF_THE_READER = {"LASTRO_KEY", "LASTRO_TOKEN", "LASTRO_URL"}
# Routes that the OpenAPI document does not describe.
OTHER_ROUTES = {"/v1/", "/v1/docs"}

OPERATIONS = {found["operationId"] for methods in document()["paths"].values() for found in methods.values()}

every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)


class Block(msgspec.Struct, frozen=True):
    """A fenced block of a document."""

    language: str
    text: str


def blocks(text: str) -> Iterator[Block]:
    for indent, language, body in re.findall(r"^( *)```(\w*)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE):
        yield Block(language, "\n".join(line.removeprefix(indent) for line in body.splitlines()))


def prose(text: str) -> str:
    """Give a document without its blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """List the places that a link into a document may name: its headings and its own anchors."""
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose(text))


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_fresh(name: str) -> None:
    """PL-2, PL-8, PL-9, PL-10: a change of code without `manage.py write_reference` fails here."""
    path = FOLDER / name
    assert path.read_text(encoding="utf-8") == PAGES[name](), "run `manage.py write_reference`"


def test_no_page_is_left_over() -> None:
    """PL-9: each page of docs/reference/ is one that the command writes."""
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


@every_document
def test_links_lead_somewhere(path: Path) -> None:
    """PL-9: each link into the project names a file that is there, and a heading that it has."""
    for link in links(path.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@every_document
def test_examples_parse(path: Path) -> None:
    """PL-9: a block that says it is shell, Python or JSON is that."""
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language in {"sh", "bash"}:
            done = subprocess.run(
                ["bash", "-n"], input=block.text, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        elif block.language == "python":
            ast.parse(block.text)
        elif block.language == "json":
            json.loads(block.text)


@every_document
def test_routes_exist(path: Path) -> None:
    """PL-9: each address below /v1 that a document names is served."""
    templates = [re.sub(r"\{\w+\}", "[^/]+", route) for route in document()["paths"]]
    for named in re.findall(r"/v1/[\w/{}.-]*", path.read_text(encoding="utf-8")):
        route = named.rstrip(".")
        assert route in OTHER_ROUTES or any(re.fullmatch(template, route) for template in templates), route


@every_document
def test_codes_exist(path: Path) -> None:
    """PL-8: a code that stands beside a status is one of the catalogue, and of that status."""
    text = path.read_text(encoding="utf-8")
    for status, code in re.findall(r"\b([45]\d\d)`? `?([a-z]+(?:_[a-z]+)+)`?", text):
        assert code in catalogue(), code
        assert catalogue()[code].status == int(status), code


# (what a document calls it, the names there are)
NAMED = [
    (r"(?<!missing )\bpermissions? `([a-z_]+)`", set(PERMISSIONS)),
    (r"\broles? `([a-z_]+)`", set(ROLES)),
    (r"\brole \*(\w+)\*", set(ROLES)),
    (r"\bscopes? `([a-z_]+)`", set(KEY_SCOPES)),
    (r"\bas \*\*(\w+)\*\*", set(ROLES)),
    (r"--scopes ((?:[a-z_]+ ?)+)", set(KEY_SCOPES)),
    (r"--roles ((?:[a-z_]+ ?)+)", set(ROLES)),
]


@every_document
def test_roles_permissions_and_scopes_exist(path: Path) -> None:
    """PL-2, PL-3: what is called a role, a permission or a scope is one."""
    for pattern, known in NAMED:
        for found in re.findall(pattern, path.read_text(encoding="utf-8")):
            assert set(found.lower().split()) <= known, found


def test_the_roles_are_all_told() -> None:
    """PL-2: the page on governance names each role."""
    text = (PROJECT / "docs" / "concepts" / "governance.md").read_text(encoding="utf-8").lower()
    assert [title for title in ROLE_TITLES.values() if title.lower() not in text] == []


def settings_read() -> set[str]:
    """List the variables that console/env.py reads."""
    source = (PROJECT / "console" / "env.py").read_text(encoding="utf-8")
    strings = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    return {text for text in strings if isinstance(text, str) and re.fullmatch(r"[A-Z]+(?:_[A-Z]+)+", text)}


@every_document
def test_settings_exist(path: Path) -> None:
    """PL-14: each variable of ours that a document names is read, or is the reader's own."""
    named = set(re.findall(r"\bLASTRO_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    assert named <= settings_read() | OF_THE_READER


def test_settings_are_documented() -> None:
    """PL-14: each variable that is read stands on the page about running it."""
    text = (PROJECT / "docs" / "operations" / "running.md").read_text(encoding="utf-8")
    assert [name for name in sorted(settings_read()) if f"`{name}`" not in text] == []


def spans(path: Path) -> list[str]:
    """List what stands in backticks."""
    return re.findall(r"`([^`\n]+)`", prose(path.read_text(encoding="utf-8")))


@every_document
def test_files_exist(path: Path) -> None:
    """PL-9: a file or folder that a document names is there."""
    for named in spans(path):
        if re.fullmatch(r"[\w.*-]+(?:/[\w.*-]+)*(?:/|\.(?:py|md|json|txt|html|toml))", named):
            is_made = named.startswith(".") or named in MADE | {PAGE, MANIFEST}
            is_a_name = "/" not in named and named in {file.name for file in FILES}
            assert is_made or is_a_name or list(PROJECT.glob(named.rstrip("/"))), named


@every_document
def test_commands_exist(path: Path) -> None:
    """PL-13: each command of manage.py and each target of make that a document names is there."""
    text = path.read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) <= set(get_commands())
    assert set(re.findall(r"(?:`|^ *)make ([a-z-]+)", text, re.MULTILINE)) <= set(targets)


WORD = r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+"


def words_of_the_code() -> set[str]:
    """List every compound word of the project's Python code and JSON schemas, tests apart."""
    sources = [
        path for path in FILES if path.suffix in {".py", ".json"} and PROJECT / "tests" not in path.parents
    ]
    return {word for path in sources for word in re.findall(WORD, path.read_text(encoding="utf-8"))}


WORDS = words_of_the_code()


@every_document
def test_words_of_the_code_exist(path: Path) -> None:
    """PL-9: a compound word in backticks (a code, an act, a member, an operation) is a word of the code."""
    named = {word for span in spans(path) if "/" not in span for word in re.findall(WORD, span)}
    assert sorted(named - WORDS - OPERATIONS) == []
