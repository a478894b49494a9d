"""The OpenAPI document: valid, complete, and true to the routes (PL-9). tests/test_schemathesis.py plays it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import URLPattern, URLResolver, get_resolver
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.api import InProcess
from workspaces.http.exceptions import catalogue
from workspaces.http.openapi import PROBLEM_TYPE, document

DOCUMENT = document()
OPERATIONS = {
    found["operationId"]: found for methods in DOCUMENT["paths"].values() for found in methods.values()
}
PAGES = {"/v1/docs"}
JSON, BYTES = "application/json", "application/octet-stream"
# Operations that take no key.
PUBLIC = {name for name, found in OPERATIONS.items() if not found["security"]}
# Codes that no route of /v1 documents, with who answers them.
ELSEWHERE = {
    "internal_error": "nobody: it is a fault of ours",
    "stored_data_damaged": "nobody: it is a fault of ours, or of the disk",
    "key_destroyed": "nobody yet: a state whose key is gone reads as never written",
    "method_not_allowed": "methods that the document does not have",
    "role_not_allowed": "the console",
    "second_factor_stays": "the console",
    "workspace_closed": "the console: no key of such a workspace opens anything",
    "invitation_invalid": "the console",
}
REGISTRY = Registry().with_resource("urn:document", DRAFT202012.create_resource(DOCUMENT))


def routes(patterns: Any = None, prefix: str = "/") -> Iterator[str]:
    """List the paths of the URL resolver as OpenAPI writes them."""
    for found in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(found, URLResolver):
            yield from routes(found.url_patterns, prefix + str(found.pattern))
        elif isinstance(found, URLPattern):
            yield prefix + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(found.pattern))


def contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """List every body of an operation: of the request, of the answer, of each refusal."""
    if "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        yield "request", content
    for status, answer in operation["responses"].items():
        (content,) = answer["content"].values()
        yield status, content


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference to a component."""
    found: Any = DOCUMENT
    for step in part["$ref"].removeprefix("#/").split("/") if "$ref" in part else ():
        found = found[step]
    return found if "$ref" in part else part


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    """Make a validator of a schema that refers into the document."""
    absolute = _absolute(schema)
    return Draft202012Validator(absolute, registry=REGISTRY, format_checker=FormatChecker())


def _absolute(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: f"urn:document{value}" if key == "$ref" else _absolute(value)
            for key, value in schema.items()
        }
    return [_absolute(member) for member in schema] if isinstance(schema, list) else schema


def test_the_document_is_made_without_a_warning_and_is_valid(tmp_path: Path) -> None:
    """PL-9: it is valid by the schema of OpenAPI 3.1, and the generator has nothing to say."""
    file = tmp_path / "openapi.json"
    call_command("spectacular", "--format", "openapi-json", "--fail-on-warn", "--validate", file=str(file))
    assert file.stat().st_size > 0
    assert DOCUMENT["openapi"] == "3.1.0"


@pytest.mark.parametrize("name", sorted(DOCUMENT["components"]["schemas"]))
def test_a_component_is_a_json_schema(name: str) -> None:
    """PL-9: each component is valid by JSON Schema 2020-12 and says what it is."""
    schema = DOCUMENT["components"]["schemas"][name]
    Draft202012Validator.check_schema(schema)
    assert schema["description"]


def test_every_route_is_documented() -> None:
    """PL-9: the routes below /v1 and the paths of the document are the same."""
    served = {path for path in routes() if path.startswith("/v1/")}
    assert served - PAGES == set(DOCUMENT["paths"])


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_says_what_it_does(name: str) -> None:
    """PL-9: a summary, a sentence and a group that the document describes; path parameters are required."""
    operation = OPERATIONS[name]
    assert operation["summary"]
    assert operation["description"]
    assert set(operation["tags"]) < {tag["name"] for tag in DOCUMENT["tags"]}
    for parameter in operation["parameters"]:
        assert parameter["description"]
        assert parameter["required"] is (parameter["in"] == "path")
        assert {"enum", "format", "maxLength"} & set(parameter["schema"]), "a parameter has bounds"


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_examples_are_there_and_fit(name: str) -> None:
    """PL-9: each body has an example, and each example fits the schema of its body."""
    for where, content in contents(OPERATIONS[name]):
        if (name in PUBLIC and where == "200") or "contentMediaType" in content["schema"]:
            continue
        assert content["examples"], where
        for example in content["examples"].values():
            validator(content["schema"]).validate(resolved(example)["value"])


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - PUBLIC))
def test_an_operation_names_the_refusals_of_every_request(name: str) -> None:
    """PL-8, PL-9: no key, not allowed, too large, too often, no store: every route may say so, as a problem."""
    operation = OPERATIONS[name]
    assert {"401", "403", "413", "429", "503"} < set(operation["responses"])
    if JSON in operation.get("requestBody", {}).get("content", {}):
        assert {"400", "415", "422"} < set(operation["responses"])
    for status, answer in operation["responses"].items():
        assert "X-Request-Id" in answer["headers"]
        (kind,) = answer["content"]
        assert kind == PROBLEM_TYPE if status >= "300" else kind in {JSON, BYTES}
    for status in ("429", "503"):
        assert "Retry-After" in operation["responses"][status]["headers"]
    assert "WWW-Authenticate" in operation["responses"]["401"]["headers"]


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - PUBLIC))
def test_an_operation_says_what_is_left_to_its_caller(name: str) -> None:
    """PL-5, PL-9: the three headers stand at every answer to a caller who was let in."""
    limits = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
    for status, answer in OPERATIONS[name]["responses"].items():
        assert limits & set(answer["headers"]) == (set() if status in {"401", "413"} else limits), status


def test_every_code_is_documented() -> None:
    """PL-8, PL-9: each code of the catalogue stands at a route, or on the short list of those that cannot."""
    documented = {
        code
        for operation in OPERATIONS.values()
        for status, content in contents(operation)
        if status >= "400" and status != "request"
        for code in content["schema"]["properties"]["code"]["enum"]
    }
    assert documented | set(ELSEWHERE) == set(catalogue())
    assert not documented & set(ELSEWHERE)


def test_security_says_which_scope_or_permission() -> None:
    """PL-2, PL-3: a reader of the document sees what each route takes."""
    assert OPERATIONS["put_agent_state"]["security"] == [{"key": ["agent_state"]}]
    assert OPERATIONS["get_profiles_profile_id_agent_state"]["security"] == [
        {"key": ["admin"]},
        {"token": ["view_state_metadata"]},
    ]
    assert OPERATIONS["post_config_diffs"]["security"] == [
        {"token": ["change_features"]},
        {"token": ["propose_documents"]},
    ]
    assert {"get_openapi_json", "get_packages_run_id_download"} == PUBLIC


def test_the_document_is_served_without_a_key() -> None:
    """PL-9: anybody may read it; it is made once per process."""
    answer = InProcess(None).get("/v1/openapi.json")
    assert (answer.status, answer.body) == (200, DOCUMENT)
    assert answer.headers["content-type"] == "application/json"
    assert document() is DOCUMENT
