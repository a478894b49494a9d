"""Masking of the fields of a state: which rule holds for each value, at any depth (PR-5 to PR-7b, WM-14)."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any, Final

import msgspec

from workspaces.masking.policy import (
    FieldRule,
    MaskingPolicy,
    kinds_everywhere,
    kinds_in_declared,
    known_kind,
    strategy_of,
)
from workspaces.masking.scan import Search, search_for
from workspaces.masking.secret_names import secret_kind
from workspaces.masking.text import MaskedText, is_too_long, mask_declared, mask_found, mask_whole

_WRITTEN_AS_STRING = frozenset({"string", "text"})
_MAY_HOLD_STRINGS = frozenset({"any", "list", "object"})
_UNDECLARED = FieldRule(type="text")
# The declared types of which a marker is a value.
_HOLDS_MARKERS = frozenset({"string", "text", "any", "list", "array", "object"})


class Masked(msgspec.Struct, frozen=True):
    """Masked fields, and how many values of each kind were masked in this call (PR-7)."""

    fields: dict[str, Any]
    counts: dict[str, int]


class _Dropped:
    """Stands for a value that leaves nothing behind."""


_DROPPED: Final = _Dropped()


def mask_fields(
    fields: Mapping[str, Any], *, declared: Mapping[str, FieldRule], policy: MaskingPolicy
) -> Masked:
    """Mask the fields of a state before it is stored (PR-5 to PR-7b, WM-14)."""
    masking = _Masking(policy, fields)
    masked: dict[str, Any] = {}
    for name, value in fields.items():
        rule = declared.get(name, _UNDECLARED)
        new_value = masking.field(value, name=name, rule=rule)
        if new_value is not _DROPPED:
            masked[name] = _fitting(new_value, value, rule)
    return Masked(masked, masking.counts)


def _fitting(masked: Any, value: Any, rule: FieldRule) -> Any:
    """Give null where a marker would not be of the declared type, so that a state can be written back (PR-6, WM-14)."""
    return masked if rule.type in _HOLDS_MARKERS or masked == value else None


def mask_text(text: str, *, policy: MaskingPolicy) -> tuple[str, dict[str, int]]:
    """Mask what detectors find in a text of our own, such as a reason; the rest stays (PR-23)."""
    masked = mask_found(text, search=search_for(kinds_in_declared(policy)), policy=policy)
    return masked.text, masked.counts


class _Strings(msgspec.Struct, frozen=True):
    """Every string at any depth, in no order: values, and names of members."""

    values: list[str]
    names: list[str]


def _strings_of(values: Iterable[Any]) -> _Strings:
    found: list[str] = []
    names: list[str] = []
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            names += value
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return _Strings(found, names)


def _is_removal(value: Any) -> bool:
    """Tell whether the value is the word of WM-8 that removes a field, which is never stored."""
    return isinstance(value, dict) and len(value) == 1 and value.get("$delete") is True


class _Masking:
    """One call of `mask_fields`: how each sort of field is walked through, and the counts."""

    def __init__(self, policy: MaskingPolicy, fields: Mapping[str, Any]) -> None:
        self.policy = policy
        self.fields = fields
        self.counts: dict[str, int] = {}
        self.personal = search_for(kinds_in_declared(policy))

    @cached_property
    def undeclared(self) -> "_Walk":
        """Search a field that is not personal for what is held back, where the fields can hold any (PR-7)."""
        strings = self.strings
        held_back = search_for(kinds_everywhere(self.policy)).worth_in([*strings.values, *strings.names])
        mask = partial(mask_found, search=held_back, policy=self.policy)
        return _Walk(self.policy, self.counts, mask, held_back)

    @cached_property
    def strings(self) -> _Strings:
        """List what the fields hold."""
        return _strings_of(self.fields.values())

    @cached_property
    def has_nothing_held_back(self) -> bool:
        """Tell whether no string can hold what is held back everywhere, and no member is secret by its name."""
        return (
            not self.undeclared.search_in_names.detectors
            and not any(map(is_too_long, self.strings.values))
            and not any(is_too_long(name) or secret_kind(name) for name in set(self.strings.names))
        )

    def field(self, value: Any, *, name: str, rule: FieldRule) -> Any:
        """Mask one field by its name and its declaration (PR-5, PR-7b)."""
        if _is_removal(value):
            return value
        secret = secret_kind(name)
        if secret and rule.type in _WRITTEN_AS_STRING:
            return self.undeclared.whole(value, kind=secret)
        if secret and rule.type in _MAY_HOLD_STRINGS:
            return self._of_kind(secret, leaves=bool(rule.pii)).value(value)
        if rule.pii is True:
            return self._declared().value(value)
        if rule.pii:
            return self._personal(value, kind=known_kind(rule.pii))
        return value if self.has_nothing_held_back else self.undeclared.value(value)

    def _personal(self, value: Any, *, kind: str) -> Any:
        walk = self._of_kind(kind, leaves=True)
        dropped = strategy_of(self.policy, kind) == "drop"
        return walk.whole(value, kind=kind) if dropped else walk.value(value)

    def _declared(self) -> "_Walk":
        mask = partial(mask_declared, search=self.personal, policy=self.policy)
        return _Walk(self.policy, self.counts, mask, self.personal, leaf_kind="text")

    def _of_kind(self, kind: str, *, leaves: bool) -> "_Walk":
        mask = partial(mask_whole, kind=kind, policy=self.policy)
        return _Walk(self.policy, self.counts, mask, self.personal, leaf_kind=kind if leaves else None)


class _Name(msgspec.Struct, frozen=True):
    """What becomes of a member's name, and the kind of its value where the name tells."""

    masked: MaskedText
    secret: str | None


class _Walk:
    """How the strings of a field are masked, and which kind its other leaves are, if any."""

    def __init__(
        self,
        policy: MaskingPolicy,
        counts: dict[str, int],
        mask: Callable[[str], MaskedText],
        search_in_names: Search,
        *,
        leaf_kind: str | None = None,
    ) -> None:
        self.policy = policy
        self.counts = counts
        self.mask = mask
        self.search_in_names = search_in_names
        self.leaf_kind = leaf_kind
        self.names: dict[str, _Name] = {}
        self.has_masked_names = False

    def value(self, value: Any) -> Any:
        """Mask a value at any depth."""
        if isinstance(value, str):
            return self._string(value, self.mask)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list | tuple):
            return [masked for item in value if (masked := self.value(item)) is not _DROPPED]
        return value if self.leaf_kind is None else self._leaf(value, kind=self.leaf_kind)

    def whole(self, value: Any, *, kind: str) -> Any:
        """Mask a value as one, whatever it holds: what is not a string becomes null (PR-7b, WM-14)."""
        if isinstance(value, str):
            return self._string(value, partial(mask_whole, kind=kind, policy=self.policy))
        return self._leaf(value, kind=kind)

    def _string(self, text: str, mask: Callable[[str], MaskedText]) -> Any:
        masked = mask(text)
        self._count(masked.counts)
        return masked.text if masked.text or not masked.counts else _DROPPED

    def _leaf(self, value: Any, *, kind: str) -> Any:
        if value is None:
            return None
        self._count({kind: 1})
        return _DROPPED if strategy_of(self.policy, kind) == "drop" else None

    def _count(self, counts: Mapping[str, int]) -> None:
        for kind, count in counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count

    def _object(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Mask the members and their names (PR-7, PR-7b)."""
        for name in members:
            if name not in self.names:
                self.names[name] = self._name(name)
        new_names = self._new_names(members) if self.has_masked_names else {}
        new_members: dict[str, Any] = {}
        for name, value in members.items():
            secret = self.names[name].secret
            new_value = self.whole(value, kind=secret) if secret else self.value(value)
            if new_value is not _DROPPED:
                new_members[new_names.get(name, name)] = new_value
        return new_members

    def _name(self, name: str) -> _Name:
        masked = mask_found(name, search=self.search_in_names, policy=self.policy)
        self.has_masked_names = self.has_masked_names or masked.text != name
        return _Name(masked, secret_kind(name) or secret_kind(masked.text))

    def _new_names(self, members: Iterable[str]) -> dict[str, str]:
        """Number the masked names that would fall together, so that no member is lost."""
        taken = {name for name in members if self.names[name].masked.text == name}
        numbers: dict[str, int] = {}
        new_names: dict[str, str] = {}
        for name in members:
            masked = self.names[name].masked
            self._count(masked.counts)
            if masked.text != name:
                new_names[name] = _free_name(masked.text, taken, numbers)
        return new_names


def _free_name(name: str, taken: set[str], numbers: dict[str, int]) -> str:
    free = name
    while free in taken:
        numbers[name] = numbers.get(name, 1) + 1
        free = f"{name} ({numbers[name]})"
    taken.add(free)
    return free
