"""Reading a body: bytes within the route's limit, strict JSON, then the documented shape (WM-25)."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import jsonschema
import msgspec
from django.http import HttpRequest
from rest_framework.parsers import BaseParser

from workspaces.errors import InvalidInput, PayloadTooLarge, UnsupportedMediaType
from workspaces.rules import json
from workspaces.types import FieldProblem

Shape = TypeVar("Shape")
MAX_PROBLEMS = 100


class StrictJsonParser(BaseParser):
    """Names the media type of /v1; the bodies are read by `receive` and `parse`."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return json.parse(stream.read())


PART_BYTES = 64 * 1024


def receive(request: HttpRequest, *, limit_bytes: int) -> bytes:
    """Take the body off the wire, or refuse it when it is over the limit (413)."""
    declared = request.META.get("CONTENT_LENGTH") or ""
    if declared.isdigit():
        if int(declared) > limit_bytes:
            raise PayloadTooLarge(f"The limit is {limit_bytes} bytes.")
        return request.body
    raw: bytes = request.META["wsgi.input"].read(limit_bytes + 1) if _is_chunked(request) else b""
    if len(raw) > limit_bytes:
        raise PayloadTooLarge(f"The limit is {limit_bytes} bytes.")
    return raw


def require_length(request: HttpRequest, *, limit_bytes: int) -> None:
    """Refuse a body that says itself that it is over the limit (413)."""
    declared = request.META.get("CONTENT_LENGTH") or ""
    if declared.isdigit() and int(declared) > limit_bytes:
        raise PayloadTooLarge(f"The limit is {limit_bytes} bytes.")


def is_long(request: HttpRequest, *, over_bytes: int) -> bool:
    """Tell whether a body is longer than that; one in chunks may be."""
    declared = request.META.get("CONTENT_LENGTH") or ""
    return int(declared) > over_bytes if declared.isdigit() else _is_chunked(request)


def parts_of(request: HttpRequest, *, limit_bytes: int) -> Iterator[bytes]:
    """Give a body as it comes off the wire, in parts of 64 KiB at most; refuse one that passes the limit (413)."""
    taken = 0
    while part := _next_part(request):
        taken += len(part)
        if taken > limit_bytes:
            raise PayloadTooLarge(f"The limit is {limit_bytes} bytes.")
        yield part


def drain(request: HttpRequest, *, limit_bytes: int) -> None:
    """Read what is left of a body and drop it, up to a bound."""
    left = limit_bytes
    with suppress(OSError):
        while left > 0 and (part := _next_part(request)):
            left -= len(part)


def _next_part(request: HttpRequest) -> bytes:
    if _is_chunked(request):
        chunk: bytes = request.META["wsgi.input"].read(PART_BYTES)
        return chunk
    return request.read(PART_BYTES)


def parse(raw: bytes, shape: type[Shape], *, content_type: str, rules: json.Rules = json.USUAL) -> Shape:
    """Read a body as `shape`, or refuse it with a pointer for each thing wrong."""
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedMediaType
    value = json.parse(raw, rules)
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return _convert_whole_floats(value, shape)


def _convert_whole_floats(value: Any, shape: type[Shape]) -> Shape:
    """Read what the schema accepts and a strict conversion does not: `3.0` is an integer of JSON.

    Only then, since the lax conversion would also read texts as numbers.
    """
    problems = _problems(value, shape)
    if problems:
        raise InvalidInput(errors=problems)
    try:
        return msgspec.convert(value, shape, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput(errors=(_unread(str(error)),)) from None


def _unread(message: str) -> FieldProblem:
    """Point at the place of a conversion's message, which names members of the form and nothing of the value."""
    place = re.search(r" - at `\$([^`]*)`$", message)
    steps = re.findall(r"\.(\w+)|\[(\d+)\]", place[1]) if place else []
    return FieldProblem(
        json.pointer(*(name or index for name, index in steps)), "wrong_form", "Not of the documented form."
    )


def _is_chunked(request: HttpRequest) -> bool:
    return "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()


@cache
def _validator(shape: type) -> Any:
    return jsonschema.Draft202012Validator(
        msgspec.json.schema(shape), format_checker=jsonschema.FormatChecker(["date-time", "uuid"])
    )


def _problems(value: Any, shape: type) -> tuple[FieldProblem, ...]:
    """Find what is wrong with a value; a hostile one is wrong in as many places as it has members."""
    found = (problem for error in _validator(shape).iter_errors(value) for problem in _described(error))
    return tuple(dict.fromkeys(islice(found, MAX_PROBLEMS)))


def _described(error: Any) -> Iterator[FieldProblem]:
    """Say what a schema error means, without the value that caused it."""
    path = tuple(error.absolute_path)
    if error.validator == "anyOf":
        yield from _of_branches(error)
    elif error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield FieldProblem(json.pointer(*path, name), "required", "This member is required.")
    elif error.validator == "additionalProperties":
        yield FieldProblem(json.pointer(*path), "unknown_member", "A member is not part of the form.")
    else:
        code, sentence = _SENTENCES.get(error.validator, ("invalid", "Not of the documented form."))
        yield FieldProblem(json.pointer(*path), code, sentence.format(limit=error.validator_value))


def _of_branches(error: Any) -> Iterator[FieldProblem]:
    """Describe the one form that a value was meant to have: the others are of another type altogether."""
    meant = [inner for inner in error.context if inner.validator != "type" or inner.relative_path]
    if not meant:
        pointer = json.pointer(*error.absolute_path)
        yield FieldProblem(pointer, "wrong_type", "Not one of the forms that the schema allows.")
    for inner in meant:
        yield from _described(inner)


_SENTENCES = {
    "type": ("wrong_type", "Must be of type {limit}."),
    "enum": ("not_a_choice", "Must be one of {limit}."),
    "const": ("not_a_choice", "Must be {limit}."),
    "minLength": ("too_short", "Must have at least {limit} characters."),
    "maxLength": ("too_long", "Must have at most {limit} characters."),
    "minItems": ("too_short", "Must have at least {limit} items."),
    "maxItems": ("too_long", "Must have at most {limit} items."),
    "minimum": ("too_small", "Must be at least {limit}."),
    "maximum": ("too_large", "Must be at most {limit}."),
    "pattern": ("wrong_form", "Does not match the documented pattern."),
    "format": ("wrong_form", "Must be a {limit}."),
}
