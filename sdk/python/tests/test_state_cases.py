"""The cases that every SDK must pass, run on the pure code of this one (SD-12)."""

import json
from pathlib import Path
from typing import Any

import pytest

from lastro.errors import InvalidBody
from lastro.outbox import Entry, FileOutbox, MemoryOutbox, Outbox
from lastro.states.answers import Reply, judge
from lastro.states.backoff import Backoff
from lastro.states.bodies import json_object, merged
from lastro.states.copies import Copy, after_read, after_write, predict, read_copy
from lastro.states.types import Handle, StateName
from lastro.states.writes import Write, make_write, read_request

CASES = Path(__file__).resolve().parents[2] / "cases"
NAME = StateName("conversation", "c-1", "a")
NOW = 1764547200.0


def cases(suite: str) -> pytest.MarkDecorator:
    found = json.loads((CASES / f"{suite}.json").read_text(encoding="utf-8"))
    assert (found["schema"], found["suite"]) == ("working-memory-cases/1", suite)
    return pytest.mark.parametrize("case", found["cases"], ids=[each["id"] for each in found["cases"]])


def write_of(form: dict[str, Any], *, name: StateName = NAME, key: str = "k", me: str = "p") -> Write:
    made = make_write(
        name,
        form.get("mode", "clear"),
        body=form.get("body", {}),
        if_version=form.get("if_version"),
        subject=Handle.parse(form["subject"]) if form.get("subject") else None,
        now=form.get("at", NOW),
        key=form.get("key", key),
    )
    parts = {name: getattr(made, name) for name in ("name", "kind", "key", "written_at", "raw", "if_version")}
    return Write(**parts, born=form.get("born", 0), born_by=form.get("born_by", me))


@cases("requests")
def test_requests(case: dict[str, Any]) -> None:
    """SD-2, SD-4, WM-5: each call has one form on the wire, the same however often it is sent."""
    call = case["call"]
    kind, id = call["scope"]
    name = StateName(kind, id, call["agent"])
    request = read_request(name) if call["do"] == "read" else write_of(call, name=name).request
    found = {
        "method": request.method,
        "path": request.path,
        "key": request.key,
        "body": json.loads(request.raw),
    }
    assert found == case["expect"]


@cases("bodies")
def test_bodies(case: dict[str, Any]) -> None:
    """WM-7, WM-8, WM-25: what a write makes of a body, and what is refused before it is sent."""
    if case["expect"] == "refused":
        with pytest.raises(InvalidBody):
            json_object(case["write"], removes=case["mode"] != "cas")
        return
    body = json_object(case["write"], removes=case["mode"] != "cas")
    assert (body if case["mode"] == "cas" else merged(case["body"], body)) == case["expect"]


@cases("answers")
def test_answers(case: dict[str, Any]) -> None:
    """SD-4, SD-11: what an answer means, and the error that stands for it."""
    raw = case["raw"] if "raw" in case else json.dumps(case.get("body", {}))
    reply = Reply(case["status"], case.get("headers", {}), raw.encode()) if case["status"] else None
    verdict = judge(reply, now=case.get("now", NOW))
    expect = dict(case["expect"])
    kind = expect.pop("error", None)
    pointers = tuple(expect.pop("pointers", ()))
    assert {name: getattr(verdict, name) for name in expect} == expect
    assert verdict.pointers == pointers
    if kind is not None:
        error = verdict.error
        assert (type(error).__name__, error.code, error.status) == (kind, verdict.code, case["status"])


@cases("copies")
def test_copies(case: dict[str, Any]) -> None:
    """SD-3, WM-9: the newest within one life; another life takes the server's word; fields leave at their moment."""
    copy: Copy | None = None
    for step in case["steps"]:
        now = step.get("now", NOW)
        copy = learned(copy, step, now=now)
        assert served(copy, now=now) == step["serves"]


def learned(copy: Copy | None, step: dict[str, Any], *, now: float) -> Copy | None:
    if step["do"] == "read":
        return after_read(copy, read_copy(step["answer"], tick=step["tick"], now=now), began=step["began"])
    if step["do"] == "write":
        return after_write(
            copy,
            write_of(step),
            version=step["version"],
            epoch=step["epoch"],
            began=step["began"],
            tick=step["tick"],
            now=now,
        )
    return copy


def served(copy: Copy | None, *, now: float) -> dict[str, Any] | None:
    if copy is None or not copy.is_served(now):
        return None
    found = predict(copy, (), me="p", now=now)
    return {"body": found.body, "version": max(found.version or 0, 0)}


@cases("predictions")
def test_predictions(case: dict[str, Any]) -> None:
    """SD-4: what a read shows while writes wait, and the version that the next write may demand."""
    form = case["copy"]
    copy = None
    if form is not None:
        copy = Copy(
            body=form["body"],
            version=form["version"],
            epoch="e",
            floor=form["version"],
            learned=form["learned"],
        )
    found = predict(copy, [write_of(each) for each in case["waiting"]], me="p", now=NOW)
    assert {"body": found.body, "version": found.version} == case["expect"]


@cases("backoff")
def test_backoff(case: dict[str, Any]) -> None:
    """SD-4: pauses grow to a bound, and never undercut what the server asks for."""
    pause = Backoff(first=case["first"], longest=case["longest"]).pause(
        case["tries"], chance=case["chance"], asked=case["asked"]
    )
    assert pause == pytest.approx(case["expect"])


@pytest.mark.parametrize("kind", ["memory", "file"])
@cases("outbox")
def test_outboxes(case: dict[str, Any], kind: str, tmp_path: Path) -> None:
    """SD-4, SD-5: order, claims, times and refusals, the same in memory and in a file."""
    tmp_path.chmod(0o700)
    outbox: Outbox = MemoryOutbox() if kind == "memory" else FileOutbox(tmp_path / "outbox.sqlite")
    outbox.bind("account")
    play = Play(outbox)
    for step in case["steps"]:
        if "expect" in step:
            assert play.ask(step) == step["expect"], step
        else:
            play.tell(step)
    outbox.close()


class Play:
    """An outbox, and the numbers by which it knows what it gave out."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox, self.entries = outbox, dict[str, Entry]()

    def tell(self, step: dict[str, Any]) -> None:
        do, box = step["do"], self.outbox
        if do == "add":
            form = {
                "mode": "merge_by_key",
                "body": {"write": step["write"]},
                "if_version": step.get("if_version"),
            }
            box.add(write_of(form, name=state(step), key=f"k-{step['write']}"), due_at=step["due"])
        elif do == "dismiss":
            box.dismiss(state(step))
        elif do == "hurry":
            box.hurry(now=step["now"])
        else:
            self.end(step, self.entries[step["write"]].number)

    def end(self, step: dict[str, Any], number: int) -> None:
        behind = step.get("behind", "")
        if step["do"] == "remove":
            self.outbox.remove(number, behind=behind)
        elif step["do"] == "retry":
            self.outbox.retry(number, due_at=step["due"], is_asked=step.get("asked", False))
        else:
            self.outbox.refuse(
                number,
                code=step["code"],
                request_id=step["request"],
                with_body=not step.get("without_body"),
                behind=behind,
            )

    def ask(self, step: dict[str, Any]) -> Any:
        do, box = step["do"], self.outbox
        if do == "claim":
            return self.claim(step)
        if do == "due":
            return sorted(name.id for name in box.due(now=step["now"]))
        if do == "conflicts":
            found = box.conflicts(state(step))
            return [[(each.body or {}).get("write"), each.code, each.request_id] for each in found]
        if do == "waiting":
            return [write.fields["write"] for write in box.waiting(state(step))]
        return box.count() if do == "count" else box.next_due()

    def claim(self, step: dict[str, Any]) -> str | None:
        entry = self.outbox.claim(state(step), now=step["now"], until=step["until"])
        if entry is None:
            return None
        name: str = entry.write.fields["write"]
        self.entries[name] = entry
        assert entry.tries == step.get("tries", entry.tries)
        return name


def state(step: dict[str, Any]) -> StateName:
    return StateName("conversation", step["state"], "a")
