"""What a subject package holds, and how its run and its link are found (PR-18, PR-19)."""

import base64
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.db.models import Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation

from agentstate.documents import types_of
from agentstate.selectors.export import export_subject
from assembly.selectors.export import export_subject as export_graphs
from history.selectors.export import export_subject as export_sessions
from privacy.models import PackageRun
from privacy.rules import packages as rules
from privacy.rules.zips import ZippedFile, ZipStream
from privacy.selectors.naming import scopes_alone
from privacy.types import PackagedHandle, PackageSubject, Shown, Word
from workspaces import access, documents, encryption
from workspaces.errors import KeyDestroyed
from workspaces.models import Handle, Profile
from workspaces.types import Key, WorkspaceRef

WAIT_SECONDS = 4.0
LOOK_AGAIN_SECONDS = 0.1
PAGE, MANIFEST = "index.html", "manifest.json"

_waiting = threading.Lock()


class PackageFile(msgspec.Struct, frozen=True):
    """A JSON Lines file of a package: its records, one a line, and how each is shown to people."""

    name: str
    title: Word
    records: Callable[[PackageSubject], Iterator[Any]]
    shown: Callable[[Any], Shown]


def _handles(subject: PackageSubject) -> Iterator[PackagedHandle]:
    for handle in Handle.objects.filter(id__in=subject.handle_ids).order_by("created_at", "id"):
        yield PackagedHandle(handle.type, handle.hint, handle.created_at)


def _states(subject: PackageSubject) -> Iterator[Any]:
    return export_subject(subject.workspace, subject.handle_ids, subject.live, now=subject.now)


def _history(subject: PackageSubject) -> Iterator[Any]:
    alone = scopes_alone(subject.handle_ids)
    return export_sessions(subject.workspace, subject.handle_ids, subject.live, alone=alone, now=subject.now)


def _graph(subject: PackageSubject) -> Iterator[Any]:
    alone = scopes_alone(subject.handle_ids)
    return export_graphs(subject.workspace, subject.handle_ids, subject.live, alone=alone, now=subject.now)


def _erasures(_subject: PackageSubject) -> Iterator[Any]:
    return iter(())


def _nothing_to_show(_record: Any) -> Shown:
    return Shown(title="", rows=())


FILES: tuple[PackageFile, ...] = (
    PackageFile("handles.jsonl", Word("Identifiers"), _handles, rules.show_handle),
    PackageFile("agent_states.jsonl", Word("Working memory of agents"), _states, rules.show_state),
    PackageFile("history.jsonl", Word("Conversation history"), _history, rules.show_history),
    PackageFile("graph.jsonl", Word("Runs of agents"), _graph, rules.show_graph),
    PackageFile("erasures.jsonl", Word("Erasures"), _erasures, _nothing_to_show),
)
"""What a package has of each kind of data. A new kind is a line here."""


class Contents:
    """The zip of one package as it is written, its page in a language; `step` names the file that is being written."""

    def __init__(self, subject: PackageSubject, *, package_id: UUID, language: str = "") -> None:
        self.step, self._language = "", language
        self._subject, self._package_id = subject, str(package_id)
        self._zip, self._gathered = ZipStream(subject.now), rules.Gathered()

    @property
    def files(self) -> list[ZippedFile]:
        """List the files that are complete."""
        return self._zip.files

    def parts(self) -> Iterator[bytes]:
        """Give the bytes of the zip; memory holds one record and what the page shows."""
        for file in FILES:
            yield from self._add(file.name, self._lines(file))
        yield from self._add(PAGE, iter([self._page()]))
        yield from self._add(MANIFEST, iter([self._manifest()]))
        yield from self._zip.end()

    def _add(self, name: str, parts: Iterator[bytes]) -> Iterator[bytes]:
        self.step = name
        yield from self._zip.add(name, parts)

    def _lines(self, file: PackageFile) -> Iterator[bytes]:
        for record in file.records(self._subject):
            self._gathered.note(file.name, record, file.shown(record))
            yield msgspec.json.encode(record) + b"\n"

    def _page(self) -> bytes:
        titles = {file.name: file.title for file in FILES}
        context = {
            "subject": self._subject,
            "package_id": self._package_id,
            "sections": rules.sections(self._gathered, titles),
        }
        with translation.override(self._language or settings.LANGUAGE_CODE):
            return render_to_string("package/index.html", context).encode()

    def _manifest(self) -> bytes:
        return rules.manifest(
            self._subject,
            package_id=self._package_id,
            files=self.files,
            gathered=self._gathered,
            types=types_of(self._subject.live["object-types"]),
        )


def subject_of(workspace: WorkspaceRef, profile_id: UUID, *, now: datetime) -> PackageSubject:
    """Find a person with all their handles, and the documents in force. Raises NotFound."""
    profile = access.one(Profile, id=profile_id)
    handles = Handle.objects.filter(profile_id=profile.id, erasure_id=None).order_by("created_at", "id")
    return PackageSubject(
        workspace=workspace,
        profile_id=profile.id,
        pseudonym=profile.pseudonym,
        handle_ids=tuple(handles.values_list("id", flat=True)),
        live=documents.live(),
        now=now,
    )


def runs() -> QuerySet[PackageRun]:
    """List the packages of the bound workspace with the people whose they are."""
    return PackageRun.objects.select_related("profile")


def runs_in_state(state: str, *, now: datetime) -> QuerySet[PackageRun]:
    """List the packages that are `open`, `ready`, `expired`, `revoked` or `failed` at a moment; else all of them."""
    is_over = Q(status=PackageRun.Status.READY, expires_at__lte=now)
    chosen = {
        "open": Q(status__in=PackageRun.OPEN),
        "ready": Q(status=PackageRun.Status.READY, expires_at__gt=now),
        "expired": Q(status=PackageRun.Status.EXPIRED) | is_over,
        "revoked": Q(status=PackageRun.Status.REVOKED),
        "failed": Q(status=PackageRun.Status.FAILED),
    }
    return runs().filter(chosen.get(state, Q()))


def find_run(run_id: UUID) -> PackageRun:
    """Give a package. Raises NotFound."""
    return access.one(runs(), id=run_id)


def counts_of(run: PackageRun) -> dict[str, int]:
    """Count the records of each file of a package; nothing before it is built."""
    return {file["name"]: file["records"] for file in run.files if file["name"].endswith(".jsonl")}


def await_run(run_id: UUID, *, is_patient: bool = True) -> PackageRun:
    """Give a package as soon as it is built, and as it is after 4 seconds or while another call of this process waits.

    It asks the database every tenth of a second; one thread of the process at most is kept so.
    """
    if not (is_patient and _waiting.acquire(blocking=False)):
        return find_run(run_id)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while (run := find_run(run_id)).status in PackageRun.OPEN and time.monotonic() < until:
            time.sleep(LOOK_AGAIN_SECONDS)
        return run
    finally:
        _waiting.release()


def link_of(workspace: WorkspaceRef, run: PackageRun) -> str:
    """Give the link of a package, or nothing where it opens nothing (any more).

    The token is derived from the package's own key: it is stored nowhere, the same as long as no fresh link is asked
    for, and gone with the key.
    """
    if run.status_at(timezone.now()) != PackageRun.Status.READY:
        return ""
    try:
        token = token_of(encryption.open_key(workspace, run.data_key_id), run)
    except KeyDestroyed:
        return ""
    return f"{settings.LASTRO_BASE_URL}{reverse('package-download', args=[run.id])}?token={token}"


def token_of(key: Key, run: PackageRun) -> str:
    """Derive the 256-bit token of a package's present link from the package's key."""
    secret = encryption.mac(key, "package-link", f"{run.id} {run.link}".encode())
    return base64.urlsafe_b64encode(secret).rstrip(b"=").decode()


def token_hash(token: str) -> bytes:
    """Hash a token as it is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def chunk_context(run: PackageRun) -> tuple[object, ...]:
    """Say what the chunks of a package are bound to, beside their index and whether they are the last (PL-12)."""
    return (run.workspace_id, "privacy_packagechunk", run.id, run.data_key_id)
