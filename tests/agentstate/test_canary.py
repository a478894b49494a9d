"""Content is nowhere but in the answer to a read: not in a log, a metric, a table, a cache or a refusal (WM-24, WM-0).

A word that nobody else uses is written into every kind of content, through a real server, on every way that succeeds
and every way that is refused or fails. Then everything that the deployment wrote down is searched for it.
"""

import base64
import json
import re
import secrets
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import valkey
from django.conf import settings
from django.db import connection, transaction

from agentstate.access import place_of
from agentstate.models import State
from tests import factories
from tests.agentstate import canary
from tests.agentstate.canary import Place, found
from tests.agentstate.rows import row_of
from tests.agentstate.threads import apart, in_parallel
from tests.api import Answer, InProcess, OverHttp
from tests.assembly import canary as assembly
from tests.factories import order_type
from tests.history import canary as history
from tests.server import Server, database_url_of_tests
from tests.stores import forget_hot_store
from workspaces import access
from workspaces.scopes import scope_of
from workspaces.types import WorkspaceRef

PROJECT = Path(__file__).resolve().parents[2]
METRICS_TOKEN = "token-of-the-metrics"
TASKS_ONLY = {
    "type": "tasks_only",
    "version": "1",
    "ownership": "agent",
    "fields": {"remark": {"type": "string"}},
    "agent_state": {"scopes": ["task"]},
}


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "text": str.encode,
    "capitals": lambda text: text.upper().encode(),
    "hexadecimal": lambda text: text.encode().hex().encode(),
    "base64": lambda text: base64.b64encode(text.encode()),
    "UTF-16": lambda text: text.encode("utf-16-le"),
}


class Words(msgspec.Struct, frozen=True):
    """What is seeded: a word for every text, a phone number, and a word that may stand in clear."""

    content: str
    phone: str
    clear: str

    @property
    def hidden(self) -> tuple[str, ...]:
        """List what must be found nowhere."""
        return self.content, f"11{self.phone}", f"{self.phone[:5]}-{self.phone[5:]}"


class Drive:
    """A workspace, its callers, and every answer that was given to them."""

    def __init__(self, server: Server, words: Words) -> None:
        self.api, self.words = OverHttp(server.url, None), words
        self.workspace = factories.make_ready_workspace("Canario", order_type(), TASKS_ONLY)
        self.answers: list[Answer] = []
        factories.switch(self.workspace, "history", on=True)
        factories.switch(self.workspace, "context", on=True)
        self.key = factories.make_key(self.workspace, "agent_state", "admin", "history", "context")
        self.agent = f"order-taker-{words.clear}"
        self.scope = {"kind": "conversation", "id": f"c-{words.content}"}
        types = [order_type(agents=["order-taker", self.agent]), TASKS_ONLY]
        factories.publish_types(self.workspace, *types)

    def call(
        self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str
    ) -> Answer:
        """Send one request on a connection of its own, and keep its answer."""
        own = {"Authorization": f"Bearer {self.key if key is None else key}", "Connection": "close"}
        answer = self.api.call(method, path, body, **own, **headers)
        self.answers.append(answer)
        return answer

    def write(self, body: Any = None, **members: Any) -> dict[str, Any]:
        base = {"scope": self.scope, "agent": self.agent, "mode": "merge_by_key"}
        return {**base, "body": {"remark": self.words.content} if body is None else body, **members}

    def put(self, body: Any, **headers: str) -> Answer:
        return self.call("PUT", "/v1/agent-state", body, **headers)

    def read(self, scope: dict[str, str] | None = None) -> Answer:
        """Read a state: the one answer that may say what is in it, so it is not kept."""
        answer = self.call(
            "POST", "/v1/agent-state/read", {"scope": scope or self.scope, "agent": self.agent}
        )
        return self.answers.pop() if answer.status == 200 else answer


@pytest.fixture(scope="module")
def words() -> Words:
    """Words of this run."""
    return Words(
        content=f"canary{secrets.token_hex(8)}",
        phone=f"9{secrets.randbelow(10**8):08d}",
        clear=f"seeded{secrets.token_hex(8)}",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server's log and its metrics are."""
    made = tmp_path_factory.mktemp("canary")
    (made / "metrics").mkdir()
    return made


@pytest.fixture(scope="module")
def quick_to_give_up(
    folder: Path, django_db_setup: None, django_db_blocker: Any, _deployment_key: None
) -> Iterator[Server]:
    """A server that logs all it can, counts in one folder, and waits for a lock for half a second only."""
    with django_db_blocker.unblock():
        url = database_url_of_tests()
    options = "options=-c%20lock_timeout%3D500ms"
    running = Server(
        folder,
        DATABASE_URL=f"{url}&{options}" if "?" in url else f"{url}?{options}",
        LASTRO_LOG_LEVEL="DEBUG",
        LASTRO_METRICS_TOKEN=METRICS_TOKEN,
        PROMETHEUS_MULTIPROC_DIR=str(folder / "metrics"),
    ).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def drive(quick_to_give_up: Server, words: Words, django_db_blocker: Any) -> Drive:
    """Everything driven once, with the word in it."""
    with django_db_blocker.unblock():
        drive = Drive(quick_to_give_up, words)
        succeed(drive)
        be_refused(drive)
        fail(drive)
        history.play(drive.call, drive.answers, drive.words.content, drive.words.phone)
        history.damage(drive.call, drive.workspace, drive.words.content)
        assembly.play(drive.call, drive.words.content, drive.words.phone)
        assembly.damage(drive.call, drive.workspace, drive.words.content)
    return drive


def succeed(drive: Drive) -> None:
    """Write the word into every kind of content, in each way that is stored or answered."""
    word, phone = drive.words.content, f"+55 11 {drive.words.phone[:5]}-{drive.words.phone[5:]}"
    everything = {
        "cart": [word, {word: [word]}],
        "total": {"amount": "12.50", "currency": "BRL"},
        "delivery": {word: word, "deep": [{"er": {word: word}}]},
        "phone": phone,
        "note": f"{word} and {word}@example.com",
        "remark": word,
        "anything": {word: word, "password": word, "token": word},
    }
    person = {"type": "phone_e164", "value": phone}
    stored(drive.put(drive.write(everything, subject=person), **{"Idempotency-Key": word}))
    stored(drive.put(drive.write(everything, subject=person), **{"Idempotency-Key": word}))
    assert word in json.dumps(drive.read().body)
    named = ("email", f"{word}@example.com"), ("app_user_id", word), ("email_domain", f"{word}.example")
    for kind, value in named:
        stored(drive.put(drive.write(scope={"kind": "subject", "id": f"{kind}:{value}"})))
        found = drive.call("POST", "/v1/profiles/search", {"query": value, "type": kind}).body["items"]
        assert drive.call("GET", f"/v1/profiles/{found[0]['profile_id']}/agent-state").body["items"]
    system = {"type": "system_id", "scope": f"crm-{word}", "value": word}
    stored(drive.put(drive.write(scope={"kind": "task", "id": f"t-{word}"}, subject=system)))
    stored(drive.put(drive.write(scope={"kind": "object", "id": f"order:{word}:{word}"})))
    stored(drive.put(drive.write(mode="cas", if_version=1)))
    assert drive.put(drive.write({word: word})).body["reason"] == "not_declared_field"
    assert drive.put(drive.write({"remark": word * 300})).body["reason"] == "over_cap"
    gone = {"kind": "conversation", "id": f"gone-{word}"}
    stored(drive.put(drive.write(scope=gone)))
    removal = {"scope": gone, "agent": drive.agent}
    assert drive.call("POST", "/v1/agent-state/delete", removal, **{"Idempotency-Key": f"d{word}"}).body[
        "deleted"
    ]
    items = [{"type": "event", "text": word, "phone": phone}]
    assert drive.call("POST", "/v1/batch", {"items": items}, **{"Idempotency-Key": f"b{word}"}).status == 200
    assert drive.call("POST", "/v1/ingest/status", {"conversation_id": word}).status == 200


def stored(answer: Answer) -> None:
    assert answer.status == 200, answer.body
    assert answer.body["stored"], answer.body


def be_refused(drive: Drive) -> None:
    """Send the word in every way that the API refuses, and see that each is refused as what it is."""
    word, body = drive.words.content, drive.write()
    raw = json.dumps(body).encode()
    other = {"type": "email", "value": f"other-{word}@example.com"}
    narrow = factories.make_key(drive.workspace, agents=("upsell",))
    no_scope = factories.make_key(drive.workspace, "context")
    feature_off = factories.make_key(factories.make_workspace("Apagado"))
    headers = {
        "User-Agent": word,
        "Cookie": f"{word}={word}",
        "Accept-Language": word,
        "Referer": word,
    }
    refusals: list[tuple[str, Answer]] = [
        ("agent_state_conflict", drive.put(drive.write(if_version=77, subject=None))),
        ("subject_mismatch", drive.put(drive.write(subject=other))),
        ("conflict", drive.put(drive.write(), **{"Idempotency-Key": word})),
        ("scope_kind_not_declared", drive.put(drive.write(agent="tasks_only"))),
        ("invalid_field_value", drive.put(drive.write({"qty": word, "step": word}))),
        ("invalid_field_value", drive.put(drive.write({"total": {"amount": word, "currency": word}}))),
        ("invalid_input", drive.put(drive.write(**{word: word}))),
        ("invalid_input", drive.put(drive.write(mode=word, scope={"kind": word, "id": word, word: 1}))),
        ("invalid_input", drive.put(drive.write(subject={"type": "phone_e164", "value": word}))),
        ("invalid_input", drive.put(drive.write({"remark": {"$delete": True}, word: word}, mode="cas"))),
        ("invalid_input", drive.put(drive.write(written_at=word, if_version=word))),
        ("invalid_input", drive.put([word])),
        ("invalid_input", drive.put(body, **{"Idempotency-Key": word * 20})),
        ("invalid_json", drive.put(raw[:-1])),
        ("invalid_json", drive.put(raw.replace(b'"agent"', b'"mode": 1, "agent"'))),
        ("invalid_json", drive.put(f'{{"{word}": {word}}}'.encode())),
        ("invalid_json", drive.put(raw.replace(word.encode(), word.encode() + b"\xff"))),
        ("unsupported_media_type", drive.put(body, **{"Content-Type": f"text/{word}"})),
        ("payload_too_large", drive.put(word.encode() * 100_000)),
        ("unauthenticated", drive.call("PUT", "/v1/agent-state", body, key=word)),
        ("unauthenticated", drive.call("PUT", "/v1/agent-state", body, key=f"lst_{word}_{word}")),
        ("scope_missing", drive.call("PUT", "/v1/agent-state", body, key=no_scope)),
        ("agent_not_allowed", drive.call("PUT", "/v1/agent-state", body, key=narrow)),
        ("feature_off", drive.call("PUT", "/v1/agent-state", body, key=feature_off)),
        ("method_not_allowed", drive.call("PATCH", f"/v1/agent-state?{word}={word}", body, **headers)),
        ("method_not_allowed", drive.call(word.upper(), "/v1/agent-state", body)),
        ("not_found", drive.call("GET", f"/v1/agent-state/{word}", **{"X-Request-Id": f"<{word}>"})),
        ("not_found", drive.call("GET", f"/v1/profiles/{word}/agent-state")),
        ("invalid_input", drive.call("POST", "/v1/profiles/search", {"query": word, "type": word})),
        ("invalid_input", drive.call("POST", "/v1/agent-state/delete", {"scope": word, "agent": word, word: 1})),
        ("invalid_input", drive.call("POST", "/v1/ingest/status", {word: word})),
    ]  # fmt: skip
    assert [(code, answer.code) for code, answer in refusals if answer.code != code] == []
    assert drive.call("POST", f"/{word}", body, **headers).status == 404
    assert drive.call("GET", f"/metrics?{word}", key=word).status == 404
    assert drive.call("GET", "/console/", Host=word).status == 400


def fail(drive: Drive) -> None:
    """Let the server itself fail with the word in its hands: at a damaged row, and at a lock that it does not get."""
    word = drive.words.content
    damaged = {"kind": "conversation", "id": f"damaged-{word}"}
    stored(drive.put(drive.write({"remark": word, "phone": f"+5511{drive.words.phone}"}, scope=damaged)))
    damage(drive.workspace, damaged, drive.agent)
    for answer in (drive.read(damaged), drive.put(drive.write(scope=damaged))):
        assert (answer.status, answer.code) == (500, "stored_data_damaged")
    with transaction.atomic(), access.bound(drive.workspace.id):
        State.objects.select_for_update().get(id=row_of(drive.workspace, drive.scope, drive.agent).id)
        (answer,) = in_parallel([lambda: apart(lambda: drive.put(drive.write()))])
    assert (answer.status, answer.code) == (503, "unavailable")


def damage(workspace: WorkspaceRef, scope: dict[str, str], agent: str) -> None:
    """Turn one byte of a ciphertext."""
    row = row_of(workspace, scope, agent)
    with access.bound(workspace.id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agentstate_state SET body = set_byte(body, 20, 255 - get_byte(body, 20)) WHERE id = %s",
            [row.id],
        )
    forget_hot_store()


def metrics(drive: Drive) -> Place:
    """Ask for the metrics as who has their token."""
    answer = drive.api.http.get("/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"})
    assert answer.status_code == 200
    return Place("/metrics", answer.content)


def answers(drive: Drive) -> Iterator[Place]:
    for number, answer in enumerate(drive.answers):
        yield Place(
            f"answer {number}", f"{answer.status} {answer.headers} {json.dumps(answer.body)}".encode()
        )


def test_every_column_of_every_table(drive: Drive, words: Words, committed: None) -> None:
    """WM-24, WM-5, HI-23, PL-6, PR-5: no table holds content, an id or a handle; an agent's name may stand in clear."""
    places = list(canary.database())
    assert found([words.clear], places)
    kept = {
        "agentstate_state.body",
        "history_item.body",
        "history_session.summary",
        "workspaces_auditentry.facts",
    }
    assert kept <= {place.name for place in places if place.held}
    assert found(words.hidden, places) == []


def test_the_log_of_the_server(drive: Drive, words: Words, folder: Path) -> None:
    """WM-24, PL-11: at its most talkative it names routes and errors, and never what was sent."""
    drive.call("GET", "/v1/sources/me", **{"X-Request-Id": words.clear})
    log = Place("server.log", (folder / "server.log").read_bytes())
    assert found([words.clear], [log])
    for told in (b"request.answered", b"agent-state-read", b"history-commit", b"request.failed", b"Tampered"):
        assert told in log.held
    assert found(words.hidden, [log]) == []


def test_the_metrics(drive: Drive, words: Words, folder: Path) -> None:
    """WM-24, PL-11: neither what is answered nor the files of the two processes."""
    counted = [metrics(drive), *canary.files(folder / "metrics")]
    assert len(counted) > 2
    assert b"agent-state" in counted[0].held
    assert found(words.hidden, counted) == []


def test_the_hot_store(drive: Drive, words: Words, committed: None) -> None:
    """WM-24, WM-20: no name and no value of the hot store or the broker, where the states are; what we put is found."""
    drive.read()
    with valkey.Valkey.from_url(settings.HOT_STORE_URL) as store:
        store.set(f"tests:{words.clear}", words.clear.encode().hex())
        places = list(canary.hot_store())
        store.delete(f"tests:{words.clear}")
    name = place_of(drive.workspace, scope_of(drive.workspace, **drive.scope), drive.agent).name
    assert [place for place in places if place.held.startswith(name.entry + b" ")]
    assert found([words.clear], places)
    assert found(words.hidden, places) == []


def test_the_files_of_the_services(drive: Drive, words: Words) -> None:
    """WM-24, PR-5: no file of PostgreSQL, its logs and journals included, nor of Valkey; an agent's name is found."""
    folders = canary.folders_of_the_services()
    if not folders:
        pytest.skip("The services are not embedded: their files are elsewhere.")
    clear, hidden = [], []
    for place in canary.files(*folders):
        clear += found([words.clear], [place])
        hidden += found(words.hidden, [place])
    assert clear
    assert hidden == []


def test_every_other_answer(drive: Drive, words: Words) -> None:
    """WM-24, HI-12, PL-8: no answer but the reads of a state and a session: no write, no refusal and no failure."""
    given = list(answers(drive))
    statuses = {answer.status for answer in drive.answers}
    assert statuses >= {200, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 500, 503}
    assert found([words.clear], given)
    assert found(words.hidden, given) == []


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_the_search_finds(encoding: str, before: str) -> None:
    """WM-24: the search can fail: the word is found in each form, wherever in the bytes it begins."""
    held = [Place("here", ENCODINGS[encoding](f"{before}canary0f\n"))]
    assert found(["canary0f"], held)
    assert found(["canary1f"], held) == []


def test_no_route_but_its_own(db: None) -> None:
    """WM-0: in the whole API only the read answers content and only the write takes it; there is no tool among them."""
    paths = InProcess(None).get("/v1/openapi.json").body["paths"]
    assert routes_with(paths, "StateRead") == {("post", "/v1/agent-state/read")}
    assert routes_with(paths, "WriteState") == {("put", "/v1/agent-state")}
    assert not any(word in path for path in paths for word in ("mcp", "tool"))


def routes_with(paths: dict[str, Any], schema: str) -> set[tuple[str, str]]:
    """Name the operations that take or answer a schema of the OpenAPI document."""
    return {
        (method, path)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if f'/{schema}"' in json.dumps(operation)
    }


def test_nobody_else_opens_a_body() -> None:
    """WM-0: no page, export, history or context can show content, since none of them has the means to open it."""
    openers = {"read_state", "open_plain", "open_body", "life_of"}
    elsewhere = {"console", "privacy", "history", "assembly", "workspaces"}
    users = {
        path.relative_to(PROJECT).parts[0]
        for app in (*elsewhere, "agentstate")
        for path in (PROJECT / app).rglob("*.py")
        if openers & set(re.findall(r"\w+", path.read_text()))
    }
    assert users == {"agentstate"}


def test_no_protocol_of_tools() -> None:
    """WM-0: the server has no library of a protocol by which a model calls tools."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[^A-Za-z0-9_.-]", line)[0].lower() for line in project["dependencies"]}
    assert "django" in names
    # A tokenizer that is named after whose vocabulary it has.
    names -= {"bpe-openai"}
    assert not {name for name in names if "mcp" in name or "langchain" in name or "openai" in name}
