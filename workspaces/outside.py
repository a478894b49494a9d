"""Where evidence leaves the database (PR-15b, PR-22): a folder, or a webhook, as CHECKPOINTS_URL says.

A document is handed over inside the transaction of its act, as a row, and a worker delivers the rows in the order in
which they were handed over. Nothing is lost by a crash, and after one a document may be delivered a second time.
"""

import hashlib
import hmac
import logging
import os
import re
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, Protocol
from urllib.parse import unquote, urlsplit

import msgspec
import orjson
import rfc8785
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from workspaces.locks import global_number, try_lock
from workspaces.models import Outgoing

POST_WITHIN_SECONDS = 10
LATE_AFTER = timedelta(minutes=15)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?")
_ONE_AT_A_TIME = global_number(b"outside")

log = logging.getLogger("lastro.outside")


class DeliveredWithoutTransaction(RuntimeError):
    """A document handed over outside the transaction of its act could leave without it, or it without the document."""


class NotDelivered(Exception):
    """The other side did not take a document; it stays, and is tried again."""


class Kept(msgspec.Struct, frozen=True):
    """A document that a folder holds, and the name that it was delivered under."""

    name: str
    document: dict[str, Any]


class Channel(Protocol):
    """A way out. It raises NotDelivered or OSError where a document has not arrived for certain."""

    def send(self, kind: str, name: str, document: Mapping[str, Any]) -> None: ...


def deliver(kind: str, name: str, document: Mapping[str, Any]) -> None:
    """Hand a signed document over, in the transaction of the act that it tells of (PR-15b, PR-22).

    `kind` is a word such as `erasure`. `name` is of letters, digits and `_ . -`, at most 200, in one folder at most
    (`<chain>/<time>`); sorted by name the documents of a folder should be in order. Raises ValueError for other names
    and DeliveredWithoutTransaction. Two transactions at once are delivered by the order of their calls.
    """
    if not connection.in_atomic_block:
        raise DeliveredWithoutTransaction
    if not _NAME.fullmatch(kind) or "/" in kind or not _NAME.fullmatch(name) or len(name) > 200:
        raise ValueError("A document that leaves has a plain name.")
    Outgoing.objects.create(kind=kind, name=name, document=dict(document), made_at=timezone.now())


def deliver_waiting() -> int:
    """Deliver what waits, in order, until nothing is left or one is not taken; give how many were.

    Only one worker at a time does it: the others find nothing to do.
    """
    channel, sent = _channel(), 0
    while channel is not None and _deliver_next(channel):
        sent += 1
    return sent


def is_set_up() -> bool:
    """Tell whether documents leave at all."""
    return bool(settings.CHECKPOINTS_URL)


def is_late(*, now: datetime) -> bool:
    """Tell whether a document has waited for more than a quarter of an hour."""
    return Outgoing.objects.filter(made_at__lt=now - LATE_AFTER).exists()


def folder() -> Path | None:
    """Give the folder that documents are delivered to; None where they leave by a webhook, or not at all."""
    parts = urlsplit(settings.CHECKPOINTS_URL)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def kept(kind: str, *, place: Path | None = None, under: str = "") -> Iterator[Kept]:
    """Read back the delivered documents of a kind, by name; of a webhook there are none.

    `place` is another folder than the deployment's own, `under` the folder of the names. Raises ValueError, with the
    file's name, for a file that is no JSON object, and OSError for one that cannot be read.
    """
    place = place or folder()
    if place is not None:
        for path in sorted((place / kind).glob(f"{under}/*.json" if under else "**/*.json")):
            yield read(path, root=place / kind)


def last_kept(kind: str, *, under: str, place: Path | None = None) -> Kept | None:
    """Read back the last document, by name, of one folder of names."""
    place = place or folder()
    names = sorted(path.name for path in (place / kind / under).glob("*.json")) if place else []
    return read(place / kind / under / names[-1], root=place / kind) if place and names else None


def groups(kind: str, *, place: Path | None = None) -> list[str]:
    """List the folders of names that documents of a kind were delivered under."""
    place = place or folder()
    found = (place / kind).glob("*/") if place else ()
    return sorted(path.name for path in found if path.is_dir())


def read(path: Path, *, root: Path) -> Kept:
    """Read one delivered file. Raises ValueError with its name where it holds no JSON object."""
    try:
        document = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON.") from error
    if not isinstance(document, dict):
        raise ValueError(f"{path} is no document.")
    return Kept(name=str(path.relative_to(root).with_suffix("")), document=document)


def _deliver_next(channel: Channel) -> bool:
    """Deliver the first row, and remove it in the transaction that holds it."""
    with transaction.atomic():
        row = Outgoing.objects.order_by("id").first() if try_lock(_ONE_AT_A_TIME) else None
        if row is None:
            return False
        try:
            channel.send(row.kind, row.name, row.document)
        except (NotDelivered, OSError) as error:
            Outgoing.objects.filter(id=row.id).update(attempts=F("attempts") + 1)
            names = {"kind": row.kind, "row": row.id, "attempts": row.attempts + 1}
            log.error("document.not_delivered", extra=names | {"error": type(error).__name__})
            return False
        row.delete()
    return True


def _channel() -> Channel | None:
    place = folder()
    if place is not None:
        return Folder(place)
    return Webhook(settings.CHECKPOINTS_URL, settings.CHECKPOINTS_SECRET) if is_set_up() else None


class Folder:
    """Files that only their owner reads, never seen half-written, and never replaced by another content."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def send(self, kind: str, name: str, document: Mapping[str, Any]) -> None:
        """Write `<kind>/<name>.json`; where another document has that name, beside it under its own digest."""
        content = rfc8785.dumps(dict(document)) + b"\n"
        path = self._place / kind / f"{name}.json"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _put(path, content):
            digest = hashlib.sha256(content).hexdigest()[:12]
            _put(path.with_name(f"{path.stem}-{digest}.json"), content)


def _put(path: Path, content: bytes) -> bool:
    """Write a file that survives a power cut, unless there is one; tell whether it holds this content now."""
    descriptor, fresh = tempfile.mkstemp(prefix=".", dir=path.parent)  # its mode is 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Not a rename, which would replace what a folder of evidence already holds.
        with suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        Path(fresh).unlink()
    _sync(path.parent)
    return path.read_bytes() == content


def _sync(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A document goes where the deployment says, and nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> NoReturn:
        raise NotDelivered


class Webhook:
    """A POST of `{"kind", "name", "document"}`, with an HMAC-SHA-256 of the body under a shared secret.

    Any status of 2xx takes it. The other side may see a document twice, and drops what it has.
    """

    def __init__(self, url: str, secret: str) -> None:
        self._url, self._secret = url, secret.encode()

    def send(self, kind: str, name: str, document: Mapping[str, Any]) -> None:
        """Post a document and wait for the answer."""
        body = orjson.dumps({"kind": kind, "name": name, "document": document})
        signature = hmac.new(self._secret, body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/json", "Lastro-Signature": f"sha256={signature}"}
        request = urllib.request.Request(self._url, body, headers)  # noqa: S310  (console.env checks it)
        opener = urllib.request.build_opener(_NoRedirects)
        with opener.open(request, timeout=POST_WITHIN_SECONDS) as answer:
            if not 200 <= answer.status < 300:
                raise NotDelivered
