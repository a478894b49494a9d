"""Write docs/reference/: every page of it is made from the code, and a test compares (PL-2, PL-8, PL-9, PL-10)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.urls import get_resolver

from console import reference
from workspaces import paging
from workspaces.errors import RateLimited, Unavailable
from workspaces.http import limits, parsers
from workspaces.http.exceptions import catalogue
from workspaces.http.openapi import document
from workspaces.rules import documents, json
from workspaces.rules.rights import KEY_SCOPES, PERMISSIONS, ROLE_TITLES, ROLES

FOLDER = Path(settings.BASE_DIR) / "docs" / "reference"
BASE_URL = "http://127.0.0.1:8000"
_NOTE = "<!-- Written by `manage.py write_reference`. Change the code, not this page. -->"


class Command(BaseCommand):
    help = "Write the pages of docs/reference/ from the code."

    def handle(self, *args: Any, **options: Any) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, page in PAGES.items():
            (FOLDER / name).write_text(page(), encoding="utf-8")
            self.stdout.write(f"docs/reference/{name}")


def errors_page() -> str:
    """Write every code of the catalogue, and where it is answered."""
    rows = (
        (
            str(error.status),
            f'<a id="{error.code}"></a>`{error.code}`',
            error.title,
            "yes" if issubclass(catalogue()[error.code], (RateLimited, Unavailable)) else "no",
            _places(error.code),
        )
        for error in reference.errors()
    )
    return _page(
        "Error codes",
        "Every refusal is a problem (RFC 9457, `application/problem+json`) with the members `type`, `title`, `status`, "
        "`code`, `request_id`, often `detail`, and for a form `errors`: a list of `pointer` (RFC 6901), `code` and "
        "`detail`. A detail never carries what the caller sent. *Again* says whether the same request may succeed a "
        "little later without a change, after the seconds of `Retry-After`.",
        _table(("status", "code", "meaning", "again", "where"), rows),
    )


def _places(code: str) -> str:
    """Say where a code is answered, in words where that is everywhere."""
    found = [each for each in _operations() if code in {refusal.code for refusal in each.refusals}]
    if found == [each for each in _operations() if each.refusals]:
        return "every route that takes a key"
    if found == [each for each in _operations() if each.body]:
        return "every route that takes a body"
    return ", ".join(f"[{each.method} {each.path}](api.md#{each.id})" for each in found) or "no route of /v1"


def rights_page() -> str:
    """Write the table of roles and permissions, the scopes of keys, and what each route takes."""
    titles = [ROLE_TITLES[role] for role in ROLES]
    held = (
        (f"`{name}`", title, *("yes" if name in ROLES[role] else "" for role in ROLES))
        for name, title in PERMISSIONS.items()
    )
    routes = (
        (
            f"[{operation.method} {operation.path}](api.md#{operation.id})",
            f"`{operation.feature}`" if operation.feature else "",
            "<br>".join(operation.callers),
        )
        for operation in _operations()
    )
    return _page(
        "Roles, permissions and scopes",
        "Roles are held per workspace; a person may hold several, and nobody changes their own. The names in the "
        f"code are {_listed(ROLES)}.",
        "## Roles and permissions",
        _table(("permission", "what it allows", *titles), held),
        "## Scopes of keys",
        _table(("scope", "what it allows"), ((f"`{name}`", title) for name, title in KEY_SCOPES.items())),
        "## What a route takes",
        "A feature that is off answers `404 feature_off` to everybody. Any one of the callers named is enough.",
        _table(("route", "feature", "who may call"), routes),
    )


def limits_page() -> str:
    """Write how large a request may be, and how long its members."""
    bodies = (
        (f"`{path}`", _size(limits.body_bytes(name)))
        for name, path in sorted(_route_names().items(), key=lambda named: named[1])
    )
    members = (
        (f"`{owner}`", f"`{member.name}`", member.form.text)
        for owner, found in _bounded()
        for member in found
    )
    others = (
        ("nesting of JSON", f"{json.MAX_DEPTH} levels"),
        ("integers", f"{json.MIN_INTEGER} to {json.MAX_INTEGER}"),
        ("problems listed for a form", str(parsers.MAX_PROBLEMS)),
        ("problems listed for a document", str(documents.MAX_PROBLEMS)),
        ("entries of a page of a list", str(paging.PAGE_SIZE)),
    )
    return _page(
        "Limits",
        "A body over the limit of its route is refused with `413 payload_too_large`, any other length out of bounds "
        "with `422 invalid_input` and a pointer.",
        "## Bodies",
        _table(("route", "bytes"), bodies),
        "## Members and parameters",
        _table(("in", "name", "form"), members),
        "## Others",
        _table(("what", "limit"), others),
    )


def api_page() -> str:
    """Write every operation and shape."""
    parts: list[str] = []
    for group in reference.groups():
        parts += [f"## {group.name}", group.sentence]
        for operation in group.operations:
            parts += _operation(operation)
    parts.append("## Shapes")
    for shape in reference.shapes():
        parts += [f'<a id="shape-{shape.name}"></a>', f"### {shape.name}", shape.sentence]
        parts += [_members(shape.members)] if shape.members else []
    return _page(
        "API",
        "The same as `/v1/docs` of a running server shows and `/v1/openapi.json` says for tools.",
        *parts,
    )


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api_page,
    "errors.md": errors_page,
    "limits.md": limits_page,
    "rights.md": rights_page,
}


def _operation(operation: reference.Described) -> Iterator[str]:
    yield f'<a id="{operation.id}"></a>'
    yield f"### {operation.summary}"
    yield f"`{operation.method} {operation.path}`"
    yield operation.sentence
    feature = f" The feature `{operation.feature}` must be on." if operation.feature else ""
    yield "Who may call: " + " Or: ".join(operation.callers) + feature
    if operation.body:
        yield f"Body: {_form(operation.body)}{'' if operation.is_body_required else ', may be left out'}"
    yield f"Answer: {operation.status}, {_form(operation.answer)}"
    if operation.parameters:
        yield _members(operation.parameters)
    for call in operation.calls:
        own = document()["servers"][0]["url"]
        yield f"```sh\n{call.text.replace(own, BASE_URL)}\n```"
    if operation.refusals:
        yield "Refusals: " + ", ".join(
            f"[{refusal.status} {refusal.code}](errors.md#{refusal.code})" for refusal in operation.refusals
        )


def _members(members: Iterable[reference.Member]) -> str:
    rows = (
        (
            f"`{member.name}`",
            ", ".join(filter(None, (member.place, "required" if member.is_required else "optional"))),
            _form(member.form),
            member.sentence,
        )
        for member in members
    )
    return _table(("name", "", "form", "meaning"), rows)


def _form(form: reference.Form) -> str:
    link = f"[{form.shape}](#shape-{form.shape})" if form.shape else ""
    return f"{form.before}{link}{form.after}"


def _operations() -> list[reference.Described]:
    return [operation for group in reference.groups() for operation in group.operations]


def _bounded() -> Iterator[tuple[str, list[reference.Member]]]:
    """List the parameters and members whose form has a number in it."""
    for operation in _operations():
        yield f"{operation.method} {operation.path}", _with_bounds(operation.parameters)
    for shape in reference.shapes():
        yield shape.name, _with_bounds(shape.members)


def _with_bounds(members: Iterable[reference.Member]) -> list[reference.Member]:
    return [member for member in members if ", " in member.form.text and "one of" not in member.form.text]


def _route_names() -> dict[str, str]:
    """Give the path of each route that takes a body, by the name that the table of limits knows it by."""
    takes_body = {
        path
        for path, found in document()["paths"].items()
        if any("requestBody" in operation for operation in found.values())
    }
    known: Any = get_resolver().reverse_dict
    paths = {name: f"/{known[name][0][0][0]}" for name in known if isinstance(name, str)}
    templates = {name: path.replace("%(", "{").replace(")s", "}") for name, path in paths.items()}
    return {name: path for name, path in templates.items() if path in takes_body}


def _size(number: int) -> str:
    return (
        f"{number:,} ({number // limits.MIB} MiB)"
        if number >= limits.MIB
        else f"{number:,} ({number // limits.KIB} KiB)"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", _NOTE, *parts]) + "\n"
