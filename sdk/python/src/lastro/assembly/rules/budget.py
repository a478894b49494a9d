"""Rule 14: what fits, in the order of inclusion (CA-11), and that the protected minimum always does (CA-12)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lastro.assembly.errors import ContextBudgetExceeded
from lastro.assembly.records import ContinuationCheckpoint, Message, Reference, ToolArtifact, ToolMemory
from lastro.assembly.rules.promotion import is_waited_for
from lastro.assembly.rules.situation import (
    Omission,
    Situation,
    Standing,
    Verdict,
    is_needed_exact,
    is_unresolved,
)
from lastro.assembly.snapshot import Candidate, Size, Step

CONFLICT_SIZE = Size(tokens=40, bytes=100)
"""What naming one other side of a conflict takes at most: it is not known yet when a size is stored."""

FRAME_SIZE = Size(tokens=24, bytes=120)
"""What the words take that stand before recorded data, whatever follows (CA-19)."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A candidate that every rule before the budget lets in."""

    candidate: Candidate
    standing: Standing

    @property
    def size(self) -> Size:
        """Give what it takes in its form."""
        stored = self.candidate.sizes.get(self.standing.form, Size())
        marks = len(self.standing.conflicts)
        return stored + Size(CONFLICT_SIZE.tokens * marks, CONFLICT_SIZE.bytes * marks)

    @property
    def raw_bytes(self) -> int:
        """Give how much of a payload it brings."""
        if self.standing.form != "raw":
            return 0
        return self.candidate.result_bytes or self.size.bytes

    @property
    def is_windowed(self) -> bool:
        """Say whether it is a message that may fall out of the window."""
        return self.standing.form == "message" and not self.standing.protected


@dataclass(slots=True)
class _Room:
    """What is left of the budget while it is filled."""

    situation: Situation
    spent: Size = FRAME_SIZE
    raw: int = 0
    is_tail: bool = True
    outcomes: dict[Reference, Verdict] = field(default_factory=dict[Reference, Verdict])

    def offer(self, one: Admitted) -> None:
        fits = one.standing.protected or self._has_room(one)
        fits = fits and (self.is_tail or not one.is_windowed)
        if fits:
            self.spent, self.raw = self.spent + one.size, self.raw + one.raw_bytes
        elif one.is_windowed:
            self.is_tail = False
        self.outcomes[one.candidate.reference] = one.standing if fits else Omission("over_budget")

    def _has_room(self, one: Admitted) -> bool:
        if self.raw + one.raw_bytes > self.situation.policy.raw_bytes:
            return False
        return not exceeded(self.spent + one.size, self.situation)


def within_budget(admitted: Iterable[Admitted], situation: Situation) -> dict[Reference, Verdict]:
    """Give each admitted candidate its outcome, filled in the order of inclusion.

    Of the messages an unbroken tail stays: where one does not fit, none before it enters. Raises ContextBudgetExceeded.
    """
    inside, outside = _window(admitted, situation)
    ordered = in_order(inside, situation)
    _require_minimum([one for one in ordered if one.standing.protected], situation)
    room = _Room(situation)
    for one in ordered:
        room.offer(one)
    beyond: dict[Reference, Verdict] = {
        one.candidate.reference: Omission("candidate_limit") for one in outside
    }
    return {**_without_dangling(room.outcomes, inside), **beyond}


def exceeded(size: Size, situation: Situation) -> tuple[str, int, int] | None:
    """Say which budget a size exceeds: its unit, what is needed, what is allowed."""
    request = situation.request
    if request.budget_tokens is not None and size.tokens > request.budget_tokens:
        return "tokens", size.tokens, request.budget_tokens
    if request.budget_bytes is not None and size.bytes > request.budget_bytes:
        return "bytes", size.bytes, request.budget_bytes
    return None


def in_order(admitted: Iterable[Admitted], situation: Situation) -> list[Admitted]:
    """Sort by the order of inclusion: recovery, exact needs, checkpoint, the message answered, messages, memories."""
    messages: list[Admitted] = []
    others: list[Admitted] = []
    for one in admitted:
        (messages if one.is_windowed else others).append(one)
    messages.sort(key=lambda one: one.candidate.placed, reverse=True)
    others.sort(key=lambda one: _rank(one, situation))
    first = [one for one in others if _tier(one, situation) < _MEMORIES]
    return [*first, *messages, *others[len(first) :]]


_RECOVERY, _EXACT, _CHECKPOINT, _ANSWERED, _MEMORIES = range(5)


def _tier(one: Admitted, situation: Situation) -> int:
    record = one.candidate.record
    if isinstance(record, ContinuationCheckpoint):
        return _CHECKPOINT
    if is_unresolved(one.candidate):
        return _RECOVERY
    if isinstance(record, Message):
        return _ANSWERED
    if is_needed_exact(one.candidate, situation) or is_waited_for(one.candidate, situation):
        return _EXACT
    return _EXACT if one.standing.form == "raw" else _MEMORIES


def _rank(one: Admitted, situation: Situation) -> tuple[int, bool, int, float, str, str]:
    """Rank within the tiers: skills first, then by distance in the lineage, newest observation, type and id."""
    candidate = one.candidate
    record = candidate.record
    seen = record.observed_at if isinstance(record, ToolMemory) else record.recorded_at
    distance = distance_of(candidate, situation)
    is_skill = one.standing.form == "skill"
    return (_tier(one, situation), not is_skill, distance, -seen.timestamp(), record.id, record.wire)


def distance_of(candidate: Candidate, situation: Situation) -> int:
    """Give how many branches up a record stands; what is only shared stands behind the whole lineage."""
    lineage = situation.snapshot.lineage
    far = Step(candidate.record.branch, len(lineage) + 1)
    step = lineage.get(candidate.record.branch, far)
    return step.distance if step.holds(candidate.placed) else far.distance


def _window(admitted: Iterable[Admitted], situation: Situation) -> tuple[list[Admitted], Sequence[Admitted]]:
    """Part what is considered from the messages before the latest ones; a moderator's directives in a debate stay."""
    everything = list(admitted)
    windowed = [one for one in everything if one.is_windowed and not _is_directive(one, situation)]
    windowed.sort(key=lambda one: one.candidate.placed)
    outside = windowed[: max(len(windowed) - situation.policy.recent_messages, 0)]
    left = {one.candidate.reference for one in outside}
    return [one for one in everything if one.candidate.reference not in left], outside


def _is_directive(one: Admitted, situation: Situation) -> bool:
    record = one.candidate.record
    is_moderator = isinstance(record, Message) and record.role == "moderator"
    return is_moderator and situation.request.kind == "autonomous"


def _require_minimum(protected: Sequence[Admitted], situation: Situation) -> None:
    size = sum((one.size for one in protected), FRAME_SIZE)
    over = exceeded(size, situation)
    if over:
        unit, needed, allowed = over
        references = tuple(one.candidate.record.id for one in protected)
        raise ContextBudgetExceeded(unit=unit, needed=needed, allowed=allowed, references=references)


def _without_dangling(
    outcomes: Mapping[Reference, Verdict], admitted: Iterable[Admitted]
) -> dict[Reference, Verdict]:
    """Leave out memories whose words need others that are not shown beside them."""
    needs = {
        one.candidate.reference: [Reference(ToolMemory.wire, id) for id in one.candidate.record.depends_on]
        for one in admitted
        if isinstance(one.candidate.record, ToolMemory) and one.candidate.record.depends_on
    }
    kept = dict(outcomes)
    for _ in needs:
        for reference, others in needs.items():
            if not all(_is_shown(kept.get(other)) for other in others) and _is_shown(kept[reference]):
                kept[reference] = Omission("broken_provenance", "depends_on")
    return kept


def _is_shown(verdict: Verdict | None) -> bool:
    return isinstance(verdict, Standing) and verdict.form in ("memory", "raw")


def takes_payload(candidate: Candidate) -> bool:
    """Say whether showing a record raw means to read a payload."""
    return isinstance(candidate.record, ToolArtifact | ToolMemory)
