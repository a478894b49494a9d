"""The summary that a case gives, put where a host's would be, with the digest of what it says it covers."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lastro.history.contract import View
from lastro.history.errors import DecisionHistoryNotFound, DecisionHistorySummaryInvalid
from lastro.history.formats import is_instruction
from lastro.history.records import Outcome, Summary
from lastro.history.sessions import Session
from lastro.history.summaries import require_summary, summary_after
from lastro.history.windows import Exchange, Limits, Window, leaving, window_of
from lastro.testing.cases.case import elements, item_id, members
from lastro.testing.cases.play import Play

NO_LIMITS = Limits(10**9, 10**9)


def keep_summary(play: Play, session: Session, given: Sequence[Any], *, limits: Limits = NO_LIMITS) -> None:
    """Store the first of the given summaries that is one, in the head of the session; none where none is (X10)."""

    def kept(view: View | None) -> Outcome[None]:
        if view is None:
            raise DecisionHistoryNotFound
        summaries = (_summary(play, view, one, limits) for one in given)
        return Outcome(None, head=view.head.with_(summary=next(filter(None, summaries), None)))

    if given:
        session.transact(kept, create=False)


def given_summaries(play: Play, named: Any) -> Sequence[Any]:
    """Give the summaries of a window, in the order in which a host would try them.

    Where the steps never say when there is one, those that the input has.
    """
    if named is None and not play.case.summarizes_itself:
        named = next((name for name in ("summary_attempts", "summary") if name in play.case.input), None)
    member = named.removeprefix("input.") if isinstance(named, str) else ""
    found: Any = play.case.input.get(member, named)
    return elements(found) or ([found] if found else [])


def try_summary(play: Play, session: Session, given: Sequence[Any]) -> None:
    """Keep a summary, or raise what a host is told: it is none, or covers no whole beginning (X10)."""
    path = [
        name for name in play.path_to(session) if not is_instruction(play.case.provider, play.stored[name])
    ]
    for one in given:
        require_summary(_text(one))
        covered = _covered(one)
        if covered is not None and path[: len(covered)] != covered:
            raise DecisionHistorySummaryInvalid("it covers no beginning of the conversation")
    keep_summary(play, session, given, limits=_next_limits(play))


def _next_limits(play: Play) -> Limits:
    """Give the limits of the next window, whose loss a summary is made for."""
    coming = (step.args for step in play.case.steps[len(play.ran) - 1 :] if step.do == "window")
    args: Mapping[str, Any] = next(coming, members(None))
    return Limits(int(args.get("maxMessages", 10**9)), int(args.get("maxBytes", 10**9)))


def gone_from(play: Play, session: Session, window: Window, *, leaf: str) -> Sequence[str]:
    """Name the items that left a window for good, oldest first: those that a summary would stand for."""

    def found(view: View | None) -> Outcome[Sequence[str]]:
        if view is None:
            raise DecisionHistoryNotFound
        now, provider = play.stage.clock(), play.case.provider
        gone = leaving(view, window, provider=provider, leaf=leaf or view.head.leaf, now=now)
        return Outcome([item.id for exchange in gone for item in exchange.items])

    return session.transact(found, create=False)


def _summary(play: Play, view: View, given: Any, limits: Limits) -> Summary | None:
    try:
        text = require_summary(_text(given))
    except DecisionHistorySummaryInvalid:
        return None
    ends = members(given).get("expires_at")
    expires_at = float(ends) if ends is not None else None
    gone = _gone(play, view, limits)
    left = [item.id for exchange in gone for item in exchange.items]
    covered = _covered(given)
    if gone and covered in (left, None):
        return summary_after(text, gone, through=left[-1], expires_at=expires_at)
    covered = covered or []
    return Summary(text, len(covered), _digest(play, covered), covered[-1] if covered else "", expires_at)


def _text(given: Any) -> Any:
    """Give what a host's summarizer said, None where it failed."""
    if isinstance(given, str):
        return given
    found = members(given)
    return next((found[name] for name in ("text", "summary", "output", "returns") if name in found), None)


def _covered(given: Any) -> list[str] | None:
    """Name what a summary says that it covers, None where it does not say."""
    covers = members(given).get("covers")
    return None if covers is None else [item_id(index) for index in elements(covers)]


def _gone(play: Play, view: View, limits: Limits) -> Sequence[Exchange]:
    now, provider, leaf = play.stage.clock(), play.case.provider, view.head.leaf
    window = window_of(view, provider=provider, leaf=leaf, now=now, limits=limits, repair=play.repair)
    return leaving(view, window, provider=provider, leaf=leaf, now=now)


def _digest(play: Play, covered: Sequence[str]) -> str:
    messages = [play.stored.get(name) for name in covered]
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()
