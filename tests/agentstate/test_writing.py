"""Writing working memory: what is stored, what is answered instead, and what is left alone (WM-6 to WM-14)."""

import json
from typing import Any

import pytest
from django.db import transaction

from tests import factories
from tests.agentstate.clock import Clocked
from tests.agentstate.rows import row_count, row_of, stored_body, wrapping_key
from tests.agentstate.threads import apart, in_parallel
from tests.api import Answer, InProcess
from tests.factories import scope, write
from workspaces.types import WorkspaceRef

ANA = {"type": "phone_e164", "value": "+55 11 91234-5678"}
ANA_AGAIN = {"type": "wa_id", "value": "5511912345678"}
BRUNO = {"type": "email", "value": "Bruno@Example.com"}
ANAS_SCOPE = {"kind": "subject", "id": "phone_e164:+5511912345678"}
BRUNOS_SCOPE = {"kind": "subject", "id": "email:bruno@example.com"}


def stored(answer: Answer) -> Any:
    """Give the answer to a write that must have been stored."""
    assert answer.status == 200, answer.body
    assert answer.body["stored"], answer.body
    assert answer.body["reason"] is None
    return answer.body


def cas(body: dict[str, Any], **members: Any) -> dict[str, Any]:
    return write(body, mode="cas", **members)


class TestSubject:
    """WM-6: whom a state belongs to."""

    def test_added_later(self, aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
        """WM-6: a later write names the customer; the row is sealed again and found by the profile."""
        place = scope()
        stored(agent.write(write({"step": "cart", "qty": 2}, scope=place)))
        before = row_of(aurora, place)
        assert wrapping_key(aurora, before.data_key_id) == aurora.key_id

        stored(agent.write(write({"qty": 3}, scope=place, subject=ANA)))

        after = row_of(aurora, place)
        assert after.data_key_id != before.data_key_id
        assert wrapping_key(aurora, before.data_key_id) is None
        assert wrapping_key(aurora, after.data_key_id) == after.handle_id is not None
        assert bytes(after.body or b"") != bytes(before.body or b"")
        assert agent.read(place).body["body"] == {"step": "cart", "qty": 3}
        assert [item["version"] for item in states_of(admin, ANA)] == [2]

    def test_of_a_removal(self, aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
        """WM-6: a write that changes nothing else names the customer too, by merge and by cas."""
        for mode, version in (("merge_by_key", None), ("cas", 1)):
            place = scope()
            stored(agent.write(write({"step": "cart"}, scope=place)))
            body = {} if mode == "merge_by_key" else {"step": "done"}
            stored(agent.write(write(body, scope=place, mode=mode, if_version=version, subject=ANA)))
        assert len(states_of(admin, ANA)) == 2

    def test_same_person_in_another_spelling(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-6: the same person named again is no news, and the key stays."""
        place = scope()
        stored(agent.write(write(scope=place, subject=ANA)))
        before = row_of(aurora, place)
        for spelling in (ANA_AGAIN, {"type": "phone_e164", "value": "tel:0055(11)91234.5678"}, None):
            stored(agent.write(write(scope=place, subject=spelling)))
        after = row_of(aurora, place)
        assert (after.handle_id, after.data_key_id) == (before.handle_id, before.data_key_id)
        assert after.version == 4

    def test_another_person(self, aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
        """WM-6: another person for the same state is 409, whoever was seen before; without that name it is stored."""
        place = scope()
        stored(agent.write(write({"step": "cart"}, scope=place, subject=ANA)))
        stored(agent.write(write(subject=BRUNO)))
        never_seen = {"type": "app_user_id", "value": "u-1"}
        for other in (BRUNO, never_seen):
            refused = agent.write(write({"step": "done"}, scope=place, subject=other))
            assert (refused.status, refused.code) == (409, "subject_mismatch")
        assert agent.read(place).body["body"] == {"step": "cart"}
        assert search(admin, never_seen) == []
        stored(agent.write(write({"step": "done"}, scope=place)))

    def test_of_a_subject_scope(self, agent: InProcess, admin: InProcess) -> None:
        """WM-6: a scope that names the customer needs no subject; one that says the same is fine, another is 409."""
        stored(agent.write(write(scope=ANAS_SCOPE)))
        assert [item["scope_kind"] for item in states_of(admin, ANA)] == ["subject"]
        stored(agent.write(write(scope=ANAS_SCOPE, subject=ANA_AGAIN)))
        refused = agent.write(write(scope=ANAS_SCOPE, subject=BRUNO))
        assert (refused.status, refused.code) == (409, "subject_mismatch")

    def test_of_a_subject_scope_when_nobody_is_known(self, agent: InProcess, admin: InProcess) -> None:
        """WM-6: two people that were never seen are two people, and a refusal makes neither of them."""
        refused = agent.write(write(scope=BRUNOS_SCOPE, subject=ANA))
        assert (refused.status, refused.code) == (409, "subject_mismatch")
        assert search(admin, ANA) == search(admin, BRUNO) == []
        stored(agent.write(write(scope=BRUNOS_SCOPE, subject=BRUNO)))

    def test_of_the_next_life(self, aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
        """WM-6, WM-16b: a removed state belongs to nobody, so that its next life may name another person."""
        place = scope()
        stored(agent.write(write(scope=place, subject=ANA)))
        agent.post("/v1/agent-state/delete", {"scope": place, "agent": "order-taker"})
        stored(agent.write(write(scope=place, subject=BRUNO)))
        assert states_of(admin, ANA) == []
        assert len(states_of(admin, BRUNO)) == 1

    def test_of_nothing_stored(self, agent: InProcess, admin: InProcess) -> None:
        """WM-6, WM-10, WM-12: a write that is not stored makes no profile."""
        assert not agent.write(write({"nowhere": 1}, subject=ANA)).body["stored"]
        assert not agent.write(write({"remark": "x" * 5000}, subject=ANA)).body["stored"]
        assert search(admin, ANA) == []


class TestCas:
    """WM-7: the whole state, at one version."""

    def test_creates_at_zero(self, agent: InProcess) -> None:
        """WM-7: absent and 0 both mean: must not exist yet."""
        for members in ({}, {"if_version": 0}, {"if_version": None}):
            place = scope()
            assert stored(agent.write(cas({"step": "cart"}, scope=place, **members)))["version"] == 1
            refused = agent.write(cas({"step": "done"}, scope=place, **members))
            assert (refused.status, refused.code) == (412, "agent_state_conflict")
            assert agent.read(place).body["body"] == {"step": "cart"}

    def test_holds_at_its_version_only(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-7: any other version is 412 and nothing changes, not even the bytes; the right one is stored."""
        place = scope()
        stored(agent.write(cas({"step": "cart"}, scope=place)))
        stored(agent.write(cas({"step": "delivery"}, scope=place, if_version=1)))
        before = bytes(row_of(aurora, place).body or b"")
        for version in (0, 1, 3, 2**63 - 1):
            assert agent.write(cas({"step": "done"}, scope=place, if_version=version)).status == 412
        assert bytes(row_of(aurora, place).body or b"") == before
        assert stored(agent.write(cas({"step": "done"}, scope=place, if_version=2)))["version"] == 3

    def test_of_a_state_that_is_not_there(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-7: a version of what was never written is 412 and leaves no row."""
        place = scope()
        assert agent.write(cas({"step": "cart"}, scope=place, if_version=1)).status == 412
        assert row_count(aurora) == 0
        stored(agent.write(cas({"step": "cart"}, scope=place, if_version=0)))

    def test_replaces_everything(self, agent: InProcess) -> None:
        """WM-7: a field that is not in the body is gone, and an empty body is a state too."""
        place = scope()
        stored(agent.write(cas({"step": "cart", "qty": 1}, scope=place)))
        stored(agent.write(cas({"qty": 2}, scope=place, if_version=1)))
        assert agent.read(place).body["body"] == {"qty": 2}
        stored(agent.write(cas({}, scope=place, if_version=2)))
        assert (agent.read(place).body["body"], agent.read(place).body["version"]) == ({}, 3)

    def test_takes_no_removal(self, agent: InProcess) -> None:
        """WM-7: {"$delete": true} as a value is 422 at its place; anything that only looks like it is content."""
        place = scope()
        refused = agent.write(cas({"anything": {"$delete": True}, "qty": 1}, scope=place))
        assert (refused.status, refused.code) == (422, "invalid_input")
        assert [problem["pointer"] for problem in refused.body["errors"]] == ["/body/anything"]
        likenesses = [{"$delete": 1}, {"$delete": True, "and": 1}, {"deep": {"$delete": True}}]
        stored(agent.write(cas({"anything": likenesses[2], "delivery": likenesses[1]}, scope=place)))
        stored(agent.write(cas({"anything": likenesses[0]}, scope=place, if_version=1)))
        assert agent.read(place).body["body"] == {"anything": {"$delete": 1}}


class TestMerge:
    """WM-8: single fields, at any version."""

    def test_replaces_whole_fields(self, agent: InProcess) -> None:
        """WM-8: no deeper merge, and what is not named stays."""
        place = scope()
        stored(agent.write(write({"delivery": {"street": "A", "door": 1}, "qty": 1}, scope=place)))
        stored(agent.write(write({"delivery": {"street": "B"}}, scope=place)))
        assert agent.read(place).body["body"] == {"delivery": {"street": "B"}, "qty": 1}

    def test_removes_a_field(self, agent: InProcess) -> None:
        """WM-8: a removed field does not come back unless somebody writes it again."""
        place = scope()
        stored(agent.write(write({"qty": 1, "step": "cart"}, scope=place)))
        stored(agent.write(write({"qty": {"$delete": True}}, scope=place)))
        stored(agent.write(write({"step": "delivery"}, scope=place)))
        assert agent.read(place).body["body"] == {"step": "delivery"}
        stored(agent.write(write({"qty": 2}, scope=place)))
        assert agent.read(place).body["body"] == {"step": "delivery", "qty": 2}

    def test_removes_what_is_not_there(self, agent: InProcess) -> None:
        """WM-8, WM-9: that is a write like any other, also as the first one."""
        place = scope()
        assert stored(agent.write(write({"qty": {"$delete": True}}, scope=place)))["version"] == 1
        assert stored(agent.write(write({"step": {"$delete": True}}, scope=place)))["version"] == 2
        assert agent.read(place).body["body"] == {}

    @pytest.mark.parametrize(
        "value", [{"$delete": 1}, {"$delete": False}, {"$delete": True, "x": 1}, "$delete"]
    )
    def test_only_the_exact_word_removes(self, agent: InProcess, value: Any) -> None:
        """WM-8: anything else is a value."""
        place = scope()
        stored(agent.write(write({"anything": value}, scope=place)))
        assert agent.read(place).body["body"] == {"anything": value}

    def test_null_is_a_value(self, agent: InProcess) -> None:
        """WM-8, WM-11: null is stored in its field and is not a removal."""
        place = scope()
        stored(agent.write(write({"qty": 1}, scope=place)))
        stored(agent.write(write({"qty": None, "step": None}, scope=place)))
        assert agent.read(place).body["body"] == {"qty": None, "step": None}

    def test_holds_at_a_version_when_told(self, agent: InProcess) -> None:
        """WM-8: with if_version the merge holds at that version only; 0 means: must not exist yet."""
        place = scope()
        assert agent.write(write({"qty": 1}, scope=place, if_version=1)).status == 412
        stored(agent.write(write({"qty": 1}, scope=place, if_version=0)))
        for version in (0, 2):
            refused = agent.write(write({"qty": 2}, scope=place, if_version=version))
            assert (refused.status, refused.code) == (412, "agent_state_conflict")
        stored(agent.write(write({"step": "done"}, scope=place, if_version=1)))
        assert agent.read(place).body["body"] == {"qty": 1, "step": "done"}


class TestVersion:
    """WM-9: numbers and lives."""

    def test_each_stored_write_adds_one(self, agent: InProcess) -> None:
        """WM-9: from 1, by one, in one life; nothing that is not stored counts."""
        place = scope()
        answers = [stored(agent.write(write({"qty": n}, scope=place))) for n in range(4)]
        assert [answer["version"] for answer in answers] == [1, 2, 3, 4]
        assert len({answer["epoch"] for answer in answers}) == 1
        assert agent.write(write({"nowhere": 1}, scope=place)).body["version"] == 4
        assert agent.write(write({"qty": "x"}, scope=place)).status == 422
        assert agent.write(write({"remark": "x" * 5000}, scope=place)).body["version"] == 4
        read = agent.read(place).body
        assert (read["version"], read["epoch"]) == (4, answers[0]["epoch"])

    def test_goes_on_after_a_removal(self, agent: InProcess) -> None:
        """WM-9, WM-16b: version 0 to readers, numbering and another epoch for the next life."""
        place = scope()
        first = [stored(agent.write(write({"qty": n}, scope=place))) for n in range(3)][-1]
        agent.post("/v1/agent-state/delete", {"scope": place, "agent": "order-taker"})
        assert agent.read(place).body["version"] == 0
        for stale in (1, 2, 3, 4):
            assert agent.write(cas({"qty": 9}, scope=place, if_version=stale)).status == 412
        second = stored(agent.write(cas({"qty": 9}, scope=place, if_version=0)))
        assert second["version"] == 4
        assert second["epoch"] != first["epoch"]
        assert agent.read(place).body["body"] == {"qty": 9}
        assert agent.write(cas({"qty": 10}, scope=place, if_version=3)).status == 412

    @pytest.mark.parametrize("is_swept", [False, True])
    def test_goes_on_after_its_end(self, aurora: WorkspaceRef, *, is_swept: bool) -> None:
        """WM-9, WM-21: an expired state too, whether or not the sweep ran; its content stays gone."""
        clock, place = Clocked(aurora), scope()
        first = [clock.write(write({"qty": n, "step": "cart"}, scope=place)) for n in range(3)][-1]
        clock.wait(days=30)
        if is_swept:
            assert clock.sweep().states == 1
        assert clock.read(place).version == 0
        second = clock.write(write({"qty": 9}, scope=place))
        assert (second.version, second.epoch == first.epoch) == (4, False)
        assert clock.read(place).body == {"qty": 9}

    def test_starts_anew_when_the_tombstone_is_gone(self, aurora: WorkspaceRef) -> None:
        """WM-9, PR-12: the numbering goes on while the tombstone lives, 400 days, and no longer."""
        clock, place = Clocked(aurora), scope()
        clock.write(write({"qty": 1}, scope=place))
        clock.delete(place)
        clock.wait(days=400, seconds=-1)
        assert clock.sweep().tombstones == 0
        assert clock.wait(seconds=1).sweep().tombstones == 1
        assert row_count(aurora) == 0
        assert clock.write(write({"qty": 1}, scope=place)).version == 1

    def test_of_what_is_not_stored_in_the_next_life(self, agent: InProcess) -> None:
        """WM-9, WM-10: a removed state answers as version 0 to a write that is not stored, too."""
        place = scope()
        stored(agent.write(write(scope=place)))
        agent.post("/v1/agent-state/delete", {"scope": place, "agent": "order-taker"})
        answer = agent.write(write({"nowhere": 1}, scope=place)).body
        assert (answer["stored"], answer["version"], answer["epoch"]) == (False, 0, "none")


class TestFields:
    """WM-10, WM-11: what the type declares."""

    def test_not_declared(self, agent: InProcess) -> None:
        """WM-10: one field too many and nothing of the write is stored; without it, everything."""
        place = scope()
        stored(agent.write(write({"qty": 1}, scope=place)))
        answer = agent.write(write({"qty": 2, "colour": "red"}, scope=place))
        assert answer.status == 200
        assert answer.body["stored"] is False
        assert (answer.body["reason"], answer.body["version"]) == ("not_declared_field", 1)
        assert agent.read(place).body["body"] == {"qty": 1}
        stored(agent.write(write({"qty": 2}, scope=place)))

    def test_removal_of_what_was_never_declared(self, agent: InProcess) -> None:
        """WM-10: only a stored field whose declaration is gone may be removed."""
        answer = agent.write(write({"colour": {"$delete": True}}))
        assert answer.body["reason"] == "not_declared_field"

    def test_removal_of_what_is_no_longer_declared(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-10: it may be removed and not written; once it is gone it may not be named any more."""
        place = scope()
        stored(agent.write(write({"remark": "old", "qty": 1}, scope=place)))
        drop_field(aurora, "remark")
        assert agent.write(write({"remark": "new"}, scope=place)).body["reason"] == "not_declared_field"
        assert stored_body(aurora, place) == {"remark": "old", "qty": 1}
        stored(agent.write(write({"remark": {"$delete": True}}, scope=place)))
        assert stored_body(aurora, place) == {"qty": 1}
        again = agent.write(write({"remark": {"$delete": True}}, scope=place))
        assert again.body["reason"] == "not_declared_field"

    @pytest.mark.parametrize(
        ("field", "bad", "good"),
        [
            ("qty", 3.5, 3.0),
            ("qty", True, 3),
            ("step", "carts", "cart"),
            ("total", 12.5, {"amount": "12.50", "currency": "BRL"}),
            ("cart", {}, []),
            ("delivery", [], {}),
            ("remark", 1, "1"),
            ("phone", 5511912345678, "+5511912345678"),
        ],
    )
    def test_of_another_type(self, agent: InProcess, field: str, bad: Any, good: Any) -> None:
        """WM-11: 422 at the place, state untouched; the same write with a good value is stored."""
        place = scope()
        stored(agent.write(write({"anything": 1}, scope=place)))
        refused = agent.write(write({"anything": 2, field: bad}, scope=place))
        assert (refused.status, refused.code) == (422, "invalid_field_value")
        assert [problem["pointer"] for problem in refused.body["errors"]] == [f"/body/{field}"]
        assert agent.read(place).body["body"] == {"anything": 1}
        stored(agent.write(write({"anything": 2, field: good}, scope=place)))

    def test_every_problem_at_once(self, agent: InProcess) -> None:
        """WM-11: the answer points at each of them, down to the part."""
        bad = {"qty": "1", "total": {"amount": 1, "currency": "brl"}, "step": "cart"}
        pointers = [problem["pointer"] for problem in agent.write(write(bad)).body["errors"]]
        assert pointers == ["/body/qty", "/body/total/amount", "/body/total/currency"]

    @pytest.mark.parametrize("number", [3, 3.0, -0.0, 2**63 - 1, -(2**63)])
    def test_numbers_come_back_as_they_went(self, agent: InProcess, number: float) -> None:
        """WM-11, WM-17: 3 stays 3 and 3.0 stays 3.0."""
        place = scope()
        stored(agent.write(write({"qty": number, "anything": [number]}, scope=place)))
        body = agent.read(place).body["body"]
        assert (repr(body["qty"]), repr(body["anything"])) == (repr(number), repr([number]))

    def test_changed_type_keeps_what_is_stored(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-3, WM-11: a stored value stays when its field's type changes, and only new ones are held to it."""
        place = scope()
        stored(agent.write(write({"remark": "seven", "qty": 1}, scope=place)))
        fields = factories.ORDER_TYPE["fields"] | {"remark": {"type": "integer"}}
        factories.publish_types(aurora, factories.order_type(version="2", fields=fields))
        stored(agent.write(write({"qty": 2}, scope=place)))
        assert agent.read(place).body["body"] == {"remark": "seven", "qty": 2}
        assert agent.write(write({"remark": "eight"}, scope=place)).code == "invalid_field_value"


class TestCap:
    """WM-12: too large is an answer, not an error."""

    CAP = factories.ORDER_TYPE["agent_state"]["cap_bytes"]

    def filling(self, size: int, **fields: Any) -> dict[str, Any]:
        """Give a body whose compact JSON has this many bytes."""
        bare = len(json.dumps({**fields, "remark": ""}, separators=(",", ":"), ensure_ascii=False).encode())
        return {**fields, "remark": "x" * (size - bare)}

    def test_exactly_full(self, agent: InProcess) -> None:
        """WM-12: the cap itself is stored, one byte more is not, and the state before stays."""
        place = scope()
        stored(agent.write(write(self.filling(self.CAP), scope=place)))
        answer = agent.write(write(self.filling(self.CAP + 1), scope=place))
        assert answer.status == 200
        expected = {"stored": False, "version": 1, "reason": "over_cap", "masked": {}}
        assert {name: answer.body[name] for name in expected} == expected
        assert agent.read(place).body["body"] == self.filling(self.CAP)

    def test_counts_bytes(self, agent: InProcess) -> None:
        """WM-12: of UTF-8, where a letter may take two and an escape is written out."""
        full = self.filling(self.CAP - 2, anything="é")
        stored(agent.write(write({**full, "remark": full["remark"] + "xx"})))
        assert agent.write(write({**full, "remark": full["remark"] + "éx"})).body["reason"] == "over_cap"

    def test_counts_the_result_of_a_merge(self, agent: InProcess) -> None:
        """WM-12: what stays counts too, what the merge removes does not."""
        place = scope()
        stored(agent.write(write({"anything": "x" * 3000}, scope=place)))
        more = {"remark": "x" * 2000}
        assert agent.write(write(more, scope=place)).body["reason"] == "over_cap"
        stored(agent.write(write({**more, "anything": {"$delete": True}}, scope=place)))

    def test_counts_after_masking(self, agent: InProcess) -> None:
        """WM-12, WM-14: a personal text is measured as it is stored."""
        place = scope()
        answer = stored(agent.write(write({"note": "lorem ipsum " * 500}, scope=place)))
        assert answer["masked"] == {"text": 1}
        assert agent.read(place).body["body"] == {"note": "[redacted:text]"}

    def test_none_of_its_own(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-3, WM-12: null leaves the request's own limit only."""
        long = write({"remark": "x y " * 60_000})
        assert agent.write(long).body["reason"] == "over_cap"
        uncapped = factories.order_type(version="2", agent_state={"cap_bytes": None})
        factories.publish_types(aurora, uncapped)
        stored(agent.write(long))

    def test_is_sixteen_kib_unless_said(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-3, WM-12: the default is 16,384 bytes."""
        unsaid = {name: value for name, value in factories.ORDER_TYPE.items() if name != "agent_state"}
        factories.publish_types(aurora, unsaid | {"version": "2"})
        assert agent.write(write(self.filling(16_385))).body["reason"] == "over_cap"
        stored(agent.write(write(self.filling(16_384))))


class TestMasking:
    """WM-14: before it is stored."""

    def test_declared_fields(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-14, PR-5: by kind and by detection; the answer counts and never quotes."""
        place = scope()
        answer = stored(
            agent.write(write({"phone": "+55 11 91234-5678", "note": "ana@example.com"}, scope=place))
        )
        assert answer["masked"] == {"phone": 1, "email": 1}
        body = agent.read(place).body["body"]
        assert body == stored_body(aurora, place)
        assert "91234" not in json.dumps(body)
        assert "ana@" not in json.dumps(body)

    def test_what_is_no_string(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-14: a masked value of another form becomes null."""
        fields = factories.ORDER_TYPE["fields"] | {"born": {"type": "any", "pii": "text"}}
        factories.publish_types(aurora, factories.order_type(version="2", fields=fields))
        place = scope()
        assert stored(agent.write(write({"born": 1970}, scope=place)))["masked"] == {"text": 1}
        assert agent.read(place).body["body"] == {"born": None}

    def test_everywhere(self, agent: InProcess) -> None:
        """WM-14, PR-7: a card number is held back in any string, a password by its member's name."""
        place = scope()
        secret = {"anything": {"password": "hunter2"}, "remark": "pay with 4111 1111 1111 1111 please"}
        answer = stored(agent.write(write(secret, scope=place)))
        assert answer["masked"] == {"card": 1, "password": 1}
        assert agent.read(place).body["body"] == {
            "anything": {"password": "[redacted:password]"},
            "remark": "pay with [redacted:card] please",
        }

    def test_read_and_written_back(self, agent: InProcess) -> None:
        """WM-14, PR-6: what was read goes back the same, and nothing is masked twice."""
        place = scope()
        stored(agent.write(write({"phone": "+5511912345678", "note": "Ana, ana@example.com"}, scope=place)))
        read = agent.read(place).body
        again = stored(agent.write(cas(read["body"], scope=place, if_version=read["version"])))
        assert again["masked"] == {}
        assert agent.read(place).body["body"] == read["body"]


class TestDeletion:
    """WM-16b: a whole state goes."""

    def delete(self, api: InProcess, place: dict[str, str], **members: Any) -> Answer:
        return api.post("/v1/agent-state/delete", {"scope": place, "agent": "order-taker", **members})

    def test_reads_as_never_written(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-16b: the answer is the one of a state that never was; its key is destroyed and its row holds nothing."""
        place = scope()
        never = agent.read(scope()).body
        stored(agent.write(write({"qty": 1}, scope=place, subject=ANA)))
        key = row_of(aurora, place).data_key_id
        assert self.delete(agent, place).body == {"deleted": True, "version": 0, "epoch": "none"}
        assert agent.read(place).body == never
        tombstone = row_of(aurora, place)
        assert (tombstone.body, tombstone.held, tombstone.handle_id, tombstone.body_bytes) == (
            None,
            {},
            None,
            0,
        )
        assert wrapping_key(aurora, key) is None

    def test_at_a_version(self, agent: InProcess) -> None:
        """WM-16b: another version is 412 and removes nothing; the right one removes."""
        place = scope()
        stored(agent.write(write({"qty": 1}, scope=place)))
        for version in (0, 2):
            refused = self.delete(agent, place, if_version=version)
            assert (refused.status, refused.code) == (412, "agent_state_conflict")
        assert agent.read(place).body["body"] == {"qty": 1}
        assert self.delete(agent, place, if_version=1).body["deleted"] is True

    def test_of_what_is_not_there(self, aurora: WorkspaceRef, agent: InProcess) -> None:
        """WM-16b: nothing to remove is no error and leaves no row; twice is once."""
        place = scope()
        assert self.delete(agent, place).body["deleted"] is False
        assert self.delete(agent, place, if_version=0).body["deleted"] is False
        assert self.delete(agent, place, if_version=1).status == 412
        assert row_count(aurora) == 0
        stored(agent.write(write(scope=place)))
        assert [self.delete(agent, place).body["deleted"] for _ in range(2)] == [True, False]

    def test_as_part_of_a_larger_transaction(self, committed: None) -> None:
        """WM-16b, WM-18, WM-20: who reads before it commits is served the old state and keeps it for nobody."""
        clock, place = Clocked(factories.make_ready_workspace()), scope()
        clock.write(write({"qty": 1}, scope=place))
        with transaction.atomic():
            assert clock.delete(place).deleted
            (read,) = in_parallel([lambda: apart(lambda: clock.read(place))])
            assert read.version == 1
        assert clock.read(place).version == 0

    def test_leaves_the_others(self, agent: InProcess, stranger: InProcess) -> None:
        """WM-16b: another agent, another scope and another workspace keep theirs."""
        place, elsewhere = scope(), scope()
        for body in (write(scope=place), write(scope=elsewhere), write(scope=place, agent="upsell")):
            stored(agent.write(body))
        stored(stranger.write(write(scope=place)))
        self.delete(agent, place)
        assert agent.read(place).body["version"] == 0
        assert agent.read(elsewhere).body["version"] == 1
        assert agent.read(place, "upsell").body["version"] == 1
        assert stranger.read(place).body["version"] == 1

    def test_sent_again(self, agent: InProcess) -> None:
        """WM-16b, PL-10: a removal that is sent again does not remove the next life."""
        place = scope()
        body = {"scope": place, "agent": "order-taker"}
        stored(agent.write(write({"qty": 1}, scope=place)))
        headers = {"Idempotency-Key": "removal-1"}
        first = agent.post("/v1/agent-state/delete", body, **headers)
        stored(agent.write(write({"qty": 2}, scope=place)))
        assert agent.post("/v1/agent-state/delete", body, **headers).body == first.body
        assert agent.read(place).body["body"] == {"qty": 2}
        other = agent.post("/v1/agent-state/delete", {**body, "if_version": 2}, **headers)
        assert (other.status, other.code) == (409, "conflict")
        assert self.delete(agent, place).body["deleted"] is True


def drop_field(workspace: WorkspaceRef, name: str) -> None:
    """Publish ORDER_TYPE without a field."""
    fields = {field: form for field, form in factories.ORDER_TYPE["fields"].items() if field != name}
    factories.publish_types(
        workspace, factories.order_type(version="2", fields=fields), drop=[f"order.{name}"]
    )


def search(admin: InProcess, handle: dict[str, str]) -> list[Any]:
    """Find the profile of a handle, in a list of none or one."""
    found = admin.post("/v1/profiles/search", {"query": handle["value"], "type": handle["type"]})
    assert found.status == 200, found.body
    items: list[Any] = found.body["items"]
    return items


def states_of(admin: InProcess, handle: dict[str, str]) -> list[Any]:
    """List the metadata of the states that name a handle's person."""
    (profile,) = search(admin, handle)
    items: list[Any] = admin.get(f"/v1/profiles/{profile['profile_id']}/agent-state").body["items"]
    return items
