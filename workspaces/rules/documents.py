"""The five documents of a workspace: their schemas, their problems, what changed (PR-2, PR-3)."""

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from typing import Any

import msgspec
import phonenumbers
import rfc8785
from jsonschema import Draft202012Validator, ValidationError, validators

from workspaces.errors import InvalidInput
from workspaces.rules.json import compact, pointer
from workspaces.types import FieldProblem

KINDS = ("features", "object-types", "masking", "retention", "assembly-policy")
FEATURES = ("agent_state", "history", "context")
PRIVACY_CLASSES = ("public", "internal", "personal", "oauth", "secret")

# A hostile document has as many problems as it has characters.
MAX_PROBLEMS = 1000

DEFAULTS: dict[str, dict[str, Any]] = {
    "features": {"enabled": []},
    "object-types": {"types": []},
    "masking": {
        "regions": ["BR", "US"],
        "kinds": {
            "email": "partial",
            "phone": "partial",
            "card": "redact",
            "gov_id": "hash",
            "iban": "redact",
            "ip": "redact",
            "name": "redact",
            "address": "redact",
            "secret": "redact",
            "cvv": "drop",
            "password": "redact",
            "text": "redact",
        },
        "detect_in_declared_pii": ["email", "phone", "card", "gov_id", "iban", "ip", "secret"],
        "held_back_everywhere": ["card", "cvv", "password", "secret"],
    },
    "retention": {
        "history": {"idle": "24h", "max_age": "30d", "max_sessions": 100_000, "max_store_bytes": 10 * 2**30},
        "artifacts": {"succeeded": "30d", "failed": "90d", "audit": "1y"},
        "memories": {
            "volatile": "1d",
            "session": "7d",
            "bounded": "30d",
            "durable": "180d",
            "permanent": "1y",
        },
        "assemblies": {"summary": "30d", "trace": "7d"},
        "packages": "24h",
        "tombstones": "400d",
        "audit": "7y",
        "regime": "LGPD",
    },
    "assembly-policy": {
        "policies": [
            {
                "name": "default",
                "candidates": 80,
                "lineage_depth": 64,
                "raw_bytes": 96_000,
                "repair_attempts": 2,
                "recent_messages": 12,
                "stale": {"volatile": "omit", "bounded": "marker"},
                "routes": {
                    "*": {
                        "public": "raw",
                        "internal": "memory",
                        "personal": "hint",
                        "oauth": "never",
                        "secret": "never",
                    }
                },
                "lower_privacy": [],
                "conflicts": "show_both",
                "trace_sample": 0.01,
            }
        ]
    },
}

_Path = tuple[str | int, ...]

_DURATION = re.compile("([1-9][0-9]{0,5}h|[1-9][0-9]{0,4}d|[1-9][0-9]?y)")
_SECONDS = {"h": 3600, "d": 86_400, "y": 365 * 86_400}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Change(msgspec.Struct, frozen=True):
    """One difference between two versions; a removed member's pointer is into the version before."""

    pointer: str
    op: str
    before: Any = None
    after: Any = None


def schema(kind: str) -> dict[str, Any]:
    """Give the JSON Schema of a kind of document."""
    found: dict[str, Any] = json.loads(_schema_text(kind))
    return found


def problems(kind: str, document: Any) -> list[FieldProblem]:
    """Find everything wrong with a document at once, each with its pointer (WM-3, PR-3)."""
    found = itertools.chain(
        _unprintable(document),
        itertools.chain.from_iterable(map(_translated, _validator(kind).iter_errors(document))),
        _CROSS_CHECKS.get(kind, _no_cross_check)(document),
    )
    return list(dict.fromkeys(itertools.islice(found, MAX_PROBLEMS)))


def duration_seconds(text: str) -> int:
    """Read a duration of a document: hours, days, or years of 365 days."""
    if not _DURATION.fullmatch(text):
        raise InvalidInput("A duration is a whole number of hours, days or years, such as 24h, 30d or 1y.")
    return int(text[:-1]) * _SECONDS[text[-1]]


def is_duration(value: Any) -> bool:
    """Tell whether a value is a duration of a document."""
    return isinstance(value, str) and _DURATION.fullmatch(value) is not None


def digest(document: Any) -> str:
    """Give the SHA-256 of a valid document, the same however it was written (RFC 8785)."""
    return hashlib.sha256(rfc8785.dumps(document)).hexdigest()


def diff(before: Any, after: Any) -> list[Change]:
    """List what changed, member by member.

    Members of a list are matched by their `type` or `name`, or as words of a set, so that one put in front
    changes nothing else.
    """
    return list(_differences(before, after, ()))


@functools.cache
def _schema_text(kind: str) -> str:
    return (resources.files("workspaces") / "schemas" / f"{kind}.json").read_text("utf-8")


@functools.cache
def _validator(kind: str) -> Any:
    return _Validator(schema(kind))


def _whole_pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    """Match the whole string: Python's `$` also matches before a last line break."""
    if validator.is_type(instance, "string") and not re.fullmatch(pattern, instance):
        yield ValidationError("pattern")


def _unique_items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Compare in linear time: the library's way is quadratic for items that cannot be sorted."""
    is_checked = wanted and validator.is_type(instance, "array")
    if is_checked and len({compact(item) for item in instance}) < len(instance):
        yield ValidationError("uniqueItems")


_Validator = validators.extend(
    Draft202012Validator, {"pattern": _whole_pattern, "uniqueItems": _unique_items}
)


def _listed(expected: Any) -> str:
    words = [expected] if isinstance(expected, str) else expected
    return ", ".join(json.dumps(word) if isinstance(word, bool) else str(word) for word in words)


# The library's own messages quote the document; these only say what is expected (PL-8).
_SENTENCES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "type": ("wrong_type", lambda expected: f"Must be of type {_listed(expected).replace(', ', ' or ')}."),
    "enum": ("unknown_value", lambda expected: f"Must be one of: {_listed(expected)}."),
    "pattern": ("wrong_form", lambda expected: f"Must have the form {expected}"),
    "contains": ("required", lambda expected: f"Must contain {expected['const']}."),
    "uniqueItems": ("not_unique", lambda _: "Must not hold the same thing twice."),
    "minLength": ("too_short", lambda least: f"Must have {least} or more characters."),
    "maxLength": ("too_long", lambda most: f"Must have at most {most} characters."),
    "minItems": ("too_short", lambda least: f"Must have {least} or more entries."),
    "maxItems": ("too_long", lambda most: f"Must have at most {most} entries."),
    "minProperties": ("too_short", lambda least: f"Must have {least} or more members."),
    "maxProperties": ("too_long", lambda most: f"Must have at most {most} members."),
    "minimum": ("too_small", lambda least: f"Must be at least {least}."),
    "maximum": ("too_large", lambda most: f"Must be at most {most}."),
}


def _translated(error: Any) -> Iterator[FieldProblem]:
    """Say in our words what the library found, and at each member apart."""
    path = tuple(error.absolute_path)
    expected: Any = error.validator_value
    if error.validator == "additionalProperties":
        for name in error.instance.keys() - error.schema["properties"].keys():
            yield FieldProblem(pointer(*path, name), "unknown_member", "There is no such member.")
    elif error.validator == "required":
        for name in expected:
            if name not in error.instance:
                yield FieldProblem(pointer(*path, name), "required", "This member is required.")
    else:
        code, sentence = _SENTENCES[error.validator]
        named = (error.instance,) if "propertyNames" in error.absolute_schema_path else ()
        detail = f"The name: {sentence(expected)}" if named else sentence(expected)
        yield FieldProblem(pointer(*path, *named), code, detail)


def _unprintable(document: Any) -> Iterator[FieldProblem]:
    """Refuse control characters anywhere: no database text holds a NUL."""
    for path, text in _texts(document, ()):
        if _UNPRINTABLE.search(text):
            yield FieldProblem(
                pointer(*path), "control_character", "Control characters are not allowed here."
            )


def _texts(value: Any, path: _Path) -> Iterator[tuple[_Path, str]]:
    if isinstance(value, str):
        yield path, value
    for part, inner in _members(value):
        if isinstance(part, str):
            yield (*path, part), part
        yield from _texts(inner, (*path, part))


def _members(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _object(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _array(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _no_cross_check(_document: Any) -> Iterator[FieldProblem]:
    return iter(())


def _masking_problems(document: Any) -> Iterator[FieldProblem]:
    """Check the regions, and that a kind that is held back everywhere keeps nothing of the value (PR-7)."""
    for index, region in enumerate(_array(document, "regions")):
        if isinstance(region, str) and re.fullmatch("[A-Z]{2}", region) and not _is_region(region):
            yield FieldProblem(pointer("regions", index), "unknown_value", "There is no such country.")
    kinds = _object(document, "kinds")
    for kind in ("email", "phone", "gov_id", "iban", "ip"):
        if kind in _array(document, "held_back_everywhere") and kinds.get(kind) in ("partial", "hash"):
            detail = "A kind that is held back everywhere is redacted or dropped."
            yield FieldProblem(pointer("kinds", kind), "not_allowed", detail)


def _is_region(region: str) -> bool:
    return region in phonenumbers.SUPPORTED_REGIONS


def _retention_problems(document: Any) -> Iterator[FieldProblem]:
    """Check that nothing ends after what it belongs to."""
    for section, shorter, longer in (("history", "idle", "max_age"), ("assemblies", "trace", "summary")):
        times = [_object(document, section).get(name) for name in (shorter, longer)]
        seconds = [duration_seconds(str(time)) for time in times if is_duration(time)]
        if len(seconds) == 2 and seconds[0] > seconds[1]:
            yield FieldProblem(pointer(section, shorter), "too_large", f"Must be at most {longer}.")


def _policy_problems(document: Any) -> Iterator[FieldProblem]:
    """Check that policies are told apart by name and that privacy is lowered, not raised (CA-5)."""
    names: list[Any] = []
    for index, policy in enumerate(_array(document, "policies")):
        name = policy.get("name") if isinstance(policy, dict) else None
        if name in names and isinstance(name, str):
            yield FieldProblem(
                pointer("policies", index, "name"), "not_unique", "Another policy has this name."
            )
        names.append(name)
        yield from _lowering_problems(policy, ("policies", index, "lower_privacy"))


def _lowering_problems(policy: Any, path: _Path) -> Iterator[FieldProblem]:
    for index, rule in enumerate(_array(policy, "lower_privacy")):
        if not _is_lowering(rule):
            yield FieldProblem(pointer(*path, index, "to"), "not_allowed", "Must be less strict than from.")


def _is_lowering(rule: Any) -> bool:
    """Leave rules of a wrong shape to the schema."""
    classes = [rule.get(name) for name in ("to", "from")] if isinstance(rule, dict) else []
    ranks = [PRIVACY_CLASSES.index(found) for found in classes if found in PRIVACY_CLASSES]
    return len(ranks) < 2 or ranks[0] < ranks[1]


_CROSS_CHECKS: dict[str, Callable[[Any], Iterator[FieldProblem]]] = {
    "masking": _masking_problems,
    "retention": _retention_problems,
    "assembly-policy": _policy_problems,
}


def _differences(before: Any, after: Any, path: _Path) -> Iterator[Change]:
    was, now = _entries(before, after), _entries(after, before)
    if was is None or now is None:
        if not _is_same(before, after):
            yield Change(pointer(*path), "changed", before, after)
        return
    if was.keys() == now.keys() and list(was) != list(now) and isinstance(after, list):
        yield Change(pointer(*path), "changed", before, after)
    for key, (part, value) in was.items():
        if key in now:
            yield from _differences(value, now[key][1], (*path, now[key][0]))
        else:
            yield Change(pointer(*path, part), "removed", before=value)
    for key, (part, value) in now.items():
        if key not in was:
            yield Change(pointer(*path, part), "added", after=value)


def _entries(value: Any, other: Any) -> dict[Any, tuple[str | int, Any]] | None:
    """Give the members of an object or a list by what they are matched by, none for anything else."""
    if isinstance(value, dict) and isinstance(other, dict):
        return {name: (name, inner) for name, inner in value.items()}
    if isinstance(value, list) and isinstance(other, list):
        keys, other_keys = _keys(value), _keys(other)
        is_matched = _is_each_once(keys) and _is_each_once(other_keys)
        return {keys[i] if is_matched else i: (i, inner) for i, inner in enumerate(value)}
    return None


def _keys(entries: list[Any]) -> list[Any]:
    return [_key(entry) for entry in entries]


def _key(entry: Any) -> Any:
    """Match an object by its type or name and a word by itself; nothing else."""
    if isinstance(entry, dict):
        return entry.get("type", entry.get("name"))
    return None if isinstance(entry, list) else (type(entry), entry)


def _is_each_once(keys: list[Any]) -> bool:
    hashable = [key for key in keys if isinstance(key, str | tuple)]
    return len(set(hashable)) == len(keys)


def _is_same(before: Any, after: Any) -> bool:
    return bool(before == after) and isinstance(before, bool) == isinstance(after, bool)
