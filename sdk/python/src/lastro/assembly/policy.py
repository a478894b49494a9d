"""An assembly policy: bounds, what may leave on which route, what becomes of the stale (documents.md, CA-7, CA-8).

The document is checked by its JSON Schema where it is published; what a policy does not name counts as the strictest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lastro.assembly.errors import AssemblyError
from lastro.assembly.records.classes import STRICTEST, STRICTNESS, Privacy

Allowed = Literal["raw", "memory", "hint", "never"]
Stale = Literal["omit", "marker"]

ANY_ROUTE = "*"


class PolicyUnknown(AssemblyError):
    """No policy of this name in this version of the document."""

    code = "policy_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """A named rule that lets memories of a tool be less strict than their artifacts, and why (CA-5)."""

    tool: str
    was: Privacy
    to: Privacy
    why: str


_STALE: Mapping[str, Stale] = {"volatile": "omit", "bounded": "marker"}
_ROUTES: Mapping[str, Mapping[str, Allowed]] = {
    ANY_ROUTE: {
        "public": "raw",
        "internal": "memory",
        "personal": "hint",
        "oauth": "never",
        "secret": "never",
    }
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One version of one policy. `version` is the document's; `raw_bytes` bounds what is read of payloads."""

    name: str = "default"
    version: int = 0
    candidates: int = 80
    lineage_depth: int = 64
    raw_bytes: int = 96_000
    repair_attempts: int = 2
    recent_messages: int = 12
    stale: Mapping[str, Stale] = field(default_factory=lambda: dict(_STALE))
    routes: Mapping[str, Mapping[str, Allowed]] = field(default_factory=lambda: dict(_ROUTES))
    lower_privacy: tuple[Lowering, ...] = ()
    conflicts: Literal["show_both"] = "show_both"
    trace_sample: float = 0.0


def allowed(policy: Policy, *, route: str, privacy: str) -> Allowed:
    """Say in which form a privacy class may leave on a route (CA-7).

    A route that is not named is `*`; a class that is not known counts as `secret`; what is not named never leaves.
    """
    forms = policy.routes.get(route) or policy.routes.get(ANY_ROUTE, {})
    return forms.get(privacy if privacy in STRICTNESS else STRICTEST, "never")


def when_stale(policy: Policy, freshness: str) -> Stale:
    """Say what becomes of a stale memory (CA-8): an unknown class is treated as `volatile`; others are marked."""
    if freshness in ("session", "durable", "permanent"):
        return policy.stale.get(freshness, "marker")
    return policy.stale.get(freshness, policy.stale.get("volatile", "omit"))


def policy_of(document: Mapping[str, Any], *, name: str, version: int) -> Policy:
    """Take one policy out of the `assembly-policy` document; raises PolicyUnknown."""
    found = next((policy for policy in document.get("policies", ()) if policy["name"] == name), None)
    if found is None:
        raise PolicyUnknown(name)
    lowerings = tuple(
        Lowering(tool=rule["tool"], was=rule["from"], to=rule["to"], why=rule["why"])
        for rule in found.get("lower_privacy", ())
    )
    members: dict[str, Any] = {**found, "version": version, "lower_privacy": lowerings}
    return Policy(**members)
