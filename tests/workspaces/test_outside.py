"""Evidence leaves the database: in order, never lost, to a folder or a webhook (PR-15b, PR-22)."""

import hashlib
import hmac
import json
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from pytest_django import Settings

from tests.parallel import at_once
from workspaces import outside
from workspaces.models import Outgoing
from workspaces.tasks import deliver_outside

SECRET = "a-secret-of-at-least-32-characters"


@pytest.fixture
def place(committed: None, tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """A folder with a space in its name that documents are delivered to, and nothing that waits."""
    Outgoing.objects.all().delete()
    settings.CHECKPOINTS_URL = f"file://{tmp_path}/out%20side"
    yield tmp_path / "out side"
    Outgoing.objects.all().delete()


def hand_over(*names: str, kind: str = "erasure", **document: Any) -> None:
    with transaction.atomic():
        for name in names:
            outside.deliver(kind, name, {"name": name, **document})


def test_a_document_arrives_as_a_private_file(place: Path) -> None:
    """PR-22: one file, canonical, for its owner alone; nothing else is left beside it, and nothing waits."""
    hand_over("a/1", b=2, a="ação")
    assert not place.exists()
    deliver_outside()
    file = place / "erasure" / "a" / "1.json"
    assert file.read_text() == '{"a":"ação","b":2,"name":"a/1"}\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path for path in place.rglob("*") if path.is_file()] == [file]
    assert not Outgoing.objects.exists()


def test_what_was_delivered_is_read_back_by_name(place: Path, tmp_path: Path) -> None:
    """PR-15b: the folder gives back what it was given, the whole of a kind or one folder of names."""
    hand_over("b/2", "a/1", "b/1")
    hand_over("c", kind="other")
    outside.deliver_waiting()
    assert [found.name for found in outside.kept("erasure")] == ["a/1", "b/1", "b/2"]
    assert [found.document["name"] for found in outside.kept("erasure", place=place, under="b")] == [
        "b/1",
        "b/2",
    ]
    assert outside.groups("erasure") == ["a", "b"]
    last = outside.last_kept("erasure", under="b")
    assert last is not None
    assert last.name == "b/2"
    assert outside.last_kept("erasure", under="nobody") is None
    assert list(outside.kept("erasure", place=tmp_path / "nowhere")) == []


def test_a_file_that_is_no_document_is_named(place: Path) -> None:
    """PR-15b: a damaged file is an error with its name, and none of its content."""
    (place / "erasure").mkdir(parents=True)
    for content in ("secret content", "[1]"):
        (place / "erasure" / "x.json").write_text(content)
        with pytest.raises(ValueError, match=r"x\.json") as refused:
            list(outside.kept("erasure"))
        assert "secret" not in str(refused.value)


def test_nothing_leaves_without_its_act(place: Path) -> None:
    """PR-22: a transaction that is rolled back leaves nothing, and outside of one nothing is handed over."""
    with transaction.atomic():
        outside.deliver("erasure", "never", {})
        transaction.set_rollback(True)
    assert outside.deliver_waiting() == 0
    with pytest.raises(outside.DeliveredWithoutTransaction):
        outside.deliver("erasure", "never", {})


@pytest.mark.parametrize(
    "name", ["", "../x", "a/../b", "a/b/c", "/etc/x", "a/", ".x", "a b", "x" * 201, "a\x00"]
)
def test_a_name_leads_nowhere_else(place: Path, name: str) -> None:
    """PR-22: a name that would lead out of the folder is refused."""
    with pytest.raises(ValueError, match="plain name"):
        hand_over(name)


def test_a_second_delivery_replaces_nothing(place: Path) -> None:
    """PR-22: the same document twice is one file; another one under the same name stands beside it."""
    hand_over("a", "a", n=1)
    hand_over("a", n=2)
    assert outside.deliver_waiting() == 3
    assert [found.document["n"] for found in outside.kept("erasure")] == [2, 1]


def test_a_folder_that_cannot_be_written_loses_nothing(
    place: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """PR-22: what cannot leave waits, in order, and leaves when the folder is there again."""
    place.write_text("a file where the folder should be")
    hand_over("a", "b", word="canary")
    assert outside.deliver_waiting() == 0
    assert outside.deliver_waiting() == 0
    assert list(Outgoing.objects.order_by("id").values_list("name", "attempts")) == [("a", 2), ("b", 0)]
    assert "document.not_delivered" in caplog.messages
    assert "canary" not in caplog.text
    place.unlink()
    assert outside.deliver_waiting() == 2
    assert [found.name for found in outside.kept("erasure")] == ["a", "b"]


def test_a_crash_after_the_delivery_delivers_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PR-22: a worker that dies between the file and the row leaves both, and the next try changes nothing."""
    hand_over("a")

    def die(*_: Any, **__: Any) -> None:
        raise SystemError("The process ended here.")

    with monkeypatch.context() as patch:
        patch.setattr(Outgoing, "delete", die)
        with pytest.raises(SystemError):
            outside.deliver_waiting()
    assert Outgoing.objects.count() == 1
    assert outside.deliver_waiting() == 1
    assert [found.name for found in outside.kept("erasure")] == ["a"]


def test_without_a_place_everything_waits(place: Path, settings: Settings) -> None:
    """PR-22: a deployment that names no place keeps what should leave, until it names one."""
    named, settings.CHECKPOINTS_URL = settings.CHECKPOINTS_URL, ""
    hand_over("a")
    assert outside.deliver_waiting() == 0
    assert list(outside.kept("erasure")) == []
    settings.CHECKPOINTS_URL = named
    assert outside.deliver_waiting() == 1


def test_workers_at_once_deliver_each_once(place: Path) -> None:
    """PR-22: of four workers one delivers at a time; all of it arrives, once."""
    hand_over(*(f"n{number:02}" for number in range(20)))
    sent: list[str] = []

    class Slow:
        def send(self, kind: str, name: str, document: Any) -> None:
            sent.append(name)

    def work(_: int) -> int:
        count = 0
        while outside._deliver_next(Slow()):
            count += 1
        return count

    at_once(4, work)
    while outside._deliver_next(Slow()):
        pass
    assert sent == [f"n{number:02}" for number in range(20)]


class Hook(BaseHTTPRequestHandler):
    """The other side of a webhook: a real server that keeps what it takes."""

    taken: list[tuple[dict[str, str], bytes]]
    status: int

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server: Any = self.server
        if server.status == 200:
            server.taken.append((dict(self.headers), body))
        self.send_response(server.status)
        if server.status == 302:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hook(place: Path, settings: Settings) -> Iterator[Any]:
    """A webhook on this machine."""
    server: Any = HTTPServer(("127.0.0.1", 0), Hook)
    server.taken, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    settings.CHECKPOINTS_URL = f"http://127.0.0.1:{server.server_port}/in"
    settings.CHECKPOINTS_SECRET = SECRET
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_webhook_gets_what_it_can_check(hook: Any) -> None:
    """PR-22: a POST of JSON whose body the other side authenticates with the shared secret."""
    hand_over("a/1", n=1)
    assert outside.deliver_waiting() == 1
    ((headers, body),) = hook.taken
    assert json.loads(body) == {"kind": "erasure", "name": "a/1", "document": {"n": 1, "name": "a/1"}}
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["Lastro-Signature"] == f"sha256={digest}"
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [204, 201])
def test_any_success_takes_a_document(hook: Any, status: int) -> None:
    """PR-22: every status of 2xx takes it."""
    hook.status = status
    hand_over("a")
    assert outside.deliver_waiting() == 1


@pytest.mark.parametrize("status", [302, 400, 404, 500, 503])
def test_a_webhook_that_refuses_gets_it_again(hook: Any, status: int) -> None:
    """PR-22: what is not taken waits in order, a redirect is not followed, and all of it arrives in the end."""
    hook.status = status
    hand_over("a", "b")
    assert outside.deliver_waiting() == 0
    assert Outgoing.objects.count() == 2
    hook.status = 200
    assert outside.deliver_waiting() == 2
    assert [json.loads(body)["name"] for _, body in hook.taken] == ["a", "b"]


def test_a_webhook_that_is_away_is_tried_again(place: Path, settings: Settings) -> None:
    """PR-22: nobody there is no loss."""
    settings.CHECKPOINTS_URL, settings.CHECKPOINTS_SECRET = "http://127.0.0.1:1/in", SECRET
    hand_over("a")
    assert outside.deliver_waiting() == 0
    assert Outgoing.objects.get().attempts == 1
