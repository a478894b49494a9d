"""JSON Schemas of tools and answers: sound when they are declared, and nothing is fetched for them. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard, cast

from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable


def require_schema(schema: Mapping[str, Any], *, of: str) -> None:
    """Refuse a schema that is none, or that points to another document, with ValueError."""
    kind: Any = validator_for(cast("Any", schema))
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"{of}: no JSON Schema at {error.json_path}") from None
    if any(not target.startswith("#") for target in _targets(schema)):
        raise ValueError(f"{of}: a schema holds all that it points to")


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Say whether a value has the shape; what cannot be checked has not."""
    kind: Any = validator_for(cast("Any", schema))
    nowhere = cast("Any", Registry)()
    try:
        return bool(kind(schema, registry=nowhere).is_valid(value))
    except (Unresolvable, RecursionError):
        return False


def _targets(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for name, value in cast("Mapping[str, Any]", schema).items():
            if name in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from _targets(value)
    elif is_list(schema):
        for value in schema:
            yield from _targets(value)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Say whether a value is a JSON array."""
    return isinstance(value, list)
