"""Requests that are sent again (PL-10): the first answer is remembered for 24 hours, without content."""

import hmac
from collections.abc import Callable
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
    owner = str(caller.source_id or caller.person_id)
    body_hash = encryption.keyed_hash(caller.workspace, "idempotent-body", signature)
    row = RememberedAnswer(
        key_hash=encryption.keyed_hash(caller.workspace, "idempotency-key", owner, key),
        body_hash=body_hash,
        made_at=timezone.now(),
    )
    old = RememberedAnswer.objects.filter(made_at__lt=row.made_at - REMEMBERED_FOR)
    old.filter(key_hash=row.key_hash).delete()
    RememberedAnswer.objects.bulk_create([row], ignore_conflicts=True)
    stored: Any = RememberedAnswer.objects.select_for_update().get(key_hash=row.key_hash)
    if not hmac.compare_digest(bytes(stored.body_hash), body_hash):
        raise Conflict
    return stored, stored.id == row.id
