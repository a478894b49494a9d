"""Playing a case on a stage: what is stored, each act, what it answered, and everything that was served."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lastro.errors import LastroError
from lastro.history.errors import DecisionHistoryBusy, DecisionHistoryNotFound
from lastro.history.records import Message, NewItem, Snapshot
from lastro.history.sessions import Session
from lastro.history.windows import Window
from lastro.testing.cases.case import Case, Step, elements, item_id, members
from lastro.testing.cases.deciding import Running
from lastro.testing.cases.stage import CONVERSATION, Stage

BEGIN = Step("append", {})


@dataclass(frozen=True, slots=True)
class Ran:
    """One act that was played: what came of it (`ok`, `busy`, `not_found` or `refused`), and what it gave.

    `path` are the ids of the stored items that a window was chosen from, in order; `gone` of those that left it for
    good, as a summary would cover them.
    """

    step: Step
    outcome: str
    error: LastroError | None = None
    window: Window | None = None
    path: Sequence[str] = ()
    gone: Sequence[str] | None = None
    snapshot: Snapshot | None = None
    value: Any = None


Act = Callable[["Play", Step], Ran]


@dataclass(slots=True, kw_only=True)
class Play:
    """One case on one stage. `repair` serves a broken history without what breaks it.

    `leaves` are the items that were stored last in each session, and `homes` the sessions of the items, by their keys.
    """

    case: Case
    stage: Stage
    repair: bool = False
    ran: list[Ran] = field(default_factory=list[Ran])
    stored: dict[str, Message] = field(default_factory=dict[str, Message])
    parents: dict[str, str] = field(default_factory=dict[str, str])
    leaves: dict[str, str] = field(default_factory=dict[str, str])
    homes: dict[str, str] = field(default_factory=dict[str, str])
    running: dict[str, Running] = field(default_factory=dict[str, Running])

    def run(self, acts: Mapping[str, Act]) -> None:
        """Store what is given, then do every act; an act that is refused is noted, and the next one done."""
        self.ran.append(self._answered(BEGIN, store_given))
        if self.ran[0].outcome == "ok":
            for step in self.case.steps:
                self.ran.append(self._answered(step, acts[step.do]))
        for decision in self.running.values():
            decision.end()

    def session(self, *, tenant: str = "", conversation: str = "", worker: str = "") -> Session:
        """Give a session of the case: by default the one that a tenant owns."""
        return self.stage.session(
            provider=self.case.provider,
            tenant=tenant,
            conversation=conversation or self.conversation_of(tenant),
            repair=self.repair,
            dialect=self.case.dialect,
            worker=worker,
        )

    def conversation_of(self, tenant: str) -> str:
        """Name the conversation of a tenant."""
        owned = members(members(self.case.input.get("tenants")).get(tenant))
        return str(owned.get("conversation") or CONVERSATION)

    def path_to(self, session: Session, leaf: str = "") -> Sequence[str]:
        """List the ids from the root to an item, by default to the one that was stored last in a session."""
        path: list[str] = []
        leaf = leaf or self.leaf_of(session)
        while leaf:
            path.insert(0, leaf)
            leaf = self.parents.get(leaf, "")
        return path

    def leaf_of(self, session: Session) -> str:
        """Name the item that was stored last in a session, "" for none."""
        return self.leaves.get(session.key.digest, "")

    @property
    def own(self) -> Mapping[str, Message]:
        """Give what is stored in the session of the case itself."""
        key = self.session().key.digest
        return {name: message for name, message in self.stored.items() if self.homes[name] == key}

    def note(self, session: Session, name: str, message: Message, *, parent: str | None = None) -> None:
        """Note that a message is stored; behind the last one of its session where no parent is named."""
        if name not in self.stored:
            self.parents[name] = self.leaf_of(session) if parent is None else parent
            self.stored[name] = message
            self.homes[name] = session.key.digest
            self.leaves[session.key.digest] = name

    def append(
        self, session: Session, items: Sequence[NewItem], *, key: str = "", create: bool = True
    ) -> None:
        """Store messages behind the leaf, or where they say, under ids that the checks know."""
        timed = [
            replace(item, recorded_at=self.stored_at(item.id), expires_at=self._expires_at(item.id))
            for item in items
        ]
        session.transact(lambda view: session.draft.appended(view, timed, key=key), create=create)
        for item in items:
            self.note(session, item.id, item.message, parent=item.parent or None)

    def stored_at(self, name: str) -> float | None:
        """Give the time at which the case stores a message, where it says one."""
        return self._number("stored_at", name)

    def _expires_at(self, name: str) -> float | None:
        begun, ends = self.stored_at(name), self._number("expires_at", name)
        lives = (step.members["messages_ttl"] for step in self.case.steps if "messages_ttl" in step.members)
        ttl = next(lives, None)
        return begun + float(ttl) if ttl is not None and begun is not None else ends

    def _number(self, member: str, name: str) -> float | None:
        numbers, place = elements(self.case.input.get(member)), name.removeprefix("m")
        if not place.isdecimal() or int(place) >= len(numbers) or numbers[int(place)] is None:
            return None
        return float(numbers[int(place)])

    def _answered(self, step: Step, act: Act) -> Ran:
        try:
            return act(self, step)
        except DecisionHistoryBusy as error:
            return Ran(step, "busy", error)
        except DecisionHistoryNotFound as error:
            return Ran(step, "not_found", error)
        except LastroError as error:
            return Ran(step, "refused", error)


def store_given(play: Play, step: Step) -> Ran:
    """Store what the case begins with: a tree, the conversations of tenants, or messages in a row."""
    case = play.case
    tenants: Mapping[str, Any] = members(case.input.get("tenants"))
    for tenant, owned in tenants.items():
        play.append(play.session(tenant=tenant), items_of(owned["messages"], label=tenant))
    if "tree" in case.input:
        _store_tree(play, case.input["tree"])
    elif not case.appends_itself and "stored_at" not in case.input and not tenants:
        given = [
            NewItem(message, id=name, provisional=is_provisional(case, name))
            for name, message in case.given.items()
        ]
        play.append(play.session(), given)
    return Ran(step, "ok")


def items_of(messages: Sequence[Message], *, label: str) -> Sequence[NewItem]:
    """Make items of messages, under ids that tell where they came from."""
    return [NewItem(message, id=f"{label}-{index}") for index, message in enumerate(messages)]


def is_provisional(case: Case, name: str) -> bool:
    """Tell whether a given message is the word that a result will come, and not the result."""
    return name in {item_id(index) for index in elements(case.input.get("provisional"))}


def store_until(play: Play, now: float) -> None:
    """Store the messages whose time has come."""
    times: Sequence[float] = elements(play.case.input.get("stored_at"))
    for index, time in enumerate(times):
        name = item_id(index)
        if time <= now and name not in play.stored:
            play.stage.clock.time = time
            play.append(play.session(), [NewItem(play.case.given[name], id=name)])


def _store_tree(play: Play, nodes: Sequence[Mapping[str, Any]]) -> None:
    session = play.session()
    for node in nodes:
        name, parent = str(node["id"]), str(node.get("parent") or "")
        session.append([NewItem(node["message"], id=name, parent=parent)])
        play.note(session, name, node["message"], parent=parent)
