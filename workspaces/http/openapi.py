"""The OpenAPI document is made from the views: their shapes, examples and refusals (PL-9)."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from workspaces.errors import Problem, Unauthenticated, Unavailable
from workspaces.types import FieldProblem

View = TypeVar("View", bound=Callable[..., Any])

PROBLEM_TYPE = "application/problem+json"


class ProblemBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """An RFC 9457 problem. `detail` and `errors` never carry what the caller sent."""

    type: str
    title: str
    status: int
    code: str
    request_id: str
    detail: str = ""
    errors: tuple[FieldProblem, ...] = ()


class RouteSchema(AutoSchema):
    """Names operations after their routes."""

    def get_operation_id(self) -> str:
        route = self.path.removeprefix("/v1/").replace("/", "_").replace("-", "_")
        return f"{self.method.lower()}_{route}".replace("{", "").replace("}", "")

    def get_tags(self) -> list[str]:
        return [getattr(self.view, "tag", "Platform")]


class StructExtension(OpenApiSerializerExtension):
    """Lets a msgspec struct stand where a serializer is expected."""

    target_class = "msgspec.Struct"
    match_subclasses = True

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: Any, direction: Any) -> Any:
        (schema,), components = msgspec.json.schema_components(
            [self.target], ref_template="#/components/schemas/{name}"
        )
        for name, component in components.items():
            if name != self.target.__name__:
                auto_schema.registry.register_on_missing(
                    ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=name, schema=component)
                )
        return components.get(self.target.__name__, schema)


class KeyScheme(OpenApiAuthenticationExtension):
    """Documents the bearer key."""

    target_class = "workspaces.http.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A source key (`lst_...`) or a personal token (`lsp_...`).",
        }


def operation(
    *,
    summary: str,
    answer: Any,
    status: int = 200,
    body: Any = None,
    refusals: Iterable[type[Problem]] = (),
    examples: Iterable[OpenApiExample] = (),
    parameters: Iterable[OpenApiParameter] = (),
    is_public: bool = False,
) -> Callable[[View], View]:
    """Document one method of a view: what it takes, what it answers, and every way it refuses."""
    kinds = [*refusals, *(() if is_public else (Unauthenticated,)), Unavailable]
    answers: dict[Any, Any] = {status: OpenApiResponse(answer, description="Done.")}
    for code in sorted({kind.status for kind in kinds}):
        codes = sorted({kind.code for kind in kinds if kind.status == code})
        answers[code, PROBLEM_TYPE] = OpenApiResponse(
            ProblemBody, description="; ".join(f"`{name}`" for name in codes)
        )
    return extend_schema(  # type: ignore[return-value]
        summary=summary,
        request={"application/json": body} if body else None,
        responses=answers,
        examples=list(examples),
        parameters=list(parameters),
        auth=[] if is_public else None,
    )


def example(name: str, value: Any, *, is_request: bool = False, status: int = 200) -> OpenApiExample:
    """Give an example of a request or of an answer."""
    return OpenApiExample(
        name,
        value=value,
        request_only=is_request,
        response_only=not is_request,
        status_codes=None if is_request else [str(status)],
    )


def idempotency_key() -> OpenApiParameter:
    """Document the Idempotency-Key header of a mutating call."""
    return OpenApiParameter(
        "Idempotency-Key",
        {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[ -~]+$"},
        OpenApiParameter.HEADER,
        description="The same key with the same body answers as the first time.",
    )


def only_v1(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Keep the routes of the API."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v1/")]
