"""Reading a body: bytes within the route's limit, strict JSON, then the documented shape (WM-25)."""

from functools import cache
from typing import Any, TypeVar

import jsonschema
import msgspec
from django.http import HttpRequest
from rest_framework.parsers import BaseParser

from workspaces.errors import InvalidInput, PayloadTooLarge, UnsupportedMediaType
from workspaces.rules import json
from workspaces.types import FieldProblem

Shape = TypeVar("Shape")


class StrictJsonParser(BaseParser):
    """Names the media type of /v1; the bodies are read by `receive` and `parse`."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return json.parse(stream.read())


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


def parse(raw: bytes, shape: type[Shape], *, content_type: str) -> Shape:
    """Read a body as `shape`, or refuse it with a pointer for each thing wrong."""
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedMediaType
    value = json.parse(raw)
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        problems = _problems(value, shape) or (FieldProblem("", "invalid", "Not of the documented form."),)
        raise InvalidInput(errors=problems) from error


def _is_chunked(request: HttpRequest) -> bool:
    return "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()


@cache
def _validator(shape: type) -> Any:
    return jsonschema.Draft202012Validator(
        msgspec.json.schema(shape), format_checker=jsonschema.FormatChecker(["date-time", "uuid"])
    )


def _problems(value: Any, shape: type) -> tuple[FieldProblem, ...]:
    return tuple(problem for error in _validator(shape).iter_errors(value) for problem in _described(error))


def _described(error: Any) -> list[FieldProblem]:
    """Say what a schema error means, without the value that caused it."""
    pointer = pointer_of(error.absolute_path)
    if error.validator in {"anyOf", "oneOf"}:
        return [FieldProblem(pointer, "wrong_type", "Not one of the forms that the schema allows.")]
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return [FieldProblem(f"{pointer}/{missing}", "required", "This member is required.")]
    if error.validator == "additionalProperties":
        return [FieldProblem(pointer, "unknown_member", "A member is not part of the form.")]
    code, sentence = _SENTENCES.get(error.validator, ("invalid", "Not of the documented form."))
    return [FieldProblem(pointer, code, sentence.format(limit=error.validator_value))]


def pointer_of(path: Any) -> str:
    """Write a path as an RFC 6901 pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


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
