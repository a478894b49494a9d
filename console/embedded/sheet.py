"""What a person needs to use the demo: addresses, sign-ins and keys; `.lastro/demo.json` and the table."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from console.embedded.files import own_folder, write_private


class DemoWorkspace(msgspec.Struct, frozen=True):
    """Where it all happens; the slug is part of the console's addresses."""

    slug: str
    name: str


class DemoPerson(msgspec.Struct, frozen=True):
    """Somebody who can sign in."""

    name: str
    email: str
    roles: tuple[str, ...]
    password: str


class DemoKey(msgspec.Struct, frozen=True):
    """A key for the API."""

    name: str
    key: str
    scopes: tuple[str, ...]


class DemoSheet(msgspec.Struct, frozen=True):
    """All of it; `load_demo` writes the lower three, the run knows the addresses."""

    base_url: str
    console_url: str
    workspace: DemoWorkspace
    people: tuple[DemoPerson, ...]
    keys: tuple[DemoKey, ...]


def completed_sheet(file: Path, *, base_url: str) -> DemoSheet:
    """Add the addresses to what `load_demo` wrote, there and in `.lastro/demo.json`."""
    addresses = {"base_url": base_url, "console_url": f"{base_url}/console/"}
    sheet = addresses | json.loads(file.read_text(encoding="utf-8"))
    text = json.dumps(sheet, indent=2, ensure_ascii=False) + "\n"
    for target in (file, own_folder() / "demo.json"):
        write_private(target, text)
    return msgspec.convert(sheet, DemoSheet)


def printed(sheet: DemoSheet) -> str:
    """Answer the sheet as tables for a terminal."""
    addresses = [
        ("Console", sheet.console_url),
        ("API", f"{sheet.base_url}/v1/docs"),
        ("Workspace", f"{sheet.workspace.name} ({sheet.workspace.slug})"),
        ("Mail", ".lastro/mail/ (what it would send lies there)"),
        ("Commands", 'make manage ARGS="create_key --help"'),
        ("All of this", ".lastro/demo.json; the data lives until the demo stops"),
    ]
    people = [
        (person.email, person.password, ", ".join(person.roles), person.name) for person in sheet.people
    ]
    keys = [(key.name, key.key, ", ".join(key.scopes)) for key in sheet.keys]
    tables = (
        addresses,
        [("Sign in as", "Password", "Roles", "Name"), *people],
        [("Key", "Value", "Scopes"), *keys],
    )
    return "\n\n".join("\n".join(_aligned(table)) for table in tables)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(_padded(row, widths)).rstrip()


def _padded(row: Iterable[str], widths: Iterable[int]) -> Iterator[str]:
    return (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
