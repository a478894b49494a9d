"""The summary that a case gives, put where a host's would be, with the digest of what it says it covers."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lastro.history.contract import View
from lastro.history.errors import DecisionHistoryNotFound, DecisionHistorySummaryInvalid
from lastro.history.records import Outcome, Summary
from lastro.history.sessions import Session
from lastro.history.summaries import require_summary, summary_after
from lastro.history.windows import Exchange, Limits, Window, leaving, window_of
from lastro.testing.cases.case import elements, item_id
from lastro.testing.cases.play import Play

NO_LIMITS = Limits(10**9, 10**9)


def keep_summary(
    play: Play, session: Session, given: Sequence[Mapping[str, Any]], *, limits: Limits = NO_LIMITS
) -> None:
    """Store the first of the given summaries that is one, in the head of the session; none where none is (X10)."""

    def kept(view: View | None) -> Outcome[None]:
        if view is None:
            raise DecisionHistoryNotFound
        summaries = (_summary(play, view, one, limits) for one in given)
        return Outcome(None, head=view.head.with_(summary=next(filter(None, summaries), None)))

    if given:
        session.transact(kept, create=False)


def gone_from(play: Play, session: Session, window: Window, *, leaf: str) -> Sequence[str]:
    """Name the items that left a window for good, oldest first: those that a summary would stand for."""

    def found(view: View | None) -> Outcome[Sequence[str]]:
        if view is None:
            raise DecisionHistoryNotFound
        now, provider = play.stage.clock(), play.case.provider
        gone = leaving(view, window, provider=provider, leaf=leaf or view.head.leaf, now=now)
        return Outcome([item.id for exchange in gone for item in exchange.items])

    return session.transact(found, create=False)


def _summary(play: Play, view: View, given: Mapping[str, Any], limits: Limits) -> Summary | None:
    try:
        text = require_summary(given.get("text"))
    except DecisionHistorySummaryInvalid:
        return None
    ends = given.get("expires_at")
    covered = [item_id(index) for index in elements(given.get("covers"))]
    expires_at = float(ends) if ends is not None else None
    gone = _gone(play, view, limits)
    if gone and [item.id for exchange in gone for item in exchange.items] == covered:
        return summary_after(text, gone, through=covered[-1], expires_at=expires_at)
    return Summary(text, len(covered), _digest(play, covered), covered[-1] if covered else "", expires_at)


def _gone(play: Play, view: View, limits: Limits) -> Sequence[Exchange]:
    now, provider, leaf = play.stage.clock(), play.case.provider, view.head.leaf
    window = window_of(view, provider=provider, leaf=leaf, now=now, limits=limits, repair=play.repair)
    return leaving(view, window, provider=provider, leaf=leaf, now=now)


def _digest(play: Play, covered: Sequence[str]) -> str:
    messages = [play.stored.get(name) for name in covered]
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()
