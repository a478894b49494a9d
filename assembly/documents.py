"""What the live documents say about the runtime graph: its policies, and how long what is kept (CA-9, CA-21)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from assembly.errors import PolicyUnknown
from assembly.types import Bounds
from lastro.assembly import policy as pure
from workspaces.documents import Live, LiveDocument
from workspaces.rules.documents import duration_seconds
from workspaces.selectors.documents import versions

FEATURE = "context"


def bounds_of(live: Live) -> Bounds:
    """Give the bounds of the workspace's `retention` document."""
    return _bounds(live["retention"])


@lru_cache(maxsize=1024)
def _bounds(document: LiveDocument) -> Bounds:
    artifacts = _seconds(document.body["artifacts"])
    memories = _seconds(document.body["memories"])
    return Bounds(
        document=document.version,
        artifacts=artifacts,
        memories=memories,
        assemblies=_seconds(document.body["assemblies"]),
        tombstone_seconds=duration_seconds(document.body["tombstones"]),
        graph_seconds=max(*artifacts.values(), *memories.values()),
    )


def policy_for(live: Live, *, name: str | None, version: int | None) -> pure.Policy:
    """Give a policy by name, in the live version of the document or in one before it (CA-9).

    Without a name it is the first of that version. Raises PolicyUnknown.
    """
    document = live["assembly-policy"]
    if version in (None, document.version):
        return _policy(document.body, name, document.version, "/policy/name")
    row = versions("assembly-policy").filter(version=version).first()
    if row is None:
        raise PolicyUnknown("/policy/version")
    return _policy(row.body, name, row.version, "/policy/name")


def _policy(body: Mapping[str, Any], name: str | None, version: int, pointer: str) -> pure.Policy:
    try:
        return pure.policy_of(body, name=name or body["policies"][0]["name"], version=version)
    except pure.PolicyUnknown as error:
        raise PolicyUnknown(pointer) from error


def _seconds(durations: Mapping[str, str]) -> dict[str, int]:
    return {name: duration_seconds(duration) for name, duration in durations.items()}
