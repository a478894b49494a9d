"""The live documents of the bound workspace, and whether a feature is on (PR-1, PR-4).

`live` asks the database; `served` asks the hot store first, for requests that must not wait for a database (WM-19).
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any
from uuid import UUID

import msgspec

from workspaces import coherence, grants, locks
from workspaces.binding import bound_workspace_id
from workspaces.errors import FeatureOff
from workspaces.hotstore import Name, Seen, name_of
from workspaces.models import Document, DocumentHead


class LiveDocument(msgspec.Struct, frozen=True, array_like=True):
    """A live version. Versions never change, so anything made from one may be kept by its id.

    `drops` lists what versions up to this one took out of what is stored, with the version of each (PR-3).
    """

    id: UUID
    version: int
    body: Mapping[str, Any]
    drops: tuple[tuple[int, str], ...] = ()

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiveDocument) and other.id == self.id


Live = Mapping[str, LiveDocument]
"""The live versions by kind."""
Heads = dict[str, UUID]

_KEPT_BODIES = 2048
_bodies: OrderedDict[UUID, LiveDocument] = OrderedDict()
_lock = Lock()


def live(*kinds: str) -> dict[str, LiveDocument]:
    """Give the live versions of some kinds: one query, and one more when a version is new to this process."""
    rows = DocumentHead.objects.filter(kind__in=kinds) if kinds else DocumentHead.objects.all()
    return _at(dict(rows.values_list("kind", "document_id")), is_hot=False)


def served(seen: Seen | None = None) -> dict[str, LiveDocument]:
    """Give the live versions of every kind, from the hot store where it has them (WM-19)."""
    name = heads_name(bound_workspace_id())
    seen = seen if seen is not None else coherence.look(name)
    return _at(grants.served(name, seen, Heads, _stored_heads), is_hot=True)


def versions(heads: Heads) -> dict[str, LiveDocument]:
    """Give the versions that are named as live by kind."""
    return _at(heads, is_hot=True)


def heads_name(workspace_id: UUID) -> Name:
    """Name the list of a workspace's live versions in the hot store."""
    return name_of("d", workspace_id.bytes)


def hold() -> None:
    """Keep the documents as they are until the transaction ends: what is decided by them stays decided."""
    locks.lock_shared(hold_number())


def hold_number() -> int:
    """Give the number of the lock that `hold` shares, for a database function that takes it."""
    return locks.number(b"documents")


def hold_alone() -> None:
    """Wait until nobody decides by the documents any more, and keep others waiting: for a publication."""
    locks.lock(hold_number())
    coherence.changing(heads_name(bound_workspace_id()))


def is_on(features: LiveDocument, feature: str) -> bool:
    """Tell whether the `features` document lists a feature."""
    return feature in features.body["enabled"]


def require_feature(feature: str, documents: Live | None = None) -> None:
    """Refuse when the feature is off in the bound workspace (PR-1)."""
    if not is_on((documents or live("features"))["features"], feature):
        raise FeatureOff


def _stored_heads() -> Heads:
    return dict(DocumentHead.objects.values_list("kind", "document_id"))


def _at(heads: Heads, *, is_hot: bool) -> dict[str, LiveDocument]:
    return {kind: _version(document_id, is_hot=is_hot) for kind, document_id in heads.items()}


def _version(document_id: UUID, *, is_hot: bool) -> LiveDocument:
    """Give a version, which never changes: from this process, else the hot store, else the database."""
    known = _bodies.get(document_id)
    if known is not None:
        return known
    return _keep(_hot_version(document_id) if is_hot else _stored_version(document_id))


def _hot_version(document_id: UUID) -> LiveDocument:
    name = name_of("b", document_id.bytes)
    return grants.served(name, coherence.look(name), LiveDocument, lambda: _stored_version(document_id))


def _stored_version(document_id: UUID) -> LiveDocument:
    row = Document.objects.get(id=document_id)
    return LiveDocument(row.id, row.version, row.body, drops=_drops(row))


def _drops(row: Document) -> tuple[tuple[int, str], ...]:
    earlier: Iterable[Document] = Document.objects.filter(kind=row.kind, version__lte=row.version).exclude(
        drop=[]
    )
    return tuple(sorted((document.version, name) for document in earlier for name in document.drop))


def _keep(document: LiveDocument) -> LiveDocument:
    with _lock:
        _bodies[document.id] = document
        while len(_bodies) > _KEPT_BODIES:
            _bodies.popitem(last=False)
    return document
