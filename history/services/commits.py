"""The end of a decision: what it adds and where the head stands, at once (HI-21)."""

from datetime import datetime

from django.db import transaction

from history import access, encryption
from history.errors import HistoryMessageInvalid, answered
from history.models import Item, Session
from history.rules import sessions as rules
from history.selectors.items import position_of
from history.selectors.sessions import pins_of
from history.services import lives
from history.services.appends import extend, opens_turn_of
from history.services.names import name_session
from history.services.reservations import reserved_session
from history.types import Appended, CommitWish, Naming, Place, Retention, SummaryValue
from lastro.history.stores.encoding import decoded
from lastro.history.summaries import require_summary
from workspaces.types import FieldProblem, Key, WorkspaceRef

MAX_SUMMARY_BYTES = 65_536


@transaction.atomic
def commit(*, place: Place, wish: CommitWish, retention: Retention, now: datetime) -> Appended:
    """Store what a decision leaves and end its reservation, atomically (HI-3, HI-21).

    Raises what an append raises, and HistorySummaryInvalid; then the reservation stands and nothing was stored.
    """
    session, key = reserved_session(place, wish.token, retention, now=now)
    rules.require_pins(pins_of(session), wish.pins)
    key = name_session(place.workspace, session, wish.naming, key, now=now)
    _pin(place.workspace, session, key, wish)
    added = extend(place, session, key, wish.items, retention, now=now)
    _move(session, key, wish.leaf)
    if wish.summary is not None:
        _summarize(place.workspace, session, key, wish.summary)
    if added.stored or _says_more(wish):
        session.is_kept = True
        lives.touch(session, retention, now=now)
    if not session.is_kept:
        lives.drop(place.workspace, session)
        return added
    lives.free(session)
    session.save()
    return added


def _says_more(wish: CommitWish) -> bool:
    """Tell whether a decision leaves anything but items."""
    return bool(wish.leaf or wish.pins or wish.summary or wish.naming != Naming())


def _pin(workspace: WorkspaceRef, session: Session, key: Key, wish: CommitWish) -> None:
    """Pin what the first decision says; from then on it is known of each message whether it opens a turn."""
    if wish.pins is None or session.provider:
        return
    session.provider, session.model = wish.pins.provider, wish.pins.model
    session.interface, session.content_mode = wish.pins.interface, wish.pins.content_mode
    rows = list(access.items_of(session).filter(opens_turn=None, is_swept=False))
    for row in rows:
        message = decoded(bytes(encryption.open_item(workspace, row, key).message))
        row.opens_turn = opens_turn_of(session, message)
    Item.objects.bulk_update(rows, ["opens_turn"])


def _move(session: Session, key: Key, leaf: str) -> None:
    """Let the branch end at another item: what follows from then on makes another branch."""
    if not leaf:
        return
    position = position_of(session, key, leaf)
    if position is None:
        problem = FieldProblem("/leaf", "not_found", "names no message here")
        raise HistoryMessageInvalid(errors=(problem,))
    session.is_branched = session.is_branched or position != session.leaf
    session.leaf = position


def _summarize(workspace: WorkspaceRef, session: Session, key: Key, summary: SummaryValue) -> None:
    """Keep another summary; whether it covers what left is asked by each window that would serve it (HI-19)."""
    with answered():
        require_summary(summary.text, max_bytes=MAX_SUMMARY_BYTES)
    session.summary_version += 1
    session.summary_expires_at = summary.expires_at
    encryption.seal_summary(workspace, session, summary, key)
