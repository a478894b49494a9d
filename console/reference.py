"""The OpenAPI document read for people: what /v1/docs shows and docs/reference/api.md is written from (PL-9)."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from workspaces.http.exceptions import catalogue
from workspaces.http.openapi import PROBLEM_TYPE, document

JSON_TYPE, BYTES_TYPE = "application/json", "application/octet-stream"


class Form(msgspec.Struct, frozen=True):
    """What a value must be, in words, around the name of one shape at most."""

    before: str = ""
    shape: str = ""
    after: str = ""

    @property
    def text(self) -> str:
        """Give the words without a link."""
        return f"{self.before}{self.shape}{self.after}"


class Member(msgspec.Struct, frozen=True):
    """One member of a body, or one parameter (with its place)."""

    name: str
    form: Form
    is_required: bool
    sentence: str
    place: str = ""


class Shape(msgspec.Struct, frozen=True):
    """An object that requests or answers are made of."""

    name: str
    sentence: str
    members: tuple[Member, ...]


class Example(msgspec.Struct, frozen=True):
    """A call that can be copied, or an answer."""

    title: str
    text: str


class Refusal(msgspec.Struct, frozen=True):
    """One code that an operation may answer."""

    status: int
    code: str
    title: str


class Described(msgspec.Struct, frozen=True):
    """One operation."""

    id: str
    method: str
    path: str
    summary: str
    sentence: str
    callers: tuple[str, ...]
    feature: str
    parameters: tuple[Member, ...]
    body: Form | None
    is_body_required: bool
    members: tuple[Member, ...]
    calls: tuple[Example, ...]
    status: int
    answer: Form
    answers: tuple[Example, ...]
    refusals: tuple[Refusal, ...]


class Group(msgspec.Struct, frozen=True):
    """The operations of one tag."""

    name: str
    sentence: str
    operations: tuple[Described, ...]

    @property
    def anchor(self) -> str:
        """Name the group in an address."""
        return self.name.lower().replace(" ", "-")


@cache
def groups() -> tuple[Group, ...]:
    """List the operations by tag, in the order of the document."""
    found = [*_operations(document())]
    return tuple(
        Group(
            name=tag["name"],
            sentence=tag["description"],
            operations=tuple(_described(*each) for each in found if tag["name"] in each[2]["tags"]),
        )
        for tag in document()["tags"]
    )


@cache
def shapes() -> tuple[Shape, ...]:
    """List every shape by name."""
    return tuple(
        Shape(name, schema["description"], tuple(_members(schema)))
        for name, schema in sorted(document()["components"]["schemas"].items())
    )


def errors() -> tuple[Refusal, ...]:
    """List every code of the catalogue by status and name."""
    found = (Refusal(kind.status, kind.code, kind.title) for kind in catalogue().values())
    return tuple(sorted(found, key=lambda refusal: (refusal.status, refusal.code)))


def _operations(source: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in source["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _described(path: str, method: str, operation: dict[str, Any]) -> Described:
    status = min(operation["responses"])
    (answer,) = operation["responses"][status]["content"].values()
    body = operation.get("requestBody")
    (taken,) = body["content"].values() if body else ({"schema": {}},)
    return Described(
        id=operation["operationId"],
        method=method,
        path=path,
        summary=operation["summary"],
        sentence=operation["description"],
        callers=tuple(_callers(operation["security"])),
        feature=operation.get("x-feature", ""),
        parameters=tuple(_parameters(operation["parameters"])),
        body=form_of(taken["schema"]) if body else None,
        is_body_required=bool(body and body["required"]),
        members=tuple(_members(_named(taken["schema"]))) if "$ref" in taken["schema"] else (),
        calls=tuple(_calls(path, method, operation)),
        status=int(status),
        answer=form_of(answer["schema"]),
        answers=tuple(
            Example(found["summary"], _pretty(found["value"])) for found in answer["examples"].values()
        ),
        refusals=tuple(_refusals(operation["responses"])),
    )


def _callers(security: list[dict[str, list[str]]]) -> Iterator[str]:
    """Say who may call."""
    if not security:
        yield "Anybody, without a key."
    for option in security:
        for kind, needs in option.items():
            who = "The key of a source" if kind == "key" else "The personal token of a member"
            what = "scope" if kind == "key" else "permission"
            yield f"{who} with the {what} `{needs[0]}`." if needs else f"{who}."


def _parameters(parameters: Iterable[dict[str, Any]]) -> Iterator[Member]:
    for found in parameters:
        yield Member(
            found["name"], form_of(found["schema"]), found["required"], found["description"], found["in"]
        )


def _members(schema: dict[str, Any]) -> Iterator[Member]:
    for name, member in schema.get("properties", {}).items():
        yield Member(name, form_of(member), name in schema.get("required", ()), member.get("description", ""))


def _named(schema: dict[str, Any]) -> dict[str, Any]:
    """Give the schema that a reference names."""
    found: dict[str, Any] = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _refusals(responses: dict[str, Any]) -> Iterator[Refusal]:
    titles = {kind.code: kind.title for kind in catalogue().values()}
    for status, response in responses.items():
        if PROBLEM_TYPE in response["content"]:
            codes = response["content"][PROBLEM_TYPE]["schema"]["properties"]["code"]["enum"]
            yield from (Refusal(int(status), code, titles[code]) for code in codes)


def _calls(path: str, method: str, operation: dict[str, Any]) -> Iterator[Example]:
    """Write the operation as curl, once for each example of its body."""
    bodies = operation.get("requestBody", {}).get("content", {}).get(JSON_TYPE, {}).get("examples", {})
    for found in bodies.values():
        yield Example(found["summary"], _curl(path, method, operation, found["value"]))
    if not bodies:
        yield Example(operation["summary"], _curl(path, method, operation, None))


def _curl(path: str, method: str, operation: dict[str, Any], body: Any) -> str:
    examples = {found["name"]: found["example"] for found in operation["parameters"] if found["in"] == "path"}
    address = re.sub(r"\{(\w+)\}", lambda part: str(examples[part[1]]), path)
    lines = [f"curl -X {method} {shlex.quote(document()['servers'][0]['url'] + address)}"]
    if operation["security"]:
        variable = "LASTRO_KEY" if "key" in operation["security"][0] else "LASTRO_TOKEN"
        lines.append(f'-H "Authorization: Bearer ${variable}"')
    if BYTES_TYPE in operation.get("requestBody", {}).get("content", {}):
        lines.append("--data-binary @FILE")
    if body is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(_pretty(body))}"]
    return " \\\n  ".join(lines)


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def form_of(schema: dict[str, Any]) -> Form:
    """Say in words what a schema asks for."""
    if "$ref" in schema:
        return Form(shape=schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return _one_of(schema["anyOf"])
    if "enum" in schema:
        return Form("one of " + ", ".join(f"`{word}`" for word in schema["enum"]))
    if schema.get("type") == "array":
        inner = form_of(schema["items"])
        return Form(f"list of {inner.before}", inner.shape, inner.after + _bounds(schema, "Items", "items"))
    if schema.get("type") == "object":
        return _object(schema)
    return Form(_scalar(schema))


def _one_of(options: list[dict[str, Any]]) -> Form:
    meant = [form_of(option) for option in options if option != {"type": "null"}]
    # A shape comes first, since its name is a link.
    form, *others = sorted(meant, key=lambda option: not option.shape)
    after = form.after + "".join(f" or {other.before}{other.after}" for other in others)
    return Form(form.before, form.shape, after + (" or null" if len(meant) < len(options) else ""))


def _object(schema: dict[str, Any]) -> Form:
    inner = schema.get("additionalProperties")
    if not isinstance(inner, dict):
        return Form("object")
    form = form_of(inner)
    return Form(f"object whose members are each {form.before}", form.shape, form.after)


def _scalar(schema: dict[str, Any]) -> str:
    if "contentMediaType" in schema:
        return f"a file of type `{schema['contentMediaType']}`"
    formats = {"date-time": "time (RFC 3339)", "uuid": "UUID"}
    kind = formats.get(schema.get("format", "")) or schema.get("type", "any value")
    return str(kind) + _bounds(schema, "Length", "characters") + _range(schema)


def _bounds(schema: dict[str, Any], what: str, unit: str) -> str:
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if most is None:
        return ""
    return f", {least} to {most} {unit}" if least is not None else f", at most {most} {unit}"


def _range(schema: dict[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None:
        return ""
    return f", {least} or more" if most is None or most > 2**53 else f", {least} to {most}"
