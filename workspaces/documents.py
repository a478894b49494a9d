"""The live documents of the bound workspace, and whether a feature is on (PR-1, PR-4)."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any
from uuid import UUID

import msgspec

from workspaces import locks
from workspaces.errors import FeatureOff
from workspaces.models import Document, DocumentHead


class LiveDocument(msgspec.Struct, frozen=True):
    """A live version. Versions never change, so anything made from one may be kept by its id."""

    id: UUID
    version: int
    body: Mapping[str, Any]


_KEPT_BODIES = 2048
_bodies: OrderedDict[UUID, LiveDocument] = OrderedDict()
_lock = Lock()


def live(*kinds: str) -> dict[str, LiveDocument]:
    """Give the live versions of some kinds: one query, and one more when a version is new to this process."""
    heads = dict(DocumentHead.objects.filter(kind__in=kinds).values_list("kind", "document_id"))
    found = {document_id: _bodies[document_id] for document_id in heads.values() if document_id in _bodies}
    missing = set(heads.values()) - set(found)
    if missing:
        found |= _keep(Document.objects.filter(id__in=missing))
    return {kind: found[document_id] for kind, document_id in heads.items()}


def hold() -> None:
    """Keep the documents as they are until the transaction ends: what is decided by them stays decided."""
    locks.lock_shared(b"documents")


def hold_alone() -> None:
    """Wait until nobody decides by the documents any more, and keep others waiting: for a publication."""
    locks.lock(b"documents")


def drops(kind: str, live_id: UUID) -> list[tuple[int, str]]:
    """List what versions up to this one took out of what is stored, with the version of each (PR-3)."""
    until = Document.objects.filter(id=live_id).values("version")
    rows = Document.objects.filter(kind=kind, version__lte=until).exclude(drop=[])
    return [(row.version, name) for row in rows.order_by("version") for name in row.drop]


def is_on(features: LiveDocument, feature: str) -> bool:
    """Tell whether the `features` document lists a feature."""
    return feature in features.body["enabled"]


def require_feature(feature: str) -> None:
    """Refuse when the feature is off in the bound workspace (PR-1)."""
    if not is_on(live("features")["features"], feature):
        raise FeatureOff


def _keep(rows: Iterable[Document]) -> dict[UUID, LiveDocument]:
    fresh = {row.id: LiveDocument(id=row.id, version=row.version, body=row.body) for row in rows}
    with _lock:
        _bodies.update(fresh)
        while len(_bodies) > _KEPT_BODIES:
            _bodies.popitem(last=False)
    return fresh
