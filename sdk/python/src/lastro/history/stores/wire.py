"""Sessions, items and refusals as they travel between a store and the server (HI-21, SD-11). Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from lastro.errors import LastroError, refusal
from lastro.history.errors import (
    BY_CODE,
    DecisionHistoryBusy,
    DecisionHistoryInvalid,
    DecisionHistoryLimitExceeded,
    DecisionHistoryMessageInvalid,
    DecisionHistoryStorageFailed,
)
from lastro.history.records import Head, Item, NewItem, Pins, SessionKey, Summary


def session_written(key: SessionKey) -> dict[str, str]:
    """Write which session; the namespace narrows the key's source (HI-2)."""
    return {
        "namespace": key.namespace,
        "session_id": key.session_id,
        "run_id": key.run_id,
        "invocation_id": key.invocation_id,
        "agent_ref": key.agent_ref,
    }


def item_written(item: NewItem, *, pointer: str) -> dict[str, Any]:
    """Write an item to append. A time that no calendar has is DecisionHistoryMessageInvalid."""
    return {
        "message": item.message,
        "kind": item.kind,
        "id": item.id,
        "parent": item.parent,
        "key": item.key,
        "provisional": item.provisional,
        "recorded_at": _moment(item.recorded_at, pointer=f"{pointer}/recorded_at"),
        "expires_at": _moment(item.expires_at, pointer=f"{pointer}/expires_at"),
    }


def item_read(item: Mapping[str, Any]) -> Item:
    """Read a stored item."""
    return Item(
        position=item["position"],
        id=item["id"],
        parent=item["parent"],
        message=item["message"],
        kind=item["kind"],
        key=item["key"],
        provisional=item["provisional"],
        recorded_at=_seconds(item["recorded_at"]) or 0.0,
        expires_at=_seconds(item["expires_at"]),
    )


def head_written(head: Head | None) -> dict[str, Any]:
    """Write what an operation may put in a head: pins, summary and names."""
    if head is None:
        return {}
    return {
        "pins": _pins_written(head.pins),
        "summary": _summary_written(head.summary),
        "conversation_id": head.conversation,
        "subject": head.subject or None,
    }


def head_read(head: Mapping[str, Any]) -> Head:
    """Read a head; whom it names stays on the server."""
    pins, summary = head["pins"], head["summary"]
    return Head(
        pins=None if pins is None else Pins(**pins),
        leaf=head["leaf"],
        count=head["count"],
        bytes=head["bytes"],
        summary=None if summary is None else _summary_read(summary),
        created_at=_seconds(head["created_at"]) or 0.0,
        touched_at=_seconds(head["touched_at"]) or 0.0,
    )


def refusal_of(status: int, body: object) -> LastroError:
    """Give the error that stands for an answer of the server that is no success."""
    problem: Mapping[str, Any] = cast("Mapping[str, Any]", body) if isinstance(body, dict) else {}
    code, request_id = str(problem.get("code", "")), problem.get("request_id")
    if code in _TOLD:
        return _TOLD[code](problem, request_id)
    if code in BY_CODE:
        return BY_CODE[code](request_id=request_id)
    if status >= 500 or status == 429:
        return DecisionHistoryStorageFailed(f"{code or 'no answer'} ({status})", request_id=request_id)
    return refusal(code=code, status=status, request_id=request_id)


def _busy(problem: Mapping[str, Any], request_id: str | None) -> LastroError:
    since = _seconds(problem.get("since")) or 0.0
    return DecisionHistoryBusy(since=since, worker=str(problem.get("worker", "")), request_id=request_id)


def _limit(problem: Mapping[str, Any], request_id: str | None) -> LastroError:
    return DecisionHistoryLimitExceeded(
        bound=str(problem.get("bound", "")),
        needed=int(problem.get("needed", 0)),
        allowed=int(problem.get("allowed", 0)),
        calls=tuple(problem.get("calls", ())),
        request_id=request_id,
    )


def _invalid(problem: Mapping[str, Any], request_id: str | None) -> LastroError:
    return DecisionHistoryInvalid(
        rule=str(problem.get("rule", "")),
        item=str(problem.get("item", "")),
        calls=tuple(problem.get("calls", ())),
        request_id=request_id,
    )


def _message(problem: Mapping[str, Any], request_id: str | None) -> LastroError:
    told: list[Mapping[str, Any]] = list(problem.get("errors", ()))
    first: Mapping[str, Any] = told[0] if told else {}
    pointer, reason = str(first.get("pointer", "")), str(first.get("detail", ""))
    if pointer.startswith("/items/"):
        pointer = f"/append/{pointer.removeprefix('/items/')}"
    return DecisionHistoryMessageInvalid(pointer=pointer, reason=reason, request_id=request_id)


_TOLD = {
    DecisionHistoryBusy.code: _busy,
    DecisionHistoryLimitExceeded.code: _limit,
    DecisionHistoryInvalid.code: _invalid,
    DecisionHistoryMessageInvalid.code: _message,
}


def _pins_written(pins: Pins | None) -> dict[str, str] | None:
    if pins is None:
        return None
    return {
        "provider": pins.provider,
        "model": pins.model,
        "interface": pins.interface,
        "content_mode": pins.content_mode,
    }


def _summary_written(summary: Summary | None) -> dict[str, Any] | None:
    if summary is None:
        return None
    return {
        "text": summary.text,
        "covers": summary.covers,
        "digest": summary.digest,
        "through": summary.through,
        "expires_at": _moment(summary.expires_at, pointer="/summary/expires_at"),
    }


def _summary_read(summary: Mapping[str, Any]) -> Summary:
    return Summary(
        text=summary["text"],
        covers=summary["covers"],
        digest=summary["digest"],
        through=summary["through"],
        expires_at=_seconds(summary["expires_at"]),
    )


def _moment(seconds: float | None, *, pointer: str) -> str | None:
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        raise DecisionHistoryMessageInvalid(pointer=pointer, reason="no calendar has this time") from None


def _seconds(moment: object) -> float | None:
    return (
        datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() if isinstance(moment, str) else None
    )
