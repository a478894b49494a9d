"""Requests that are sent again (PL-10): the first answer is remembered for 24 hours, without content."""

import hmac
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from workspaces import encryption
from workspaces.errors import Conflict, InvalidInput
from workspaces.models import RememberedAnswer
from workspaces.services.answers import REMEMBERED_FOR
from workspaces.types import Caller, FieldProblem

MAX_KEY_LENGTH = 256

Handler = Callable[[], Response]


def key_of(request: Request | HttpRequest) -> str | None:
    """Give the request's Idempotency-Key, or refuse one that is empty, too long or not printable."""
    key: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not 0 < len(key) <= MAX_KEY_LENGTH or not key.isascii() or not key.isprintable():
        problem = FieldProblem("", "idempotency_key", "Idempotency-Key takes 1 to 256 printable characters.")
        raise InvalidInput(errors=(problem,))
    return key


def answered_once(request: Request, raw: bytes, handler: Handler) -> Response:
    """Run a handler once for each Idempotency-Key of the caller; a repeat gets the first answer."""
    key = key_of(request)
    if key is None:
        return handler()
    with transaction.atomic():
        admitted: Any = request.auth
        remembered, is_first = _claim(admitted.caller, key, _signature(request, raw))
        if not is_first:
            return Response(remembered.answer, status=remembered.status)
        response = handler()
        remembered.status, remembered.answer = response.status_code, msgspec.to_builtins(response.data)
        remembered.save(update_fields=["status", "answer"])
    return response


def _signature(request: Request, raw: bytes) -> str:
    return f"{request.method} {request.path} {raw.hex()}"


def _claim(caller: Caller, key: str, signature: str) -> tuple[RememberedAnswer, bool]:
    """Insert the row of this key, waiting for another request that is inserting the same one."""
    workspace, owner = caller.workspace, str(caller.source_id or caller.person_id)
    now, name, body = timezone.now(), ("idempotency-key", owner, key), ("idempotent-body", signature)
    before = encryption.previous_hash(workspace, *name)
    earlier = _remembered(before, now=now) if before is not None else None
    if earlier is not None:
        _require_same(earlier, encryption.previous_hash(workspace, *body))
        return earlier, False
    row = RememberedAnswer(
        key_hash=encryption.keyed_hash(workspace, *name),
        body_hash=encryption.keyed_hash(workspace, *body),
        hash_key_id=workspace.hash_key_id,
        made_at=now,
    )
    RememberedAnswer.objects.filter(made_at__lt=now - REMEMBERED_FOR, key_hash=row.key_hash).delete()
    RememberedAnswer.objects.bulk_create([row], ignore_conflicts=True)
    stored = RememberedAnswer.objects.select_for_update().get(key_hash=row.key_hash)
    _require_same(stored, bytes(row.body_hash))
    return stored, stored.id == row.id


def _remembered(name: bytes, *, now: datetime) -> RememberedAnswer | None:
    """Give an answer that was remembered under the hash key before (PL-12)."""
    live = RememberedAnswer.objects.select_for_update().filter(made_at__gte=now - REMEMBERED_FOR)
    return live.filter(key_hash=name).first()


def _require_same(stored: RememberedAnswer, body_hash: bytes | None) -> None:
    if not hmac.compare_digest(bytes(stored.body_hash), body_hash or b""):
        raise Conflict
