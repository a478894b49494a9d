"""Reading working memory: what is answered, under which type, and who shares a state."""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from agentstate import access as states
from agentstate.models import State
from tests import factories
from tests.agentstate.clock import Clocked
from tests.agentstate.rows import row_of
from tests.agentstate.threads import apart
from tests.api import InProcess, OverHttp
from tests.factories import order_type, scope, write
from tests.stores import forget_hot_store
from workspaces import access, encryption, hotstore
from workspaces.postgresql.calls import ask
from workspaces.scopes import scope_of
from workspaces.types import WorkspaceRef

NEVER_WRITTEN = {
    "body": {},
    "version": 0,
    "updated_at": None,
    "valid_until": None,
    "epoch": "none",
    "expires": {},
}
VISITOR = {"type": "anon_id", "value": "visitor"}
PHONE = "phone_e164:+5511912345678"


class TestAnswer:
    """WM-17: what a reader gets."""

    def test_of_a_state(self, aurora: WorkspaceRef) -> None:
        """WM-17: body, version, times, epoch, and the end of each field that is kept less long."""
        clock, place = Clocked(aurora), scope()
        written = clock.write(write({"step": "cart", "phone": "+5511912345678"}, scope=place))
        read = clock.wait(hours=1).read(place)
        assert read.body == {"step": "cart", "phone": "***78"}
        assert (read.version, read.epoch) == (1, written.epoch)
        assert read.updated_at == factories.LATELY
        assert read.valid_until == factories.LATELY + timedelta(days=30)
        assert read.expires == {"phone": factories.LATELY + timedelta(days=1)}

    def test_on_the_wire(self, agent: InProcess) -> None:
        """WM-17, WM-26: exactly these members, times as RFC 3339 in UTC."""
        place = scope()
        agent.write(write({"phone": "+5511912345678"}, scope=place))
        read = agent.read(place).body
        assert read.keys() == NEVER_WRITTEN.keys()
        assert read["updated_at"].endswith("Z")
        assert read["expires"].keys() == {"phone"}
        assert read["updated_at"] < read["expires"]["phone"] < read["valid_until"]

    def test_of_nothing(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-17: never written and removed are the same answer, and reading makes nothing."""
        place = scope()
        assert agent.read(place).body == NEVER_WRITTEN
        agent.write(write(scope=place))
        agent.post("/v1/agent-state/delete", {"scope": place, "agent": "order-taker"})
        assert agent.read(place).body == NEVER_WRITTEN
        with access.bound(aurora.id):
            assert State.objects.count() == 1

    @pytest.mark.parametrize("is_swept", [False, True])
    def test_of_an_expired_one(self, aurora: WorkspaceRef, *, is_swept: bool) -> None:
        """WM-17, WM-21: gone at its moment, and not a second before."""
        clock, place = Clocked(aurora), scope()
        clock.write(write({"qty": 1}, scope=place))
        assert clock.wait(days=30, seconds=-1).read(place).body == {"qty": 1}
        clock.wait(seconds=1)
        if is_swept:
            clock.sweep()
        assert clock.read(place) == type(clock.read(place))()

    def test_of_an_erased_one(self, aurora: WorkspaceRef) -> None:
        """WM-17, PR-15: a state whose key is destroyed reads as never written, and the next write goes on."""
        clock, place = Clocked(aurora), scope()
        clock.write(write({"qty": 1}, scope=place))
        encryption.destroy_keys(aurora, row_of(aurora, place).data_key_id)
        assert clock.read(place) == type(clock.read(place))()
        assert clock.write(write({"qty": 2}, scope=place)).version == 2
        assert clock.read(place).body == {"qty": 2}


class TestReadYourWrites:
    """WM-18: a stored write is seen by everyone from then on."""

    def test_in_one_process(self, agent: InProcess, admin: InProcess) -> None:
        """WM-18: by the writer and by another key, each time."""
        place = scope()
        for number in range(1, 11):
            written = agent.write(write({"qty": number}, scope=place)).body
            for reader in (agent, admin):
                read = reader.read(place).body
                assert (read["version"], read["body"]) == (written["version"], {"qty": number})

    def test_between_the_row_and_its_key(self, committed: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """WM-18, WM-6: a reader whose row was sealed again under another key meanwhile reads the newer one."""
        clock, place = Clocked(factories.make_ready_workspace()), scope()
        clock.write(write({"qty": 1}, scope=place))
        forget_hot_store()
        read_row = states.read_row
        overtaken: list[Any] = []

        def read_and_be_overtaken(at: states.Place, **wait: str) -> Any:
            row = read_row(at, **wait)
            if not overtaken:
                overtaken.append(row)
                clock.write(write({"qty": 2}, scope=place, subject=VISITOR))
            return row

        monkeypatch.setattr(states, "read_row", read_and_be_overtaken)
        read = clock.read(place)
        assert (read.version, read.body) == (2, {"qty": 2})
        assert [row.version for row in overtaken] == [1]

    def test_on_every_process(self, over_http: Callable[..., OverHttp]) -> None:
        """WM-18: over real connections to a server of two workers, no reader ever sees less than what was stored."""
        workspace, place = factories.make_ready_workspace(), scope()
        with clients(over_http, workspace, 5) as (writer, *readers), ThreadPoolExecutor(len(readers)) as pool:
            for number in range(1, 26):
                subject = VISITOR if number == 13 else None
                written = writer.write(write({"qty": number}, scope=place, subject=subject))
                assert written.body["version"] == number
                answers = list(pool.map(lambda reader: reader.read(place).body, readers))
                assert [answer["version"] for answer in answers] == [number] * len(readers)
                assert [answer["body"] for answer in answers] == [{"qty": number}] * len(readers)

    def test_while_others_write(self, over_http: Callable[..., OverHttp]) -> None:
        """WM-18, WM-6: no later read undercuts what a reader saw, while a write replaces the key of the state."""
        workspace = factories.make_ready_workspace()
        with clients(over_http, workspace, 4) as (writer, *readers), ThreadPoolExecutor(4) as pool:
            for place in [scope() for _ in range(6)]:
                assert writer.write(write({"qty": 0}, scope=place)).body["version"] == 1
                seen = [pool.submit(versions_seen, reader, place) for reader in readers]
                for subject in (None, VISITOR):
                    assert writer.write(write({"qty": 1}, scope=place, subject=subject)).status == 200
                for versions in [found.result() for found in seen]:
                    assert versions == sorted(versions)
                    assert versions[0] >= 1


class TestCost:
    """WM-19: what a read waits for."""

    def test_one_look_at_the_states(self, committed: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """WM-19: a warm read asks no database; a cold one looks the row up once, of what was never written too."""
        workspace, place = factories.make_ready_workspace(), scope()
        agent = InProcess(factories.make_key(workspace))
        looks: list[str] = []

        def counted(statement: str, values: Any) -> Any:
            looks.append(statement)
            return ask(statement, values)

        monkeypatch.setattr("agentstate.access.ask", counted)
        agent.write(write(scope=place, subject=VISITOR))
        agent.read(place)
        for at in (place, scope()):
            hotstore.drop(
                hotstore.mark(states.place_of(workspace, scope_of(workspace, **at), "order-taker").name)
            )
            for expected in ([states._READ], []):
                looks.clear()
                with (
                    CaptureQueriesContext(connection) as asked,
                    CaptureQueriesContext(connections["keys"]) as keys,
                ):
                    agent.read(at)
                assert looks == expected
                assert (list(asked), list(keys)) == ([], [])

    def test_no_writer_is_waited_for(self, committed: None) -> None:
        """WM-19: a reader answers what is stored while a writer holds the state, its person and its documents.

        It is warm the second time only.
        """
        clock, place = Clocked(factories.make_ready_workspace()), scope()
        clock.write(write({"qty": 1}, scope=place, subject=VISITOR))
        forget_hot_store()
        held = ("agentstate_state", "workspaces_profile", "workspaces_handle", "workspaces_documenthead")
        with ThreadPoolExecutor(1) as elsewhere, transaction.atomic():
            with connection.cursor() as cursor:
                for table in held:
                    cursor.execute(
                        f"SELECT 1 FROM {table} WHERE workspace_id = %s FOR UPDATE",  # noqa: S608
                        [clock.workspace.id],
                    )
            for _ in range(2):
                found = elsewhere.submit(apart, lambda: clock.read(place)).result(timeout=20)
                assert found.body == {"qty": 1}


class TestType:
    """WM-2: under which type an agent writes."""

    def type(self, name: str, field: str, **members: Any) -> dict[str, Any]:
        return {
            "type": name,
            "version": "1",
            "ownership": "agent",
            "fields": {field: {"type": "any"}},
            **members,
        }

    def takes(self, agent: InProcess, name: str) -> set[str]:
        """Give which of the fields a, b and c an agent of this name may write."""
        written = {field: agent.write(write({field: 1}, agent=name)).body for field in "abc"}
        assert all(body["stored"] or body["reason"] == "not_declared_field" for body in written.values())
        return {field for field, body in written.items() if body["stored"]}

    def test_listed_before_named_before_only(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-2: the type that lists the agent, else the one named like it, else the only one, else none."""
        listed = self.type("upsell", "a", agents=["order"])
        factories.publish_types(aurora, listed)
        assert [self.takes(agent, name) for name in ("order", "upsell", "other")] == [{"a"}] * 3
        factories.publish_types(aurora, listed, self.type("order", "b"))
        assert [self.takes(agent, name) for name in ("order", "upsell", "other")] == [{"a"}, {"a"}, set()]
        factories.publish_types(aurora, self.type("upsell", "a"), self.type("order", "b"), drop=["upsell.a"])
        assert [self.takes(agent, name) for name in ("order", "upsell", "other")] == [{"b"}, {"a"}, set()]

    def test_only_of_its_ownership(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-2: a type of another ownership is none of an agent's, whatever its name."""
        factories.publish_types(aurora, self.type("order", "b", ownership="shared"), self.type("cart", "c"))
        assert self.takes(agent, "order") == {"c"}
        factories.publish_types(aurora, self.type("order", "b", ownership="subject"), drop=["cart.c"])
        assert self.takes(agent, "order") == set()

    def test_of_a_state_whose_agent_lost_it(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-2, WM-3: no field is served while there is no type, the version stays, and both come back with it."""
        place = scope()
        agent.write(write({"qty": 1}, scope=place))
        others = [self.type("upsell", "a"), order_type(agents=["somebody-else"])]
        factories.publish_types(aurora, *others)
        read = agent.read(place).body
        assert (read["body"], read["version"]) == ({}, 1)
        assert agent.write(write({"qty": 2}, scope=place)).body["reason"] == "not_declared_field"
        factories.publish_types(aurora, order_type(version="2"))
        assert agent.read(place).body["body"] == {"qty": 1}


class TestSharing:
    """WM-4: who reads whose state."""

    def test_every_source_of_a_workspace(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-4: scope and agent name a state, not the source that wrote it."""
        place = scope()
        agent.write(write({"qty": 1}, scope=place))
        other = InProcess(factories.make_key(aurora, source="voice backend"))
        assert other.read(place).body["body"] == {"qty": 1}
        assert other.write(write({"qty": 2}, scope=place)).body["version"] == 2

    def test_no_other_workspace(self, agent: InProcess, stranger: InProcess) -> None:
        """WM-4, PL-1: the same names in another workspace are another state."""
        place = scope()
        agent.write(write({"qty": 1}, scope=place))
        assert stranger.read(place).body == NEVER_WRITTEN
        assert stranger.write(write({"qty": 9}, scope=place)).body["version"] == 1
        assert agent.read(place).body["body"] == {"qty": 1}

    def test_no_other_agent_or_kind_of_scope(self, agent: InProcess) -> None:
        """WM-4: each agent, and each kind of one id, has a state of its own."""
        id = "order:shop:1"
        agent.write(write({"qty": 1}, scope=scope(id)))
        assert agent.read(scope(id), "upsell").body == NEVER_WRITTEN
        for kind in ("task", "object"):
            assert agent.read(scope(id, kind)).body == NEVER_WRITTEN

    def test_keys_that_list_agents(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-4, PL-3: such a key reads, writes and removes for its agents only: 403 otherwise."""
        place = scope()
        agent.write(write({"qty": 1}, scope=place))
        listed = InProcess(factories.make_key(aurora, agents=("upsell", "closing")))
        for method, path, body in (
            ("POST", "/v1/agent-state/read", {"scope": place}),
            ("POST", "/v1/agent-state/delete", {"scope": place}),
            ("PUT", "/v1/agent-state", write(scope=place)),
        ):
            refused = listed.call(method, path, {**body, "agent": "order-taker"})
            assert (refused.status, refused.code) == (403, "agent_not_allowed")
            assert listed.call(method, path, {**body, "agent": "closing"}).status == 200
        assert agent.read(place).body["body"] == {"qty": 1}

    @pytest.mark.parametrize("length", [1, 256])
    def test_names_of_agents(self, agent: InProcess, length: int) -> None:
        """WM-4: 1 to 256 characters, of any script, exactly as written."""
        name, place = "é" * length, scope()
        agent.write(write({"qty": 1}, scope=place, agent=name))
        assert agent.read(place, name).body["body"] == {"qty": 1}
        assert agent.read(place, "e\u0301" * (length // 2 or 1)).body == NEVER_WRITTEN


class TestScope:
    """WM-5: what the server knows of a scope's id."""

    @pytest.mark.parametrize(
        "spelling",
        [
            "phone_e164:+55 (11) 91234-5678",
            "phone_e164:005511912345678",
            "phone_e164:tel:+55.11.91234.5678",
            "phone_e164:+55 11\N{NO-BREAK SPACE}91234\N{NON-BREAKING HYPHEN}5678",
            "phone_e164:\N{FULLWIDTH PLUS SIGN}5511912345678",
            "wa_id:5511912345678",
            "wa_jid:5511912345678@s.whatsapp.net",
        ],
    )
    def test_every_spelling_is_one_state(self, aurora: WorkspaceRef, agent: InProcess, spelling: str) -> None:
        """WM-5, PL-6: a phone number is one state however it is written."""
        agent.write(write({"qty": 1}, scope={"kind": "subject", "id": PHONE}))
        place = {"kind": "subject", "id": spelling}
        assert agent.read(place).body["body"] == {"qty": 1}
        assert agent.write(write({"qty": 2}, scope=place)).body["version"] == 2
        with access.bound(aurora.id):
            assert State.objects.count() == 1

    def test_only_a_subject_is_spelled_out(self, agent: InProcess) -> None:
        """WM-5: the id of a conversation is a name like any other: nothing is read into it."""
        agent.write(write({"qty": 1}, scope=scope("+55 11 91234-5678")))
        assert agent.read(scope("+5511912345678")).body == NEVER_WRITTEN

    @pytest.mark.parametrize("kind", ["conversation", "task", "object", "subject"])
    def test_nothing_of_it_is_stored(self, aurora: WorkspaceRef, agent: InProcess, kind: str) -> None:
        """WM-5: neither the id, nor a part of it, nor a hash that anybody could make without the key."""
        id = {"object": "order:shop:5511912345678", "subject": PHONE}.get(kind, "c-5511912345678")
        assert agent.write(write({"qty": 1}, scope={"kind": kind, "id": id})).status == 200
        held = everything_in("agentstate_state", aurora)
        assert b"order-taker" in held
        for told in (b"5511912345678", b"912345678", *guessed_hashes(kind, id)):
            assert told not in held, told

    def test_is_hashed_per_workspace(self, aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
        """WM-5: the same id in two workspaces leaves nothing that could be compared."""
        place = scope("c-1")
        for workspace in (aurora, boreal):
            Clocked(workspace).write(write(scope=place))
        first, second = (row_of(workspace, place) for workspace in (aurora, boreal))
        assert bytes(first.scope_hash) != bytes(second.scope_hash)


@contextmanager
def clients(
    over_http: Callable[..., OverHttp], workspace: WorkspaceRef, count: int
) -> Iterator[list[OverHttp]]:
    """Connect several clients, each with a key and a connection of its own."""
    connected = [over_http(workspace, name=f"client {number}") for number in range(count)]
    try:
        yield connected
    finally:
        for client in connected:
            client.http.close()


def versions_seen(reader: OverHttp, place: dict[str, str]) -> list[int]:
    return [reader.read(place).body["version"] for _ in range(6)]


def everything_in(table: str, workspace: WorkspaceRef) -> bytes:
    """Give every value that a workspace has in a table: texts, and bytes both as they are and as hexadecimal."""
    with access.bound(workspace.id), closing(connection.cursor()) as cursor:
        cursor.execute(f"SELECT * FROM {table} WHERE workspace_id = %s", [workspace.id])  # noqa: S608
        values = [value for row in cursor.fetchall() for value in row]
    return b"\n".join(
        bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode() for value in values
    )


def guessed_hashes(kind: str, id: str) -> list[bytes]:
    """Give what anybody could compute who knows the id."""
    texts = [text.encode() for text in (id, f"{kind}:{id}", f"scope:{kind}:{id}")]
    return [hashlib.new(name, text).digest() for text in texts for name in ("sha256", "sha1", "md5")]
