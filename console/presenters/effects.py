"""What a change would do, in rows and sentences, before it is confirmed (PR-2, PR-3, CO-5)."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agentstate.types import TypeEffects
from privacy.types import FeatureEffect, MaskingEffect, Opening, PolicyEffect, Preview, RetentionEffect
from workspaces.rules.documents import Change as Difference

_COUNTS = ("agents", "states", "sessions", "graphs", "profiles")
_FEATURE_ON = gettext_lazy(
    "%(name)s is turned on within a second. States that can be reached again: %(states)s, sessions of history:"
    " %(sessions)s, graphs of conversations: %(graphs)s, profiles: %(profiles)s."
)
_FEATURE_OFF = gettext_lazy(
    "%(name)s is turned off: agents get 404 feature_off within a second. Agents that use it: %(agents)s, states that"
    " become unreachable and stay stored: %(states)s, sessions of history: %(sessions)s, graphs of conversations:"
    " %(graphs)s, profiles: %(profiles)s."
)

_KEEPS = {"drop": 0, "redact": 1, "hash": 2, "partial": 3}
"""How much of a value each strategy keeps."""
_RETENTION = {
    "packages": gettext_lazy(
        "Packages that are built from then on end by it. Those that are ready keep their end: %(packages)s."
    ),
    "tombstones": gettext_lazy(
        "What is erased, deleted or expires from then on is remembered for that long. A backup that is older could"
        " bring back what was erased."
    ),
    "audit": gettext_lazy(
        "The next prune_audit removes what is older by then, and cannot undo it. Until then all of it is there."
    ),
    "regime": gettext_lazy(
        "Requests that come from then on have its deadlines. Open ones keep theirs: %(requests)s."
    ),
}
_POLICY_OPENS = gettext_lazy(
    "Policy %(policy)s lets more leave on %(route)s: of what is %(privacy)s, %(before)s becomes %(after)s."
)
_POLICY_CLOSES = gettext_lazy(
    "Policy %(policy)s lets less leave on %(route)s: of what is %(privacy)s, %(before)s becomes %(after)s."
)
_POLICY_LOWERS = gettext_lazy(
    "Policy %(policy)s makes memories of %(tool)s less strict than their artifacts."
)
_POLICY_ENDS = gettext_lazy("Policy %(policy)s ends: requests that name it get 422 policy_unknown.")
_POLICY_BEGINS = gettext_lazy("Policy %(policy)s is new: requests may name it.")
_POLICIES_STAY = gettext_lazy(
    "Requests that name no version are decided by it from the publication on. Assemblies that are kept stay explained"
    " by their own version."
)
_RETENTION_OF_OTHERS = gettext_lazy("%(member)s: it holds from the publication on.")


class ShownChange(msgspec.Struct, frozen=True):
    pointer: str
    before: str
    after: str
    breaking: bool


class Effect(msgspec.Struct, frozen=True):
    tone: str
    text: str


class Check(msgspec.Struct, frozen=True):
    """What a check of a draft found."""

    problems: tuple[Any, ...]
    changes: list[ShownChange]
    effects: list[Effect]


def check_of(found: Preview) -> Check:
    """Put what a version would change and do into rows and sentences."""
    lost = tuple(f"/fields/{gone.field}" for gone in found.types.removed) if found.types else ()
    changes = [
        ShownChange(
            pointer=change.pointer,
            before=short(change.before),
            after=short(change.after),
            breaking=change.op == "removed" and change.pointer.endswith(lost),
        )
        for change in found.changes
    ]
    return Check(problems=found.problems, changes=changes, effects=_effects(found))


def _effects(found: Preview) -> list[Effect]:
    if found.types is not None:
        return _effects_of_types(found.types)
    if found.features is not None:
        return _effects_of_features(found.changes, found.features)
    if found.masking is not None:
        return _effects_of_masking(found.changes, found.masking)
    if found.retention is not None:
        return _effects_of_retention(found.changes, found.retention)
    if found.policies is not None:
        return _effects_of_policies(found.policies)
    return [Effect(tone="info", text=_("It holds for what is written from the publication on."))]


def _effects_of_masking(changes: Iterable[Difference], held: MaskingEffect) -> list[Effect]:
    """Say first where more of a value is kept than before, then what stays as it is (PR-5)."""
    effects = [effect for change in changes if (effect := _looser(change)) is not None]
    text = _(
        "Agents that write are masked by it within a second: %(agents)s. States keep what they hold until the field is"
        " written again: %(states)s, profiles: %(profiles)s. What was masked before cannot be shown again."
    )
    return [*effects, Effect(tone="info", text=text % msgspec.structs.asdict(held))]


def _looser(change: Difference) -> Effect | None:
    _root, member, *rest = change.pointer.split("/")
    if member == "kinds" and change.op == "changed" and _KEEPS[change.after] > _KEEPS[change.before]:
        text = _("More of each %(kind)s is kept than before: %(before)s becomes %(after)s.")
        words = {"kind": rest[0], "before": change.before, "after": change.after}
        return Effect(tone="warn", text=text % words)
    if member == "detect_in_declared_pii" and change.op == "removed":
        text = _("%(kind)s is not looked for any more in fields that are declared as personal data.")
        return Effect(tone="warn", text=text % {"kind": change.before})
    return None


def _effects_of_retention(changes: Iterable[Difference], held: RetentionEffect) -> list[Effect]:
    """Say of each member that changes from when on it holds, and what keeps the end that it has (PR-20)."""
    named = dict.fromkeys(change.pointer.split("/")[1] for change in changes)
    words = msgspec.structs.asdict(held)
    return [
        Effect(
            tone="info",
            text=str(_RETENTION.get(member, _RETENTION_OF_OTHERS)) % {**words, "member": member},
        )
        for member in named
    ]


def _effects_of_policies(found: PolicyEffect) -> list[Effect]:
    """Say first what may leave that may not now, then what no request may name any more, then what stays (CA-7)."""
    warned = [
        *(_opening(_POLICY_OPENS, opening) for opening in found.opened),
        *(str(_POLICY_LOWERS) % {"policy": policy, "tool": tool} for policy, tool in found.lowered),
        *(str(_POLICY_ENDS) % {"policy": policy} for policy in found.removed),
    ]
    said = [
        *(_opening(_POLICY_CLOSES, opening) for opening in found.closed),
        *(str(_POLICY_BEGINS) % {"policy": policy} for policy in found.added),
        str(_POLICIES_STAY),
    ]
    return [
        *(Effect(tone="warn", text=text) for text in warned),
        *(Effect(tone="info", text=text) for text in said),
    ]


def _opening(text: Any, opening: Opening) -> str:
    route = _("any other route") if opening.route == "*" else opening.route
    return str(text) % {**msgspec.structs.asdict(opening), "route": route}


def _effects_of_features(changes: Iterable[Difference], held: Mapping[str, FeatureEffect]) -> list[Effect]:
    """Say of each feature that is switched whom it touches (PR-2)."""
    effects = []
    for change in (change for change in changes if change.op != "changed"):
        feature, on = str(change.after or change.before), change.op == "added"
        words = {"name": feature, **{name: getattr(held[feature], name) for name in _COUNTS}}
        text = _FEATURE_ON if on else _FEATURE_OFF
        effects.append(Effect(tone="info" if on else "warn", text=str(text) % words))
    return effects


def _effects_of_types(found: TypeEffects) -> list[Effect]:
    """Put the effects into sentences: what is lost first."""
    texts = [
        *(
            (
                "bad",
                _("%(name)s is dropped. States that lose it at the next sweep: %(states)s.")
                % {"name": f"{lost.type}.{lost.field}", "states": lost.states},
            )
            for lost in found.removed
        ),
        *(
            (
                "warn",
                _("The agent %(agent)s has no type any more. Its states that are not served: %(states)s.")
                % {"agent": lost.agent, "states": lost.states},
            )
            for lost in found.untyped
        ),
        *(
            (
                "warn",
                _("%(name)s is declared otherwise. States whose values stay as they are: %(states)s.")
                % {"name": f"{changed.type}.{changed.field}", "states": changed.states},
            )
            for changed in found.changed
        ),
        *(
            (
                "warn",
                _("%(name)s gets tighter. States that it touches: %(states)s.")
                % {"name": f"{cut.type} {cut.limit}", "states": cut.states},
            )
            for cut in found.shortened
        ),
    ]
    return [Effect(tone=tone, text=text) for tone, text in texts]


def short(value: Any) -> str:
    """Give the beginning of a value, for a column."""
    return "" if value is None else json.dumps(value, ensure_ascii=False)[:200]
