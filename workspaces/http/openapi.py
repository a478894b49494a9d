"""The OpenAPI document is made from the views: their shapes, needs, examples and refusals (PL-9)."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Literal, TypeVar

import msgspec
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import (
    ComponentRegistry,
    ResolvedComponent,
    resolve_django_path_parameter,
)

from workspaces import errors
from workspaces.errors import Problem
from workspaces.http.exceptions import body_of
from workspaces.http.permissions import Needs
from workspaces.types import FieldProblem

View = TypeVar("View", bound=Callable[..., Any])

JSON_TYPE, PROBLEM_TYPE = "application/json", "application/problem+json"
EXAMPLE_ID = "01997e5c-8f3a-7c3e-9d25-6b8f0e1a2c4d"
_EXAMPLE_REQUEST_ID = "req_7f1c2a9be04d4d0f9a3c5e6b8d7f0a12"
_REF = "#/components/schemas/{name}"
_CLAUSES = re.compile(r" \([A-Z]{2}-\d+[a-z]?(?:(?:, | to )[A-Z]{2}-\d+[a-z]?)*\)")

_BEFORE_EVERY_HANDLER = (
    errors.PayloadTooLarge,
    errors.Unauthenticated,
    errors.Forbidden,
    errors.RateLimited,
    errors.Unavailable,
)
_WITH_A_BODY = (errors.InvalidJson, errors.InvalidInput, errors.UnsupportedMediaType)

_SECURITY_SCHEMES = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "lst_...",
        "description": "The key of a source. A list beside it names the scope that it must have.",
    },
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "lsp_...",
        "description": "The personal token of a member. A list beside it names the permission that it must carry.",
    },
}

_HEADERS = {
    "X-Request-Id": {
        "description": "The id of the request: the one that was sent, where it is acceptable.",
        "required": True,
        "schema": {"type": "string"},
    },
    "WWW-Authenticate": {"description": "`Bearer`", "required": True, "schema": {"type": "string"}},
    "Retry-After": {
        "description": "Seconds to wait before the next try.",
        "required": True,
        "schema": {"type": "integer"},
    },
}
# Not there while the hot store does not answer: then nobody is limited.
_LIMITS = {
    "RateLimit-Limit": "How many requests at once a key may make.",
    "RateLimit-Remaining": "How many of them are left, to the key or its address.",
    "RateLimit-Reset": "Seconds until as many may be made as ever.",
}
_HEADERS |= {name: {"description": text, "schema": {"type": "integer"}} for name, text in _LIMITS.items()}
_HEADERS_OF = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}
_BEFORE_THE_LIMITS = frozenset({401, 413})


class ProblemBody(msgspec.Struct, frozen=True):
    """An RFC 9457 problem. `detail` and `errors` never carry what the caller sent."""

    type: str
    title: str
    status: int
    code: str
    request_id: str
    detail: str = ""
    errors: tuple[FieldProblem, ...] = ()


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of an operation, with its JSON Schema."""

    name: str
    place: Literal["path", "query", "header"]
    schema: dict[str, Any]
    description: str = ""
    example: str | None = None


class Example(msgspec.Struct, frozen=True):
    """An example of a request or of an answer."""

    name: str
    value: Any
    is_request: bool


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What one method of a view takes and answers with each status. `body`, `answer`: a struct or a JSON Schema."""

    summary: str
    answer: Any
    statuses: tuple[int, ...]
    body: Any
    is_body_optional: bool
    refusals: tuple[type[Problem], ...]
    examples: tuple[Example, ...]
    parameters: tuple[Parameter, ...]


def operation(
    *,
    summary: str,
    answer: Any,
    status: int | tuple[int, ...] = 200,
    body: Any = None,
    is_body_optional: bool = False,
    refusals: Iterable[type[Problem]] = (),
    examples: Iterable[Example] = (),
    parameters: Iterable[Parameter] = (),
) -> Callable[[View], View]:
    """Document one method of a view: what it takes, what it answers, and how its handler refuses.

    What is refused before the handler (the body's size and form, the key, the needs) is known and not listed.
    """
    declared = Operation(
        summary=summary,
        answer=answer,
        statuses=(status,) if isinstance(status, int) else status,
        body=body,
        is_body_optional=is_body_optional,
        refusals=tuple(refusals),
        examples=tuple(examples),
        parameters=tuple(parameters),
    )

    def declare(view: View) -> View:
        view.operation = declared  # type: ignore[attr-defined]
        return view

    return declare


def example(name: str, value: Any, *, is_request: bool = False) -> Example:
    """Give an example of a request or of an answer."""
    return Example(name, value, is_request)


def idempotency_key() -> Parameter:
    """Document the Idempotency-Key header of a mutating call (PL-10)."""
    return Parameter(
        "Idempotency-Key",
        "header",
        {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[ -~]+$"},
        "A request sent again with the same key answers as the first time and does nothing twice; "
        "the same key with another request is refused.",
        "order-4711-step-2",
    )


def cursor() -> Parameter:
    """Document the cursor of a list (PL-10)."""
    return Parameter(
        "cursor", "query", {"type": "string", "maxLength": 256}, "`next_cursor` of the page before."
    )


def choice(name: str, words: Iterable[str], description: str) -> Parameter:
    """Document a part of the path that is one of a few words."""
    words = list(words)
    return Parameter(name, "path", {"type": "string", "enum": words}, description, words[0])


class RouteSchema(AutoSchema):
    """Writes the operation that a method of a view declares."""

    view: Any

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> dict[str, Any]:
        """Describe one method of one route."""
        self.path, self.path_regex, self.method, self.registry = path, path_regex, method, registry
        handler = getattr(self.view, method.lower())
        declared: Operation = handler.operation
        body = {"requestBody": self._body(declared)} if declared.body else {}
        feature = {"x-feature": self._needs.feature} if self._needs.feature else {}
        return {
            "operationId": self.get_operation_id(),
            "summary": declared.summary,
            "description": _plain(handler.__doc__ or ""),
            "tags": [self.view.tag],
            "parameters": [_parameter(found) for found in self._parameters(declared)],
            **body,
            "security": self._security(),
            **feature,
            "responses": self._responses(declared),
        }

    def get_operation_id(self) -> str:
        """Name an operation after its method and route."""
        route = self.path.removeprefix("/v1/").translate(str.maketrans("/-.", "___", "{}"))
        return f"{self.method.lower()}_{route}"

    @property
    def _needs(self) -> Needs:
        found: Needs = self.view.needs.get(self.method, Needs())
        return found

    @property
    def _is_public(self) -> bool:
        return not self.view.authentication_classes

    def _parameters(self, declared: Operation) -> Iterator[Parameter]:
        names = {parameter.name for parameter in declared.parameters}
        for name in re.findall(r"\{(\w+)\}", self.path):
            if name not in names:
                found = resolve_django_path_parameter(self.path_regex, name, [])
                yield Parameter(name, "path", found["schema"], f"The id of a {name[:-3]}.", EXAMPLE_ID)
        yield from declared.parameters

    def _body(self, declared: Operation) -> dict[str, Any]:
        content = self._content(declared, is_request=True)
        return {"required": not declared.is_body_optional, "content": content}

    def _content(self, declared: Operation, *, is_request: bool) -> dict[str, Any]:
        shape = declared.body if is_request else declared.answer
        schema = self._schema(shape, is_answer=not is_request)
        content = {"schema": schema, "examples": _examples(declared, is_request=is_request)}
        return {_media_type(shape): content}

    def _security(self) -> list[dict[str, list[str]]]:
        """Name the callers that may come, each with the scope or permission that it takes."""
        if self._is_public:
            return []
        for name, scheme in _SECURITY_SCHEMES.items():
            self._register(name, scheme, ResolvedComponent.SECURITY_SCHEMA)
        return list(_callers(self._needs))

    def _responses(self, declared: Operation) -> dict[str, Any]:
        answers: dict[str, Any] = {
            str(status): {
                "description": "Accepted, and not done yet." if status == 202 else "Done.",
                "headers": self._headers(status),
                "content": self._content(declared, is_request=False),
            }
            for status in declared.statuses
        }
        kinds = set(self._refusals(declared))
        for status in sorted({kind.status for kind in kinds}):
            named = sorted((kind for kind in kinds if kind.status == status), key=lambda kind: kind.code)
            answers[str(status)] = self._refused(status, named)
        return answers

    def _refusals(self, declared: Operation) -> Iterator[type[Problem]]:
        """List the handler's refusals and those of everything before it."""
        yield from declared.refusals
        if self._is_public:
            return
        yield from _BEFORE_EVERY_HANDLER
        yield from _WITH_A_BODY if _media_type(declared.body) == JSON_TYPE and declared.body else ()
        needs = self._needs
        if needs.feature:
            yield errors.FeatureOff
        if needs.scope:
            yield errors.ScopeMissing
        if needs.permission or needs.one_of:
            yield errors.PermissionMissing
        if "{" in self.path:
            yield errors.NotFound

    def _refused(self, status: int, kinds: list[type[Problem]]) -> dict[str, Any]:
        codes = [kind.code for kind in kinds]
        schema = self._schema(ProblemBody, is_answer=False)
        narrowed = {"status": {"const": status}, "code": {"enum": codes}}
        content = {
            "schema": {**schema, "properties": narrowed},
            "examples": {kind.code: self._example_of(kind) for kind in kinds},
        }
        return {
            "description": "; ".join(f"`{kind.code}`: {kind.title}" for kind in kinds),
            "headers": self._headers(status),
            "content": {PROBLEM_TYPE: content},
        }

    def _example_of(self, kind: type[Problem]) -> dict[str, str]:
        value = body_of(kind(), request_id=_EXAMPLE_REQUEST_ID)
        return self._register(kind.code, {"summary": kind.title, "value": value}, ResolvedComponent.EXAMPLE)

    def _headers(self, status: int) -> dict[str, Any]:
        limits = () if self._is_public or status in _BEFORE_THE_LIMITS else _LIMITS
        names = ["X-Request-Id", *_HEADERS_OF.get(status, ()), *limits]
        return {name: self._register(name, _HEADERS[name], ResolvedComponent.HEADER) for name in names}

    def _schema(self, shape: Any, *, is_answer: bool) -> dict[str, Any]:
        """Give the schema of a shape by reference, and register it with all that it refers to."""
        if isinstance(shape, dict):
            return shape
        (schema,), components = msgspec.json.schema_components([shape], ref_template=_REF)
        for name, component in components.items():
            described = _always_whole(component) if is_answer else component
            self._register(_public_name(name), _public(described), ResolvedComponent.SCHEMA)
        found: dict[str, Any] = _public(schema)
        return found

    def _register(self, name: str, schema: Any, kind: str) -> dict[str, str]:
        """Keep a component under its name; give the reference to it."""
        component = ResolvedComponent(name=name, type=kind, object=name, schema=schema)
        self.registry.register_on_missing(component)
        reference: dict[str, str] = component.ref
        return reference


@cache
def document() -> dict[str, Any]:
    """Give the OpenAPI document, made once per process."""
    found: dict[str, Any] = SchemaGenerator().get_schema(public=True)
    return found


def only_v1(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Keep the routes of the API."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v1/")]


def _callers(needs: Needs) -> Iterator[dict[str, list[str]]]:
    if needs.any_key or needs.scope:
        yield {"key": [needs.scope] if needs.scope else []}
    for permission in needs.one_of:
        yield {"token": [permission]}
    if not needs.one_of and (needs.any_token or needs.permission):
        yield {"token": [needs.permission] if needs.permission else []}


def _media_type(shape: Any) -> str:
    return str(shape.get("contentMediaType", JSON_TYPE)) if isinstance(shape, dict) else JSON_TYPE


def _parameter(parameter: Parameter) -> dict[str, Any]:
    shown = {"example": parameter.example} if parameter.example is not None else {}
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "description": parameter.description,
        "schema": parameter.schema,
        **shown,
    }


def _examples(declared: Operation, *, is_request: bool) -> dict[str, Any]:
    return {
        re.sub(r"\W+", "_", found.name): {"summary": found.name, "value": found.value}
        for found in declared.examples
        if found.is_request is is_request
    }


def _always_whole(component: dict[str, Any]) -> dict[str, Any]:
    """Say of an answer that no member is ever left out: a default is for requests."""
    members = {
        name: {key: value for key, value in member.items() if key != "default"}
        for name, member in component.get("properties", {}).items()
    }
    return {**component, "properties": members, "required": list(members)} if members else component


def _public(schema: Any) -> Any:
    """Write a schema for readers: public names, and no clauses of the specification."""
    if isinstance(schema, dict):
        kept = {key: value for key, value in schema.items() if key != "title" or isinstance(value, dict)}
        typed = {"type": "string"} if isinstance(kept.get("enum"), list) else {}
        return {**typed, **{key: _public_value(key, value) for key, value in kept.items()}}
    return [_public(member) for member in schema] if isinstance(schema, list) else schema


def _public_value(key: str, value: Any) -> Any:
    if key == "$ref":
        head, _, name = value.rpartition("/")
        return f"{head}/{_public_name(name)}"
    return _plain(value) if key == "description" and isinstance(value, str) else _public(value)


def _public_name(name: str) -> str:
    return name.removesuffix("Shape").removesuffix("Body")


def _plain(text: str) -> str:
    return _CLAUSES.sub("", text)
