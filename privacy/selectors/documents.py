"""What a version of a document would change and do (PR-2, PR-3)."""

from typing import Any

from agentstate.documents import types_of
from agentstate.rules import object_types
from agentstate.selectors import states
from agentstate.types import TypeEffects
from assembly.selectors import metadata as graphs
from history.selectors import metadata as history
from privacy.models import PackageRun
from privacy.rules import documents as rules
from privacy.rules.policies import policy_effect
from privacy.selectors.erasures import open_requests
from privacy.types import FeatureEffect, MaskingEffect, Preview, RetentionEffect
from workspaces import documents
from workspaces.documents import LiveDocument
from workspaces.rules.documents import FEATURES, diff


def preview(kind: str, document: Any, *, drop: tuple[str, ...] = ()) -> Preview:
    """Check a version against its schema and against what is stored, and tell what it would do."""
    live = documents.live(kind)[kind]
    problems = rules.problems(kind, document)
    if problems:
        return Preview(changes=(), problems=tuple(problems))
    changes = tuple(diff(live.body, document))
    if kind == "object-types":
        effects = type_effects(live, document)
        return Preview(changes=changes, problems=tuple(object_types.breaks(effects, drop)), types=effects)
    return Preview(
        changes=changes,
        problems=(),
        features=feature_effects() if kind == "features" else None,
        masking=masking_effect() if kind == "masking" else None,
        retention=retention_effect() if kind == "retention" else None,
        policies=policy_effect(live.body, document) if kind == "assembly-policy" else None,
    )


def type_effects(live: LiveDocument, document: dict[str, Any]) -> TypeEffects:
    """Tell what other object types do to the states that are stored (PR-3)."""
    return object_types.effects(
        types_of(live),
        object_types.parse_types(document),
        states.holdings(),
    )


def masking_effect() -> MaskingEffect:
    """Count what is masked already in the bound workspace: other masking is for what is written after it."""
    held = states.totals()
    return MaskingEffect(states=held.states, profiles=held.profiles, agents=held.agents)


def retention_effect() -> RetentionEffect:
    """Count what of the bound workspace keeps the end that it has."""
    return RetentionEffect(
        packages=PackageRun.objects.filter(status=PackageRun.Status.READY).count(),
        requests=open_requests().count(),
    )


def feature_effects(*, up_to: int | None = None) -> dict[str, FeatureEffect]:
    """Count what each feature holds in the bound workspace; of states no more than a number (CO-13)."""
    held, told, recorded = states.totals(up_to=up_to), history.totals(), graphs.totals()
    effects = {
        "agent_state": FeatureEffect(
            states=held.states,
            bytes=held.bytes,
            profiles=held.profiles,
            agents=held.agents,
            is_capped=held.is_capped,
        ),
        "history": FeatureEffect(sessions=told.sessions, bytes=told.bytes, profiles=told.profiles),
        "context": FeatureEffect(graphs=recorded.graphs, bytes=recorded.bytes, profiles=recorded.profiles),
    }
    return {feature: effects.get(feature, FeatureEffect()) for feature in FEATURES}
