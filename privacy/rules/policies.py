"""What other assembly policies would do: what may leave that may not now, and what nobody may name any more (CA-7)."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from lastro.assembly.policy import ANY_ROUTE, Allowed, Policy, allowed, policy_of
from lastro.assembly.records import Privacy
from privacy.types import Opening, PolicyEffect

_MOST_OPEN_FIRST: tuple[Allowed, ...] = get_args(Allowed)
_CLASSES: tuple[Privacy, ...] = get_args(Privacy)


def policy_effect(before: Mapping[str, Any], after: Mapping[str, Any]) -> PolicyEffect:
    """Tell what two versions of the document do otherwise."""
    was, now = _policies(before), _policies(after)
    both = [(was[name], policy) for name, policy in now.items() if name in was]
    return PolicyEffect(
        removed=tuple(name for name in was if name not in now),
        added=tuple(name for name in now if name not in was),
        opened=tuple(opening for pair in both for opening in _openings(*pair, is_more=True)),
        closed=tuple(opening for pair in both for opening in _openings(*pair, is_more=False)),
        lowered=tuple(
            (new.name, rule.tool)
            for old, new in both
            for rule in new.lower_privacy
            if rule not in old.lower_privacy
        ),
    )


def _policies(document: Mapping[str, Any]) -> dict[str, Policy]:
    names = [policy["name"] for policy in document["policies"]]
    return {name: policy_of(document, name=name, version=0) for name in names}


def _openings(was: Policy, now: Policy, *, is_more: bool) -> Iterator[Opening]:
    """Compare by class and route; a route that one version does not name is treated there as any other."""
    for route in dict.fromkeys([*was.routes, *now.routes, ANY_ROUTE]):
        for privacy in _CLASSES:
            before = allowed(was, route=route, privacy=privacy)
            after = allowed(now, route=route, privacy=privacy)
            grows = _MOST_OPEN_FIRST.index(after) - _MOST_OPEN_FIRST.index(before)
            if grows and (grows < 0) == is_more:
                yield Opening(now.name, route, privacy, before, after)
