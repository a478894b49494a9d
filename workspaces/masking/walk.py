"""Masking of the fields of a state: which rule holds for each value, at any depth (PR-5 to PR-7b, WM-14)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
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
from workspaces.masking.text import MaskedText, mask_declared, mask_found, mask_whole

_WRITTEN_AS_STRING = frozenset({"string", "text"})
_MAY_HOLD_STRINGS = frozenset({"any", "list", "object"})
_UNDECLARED = FieldRule(type="text")


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
    masking = _Masking(policy, _strings_of(fields.values()))
    masked: dict[str, Any] = {}
    for name, value in fields.items():
        new_value = masking.field(value, name=name, rule=declared.get(name, _UNDECLARED))
        if new_value is not _DROPPED:
            masked[name] = new_value
    return Masked(masked, masking.counts)


def mask_text(text: str, *, policy: MaskingPolicy) -> tuple[str, dict[str, int]]:
    """Mask what detectors find in a text of our own, such as a reason; the rest stays (PR-23)."""
    masked = mask_found(text, search=search_for(kinds_in_declared(policy)), policy=policy)
    return masked.text, masked.counts


def _strings_of(values: Iterable[Any]) -> Iterator[str]:
    """Give every string at any depth, names of members too."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value
            yield from _strings_of(value.values())
        elif isinstance(value, list | tuple):
            yield from _strings_of(value)


def _is_removal(value: Any) -> bool:
    """Tell whether the value is the word of WM-8 that removes a field, which is never stored."""
    return isinstance(value, dict) and len(value) == 1 and value.get("$delete") is True


class _Masking:
    """One call of `mask_fields`: how each sort of field is walked through, and the counts."""

    def __init__(self, policy: MaskingPolicy, strings: Iterable[str]) -> None:
        self.policy = policy
        self.counts: dict[str, int] = {}
        self.personal = search_for(kinds_in_declared(policy))
        held_back = search_for(kinds_everywhere(policy)).worth_in(strings)
        self.undeclared = _Walk(
            policy, self.counts, partial(mask_found, search=held_back, policy=policy), held_back
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
        return self.undeclared.value(value)

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
        self.names: dict[str, tuple[MaskedText, str | None]] = {}

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
        """Mask the members and their names, numbering names that would fall together (PR-7)."""
        known = [self._name(name) for name in members]
        taken = {name for name, (masked, _) in zip(members, known, strict=True) if masked.text == name}
        numbers: dict[str, int] = {}
        new_members: dict[str, Any] = {}
        for (name, value), (masked, secret) in zip(members.items(), known, strict=True):
            self._count(masked.counts)
            new_value = self.whole(value, kind=secret) if secret else self.value(value)
            new_name = name if masked.text == name else _free_name(masked.text, taken, numbers)
            if new_value is not _DROPPED:
                new_members[new_name] = new_value
        return new_members

    def _name(self, name: str) -> tuple[MaskedText, str | None]:
        """Answer what becomes of a member's name, and the kind of its value where the name tells (PR-7b)."""
        if name not in self.names:
            masked = mask_found(name, search=self.search_in_names, policy=self.policy)
            self.names[name] = masked, secret_kind(name) or secret_kind(masked.text)
        return self.names[name]


def _free_name(name: str, taken: set[str], numbers: dict[str, int]) -> str:
    free = name
    while free in taken:
        numbers[name] = numbers.get(name, 1) + 1
        free = f"{name} ({numbers[name]})"
    taken.add(free)
    return free
