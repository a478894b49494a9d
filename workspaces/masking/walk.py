"""Masking of the fields of a state: which rule holds for each value, at any depth (PR-5 to PR-7b, WM-14)."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, Literal

import msgspec

from workspaces.masking.glance import Glance, glance_at
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
from workspaces.masking.text import MaskedText, mask_declared, mask_found, mask_whole

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
    masking = _Masking(policy, fields, declared)
    masked: dict[str, Any] = {}
    for name, value in fields.items():
        rule = masking.rule(name)
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


def _is_removal(value: Any) -> bool:
    """Tell whether the value is the word of WM-8 that removes a field, which is never stored."""
    return isinstance(value, dict) and len(value) == 1 and value.get("$delete") is True


class _Masking:
    """One call of `mask_fields`: how each sort of field is walked through, and the counts."""

    def __init__(
        self, policy: MaskingPolicy, fields: Mapping[str, Any], declared: Mapping[str, FieldRule]
    ) -> None:
        self.policy = policy
        self.fields = fields
        self.declared = declared
        self.counts: dict[str, int] = {}
        self.personal = search_for(kinds_in_declared(policy))
        self.everywhere = search_for(kinds_everywhere(policy))
        self._strings: _Walk | Literal["needless"] | None = None

    def strings(self) -> "_Walk | Literal['needless']":
        """Search the plain strings among the fields that are not personal, where any may hold something (PR-7)."""
        if self._strings is None:
            values = [
                value
                for name, value in self.fields.items()
                if isinstance(value, str) and not self.rule(name).pii
            ]
            self._strings = self._others(values)
        return self._strings

    def rule(self, name: str) -> FieldRule:
        """Give what is declared of a field."""
        return self.declared.get(name, _UNDECLARED)

    def field(self, value: Any, *, name: str, rule: FieldRule) -> Any:
        """Mask one field by its name and its declaration (PR-5, PR-7b)."""
        if _is_removal(value):
            return value
        secret = secret_kind(name)
        if secret and rule.type in _WRITTEN_AS_STRING:
            return self._of_kind(secret, leaves=False).whole(value, kind=secret)
        if secret and rule.type in _MAY_HOLD_STRINGS:
            return self._of_kind(secret, leaves=bool(rule.pii)).value(value)
        if rule.pii is True:
            return self._declared(value).value(value)
        if rule.pii:
            return self._personal(value, kind=known_kind(rule.pii))
        return self._not_personal(value)

    def _not_personal(self, value: Any) -> Any:
        """Search a field for what is held back everywhere; strings are glanced at together, each tree alone (PR-7)."""
        if not isinstance(value, str | dict | list | tuple):
            return value
        walk = self.strings() if isinstance(value, str) else self._others([value])
        return value if walk == "needless" else walk.value(value)

    def _others(self, values: list[Any]) -> "_Walk | Literal['needless']":
        seen = self._seen_in(values, self.everywhere)
        if seen.is_clean:
            return "needless"
        mask = partial(mask_found, search=seen.search, policy=self.policy)
        return _Walk(self.policy, self.counts, mask, seen.search)

    def _declared(self, value: Any) -> "_Walk":
        search = self.personal if isinstance(value, str) else self._seen_in([value], self.personal).search
        mask = partial(mask_declared, search=search, policy=self.policy)
        return _Walk(self.policy, self.counts, mask, search, leaf_kind="text")

    def _seen_in(self, values: list[Any], search: Search) -> Glance:
        return glance_at(values, search=search, regions=self.policy.regions)

    def _personal(self, value: Any, *, kind: str) -> Any:
        walk = self._of_kind(kind, leaves=True)
        dropped = strategy_of(self.policy, kind) == "drop"
        return walk.whole(value, kind=kind) if dropped else walk.value(value)

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
        if not masked.counts:
            return masked.text
        self._count(masked.counts)
        return masked.text or _DROPPED

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
