"""The assembly: a query over a snapshot of the graph, bounded by a policy, and the account of it (CA-9 to CA-18).

Pure: no clock (`as_of` is the request's), no I/O but the reader that is given, no order but that of the records' names.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from lastro.assembly.decisions import policy_decisions
from lastro.assembly.errors import CheckpointMissing
from lastro.assembly.locators import content_at, digest_of, repaired
from lastro.assembly.policy import Policy
from lastro.assembly.records import Locator, Reference, ToolMemory, reference_to
from lastro.assembly.results import (
    ASSEMBLER_VERSION,
    Assembly,
    Decision,
    Explanation,
    RuleSaid,
)
from lastro.assembly.rules import admits, verdict_of, verdicts
from lastro.assembly.rules.budget import FRAME_SIZE, Admitted, in_order, within_budget
from lastro.assembly.rules.situation import Omission, Situation, Standing, Verdict
from lastro.assembly.snapshot import AssemblyRequest, Candidate, Reader, Reason, Size, Snapshot


def _fetch_nothing(artifacts: Collection[str]) -> None:
    """Leave it to the reader: it gives each payload when it is asked for it."""


def assemble(
    request: AssemblyRequest,
    snapshot: Snapshot,
    policy: Policy,
    *,
    read: Reader,
    fetch: Callable[[Collection[str]], None] = _fetch_nothing,
) -> Assembly:
    """Decide what of a snapshot is shown, in which form, and why the rest is not (CA-11 to CA-15).

    `read` is asked for a payload only after every rule admitted its record, within the policy's `raw_bytes`; before
    that `fetch` is told all artifacts that it will be asked for, for a store that gets them at once.
    Raises ContextBudgetExceeded where the protected minimum does not fit, CheckpointMissing for a resume without one.
    """
    situation = Situation(request, snapshot, policy, admits)
    _require_checkpoint(situation)
    decisions = _decided(situation)
    _require_resumable(decisions, situation)
    fetch(_read_for(decisions))
    contents = {
        decision.reference: content
        for decision in decisions
        if decision.form == "raw" and (content := _content(decision.candidate, policy, read)) is not None
    }
    settled = tuple(_settled(decision, contents) for decision in decisions)
    return _account(situation, settled, contents)


def why(
    request: AssemblyRequest,
    snapshot: Snapshot,
    policy: Policy,
    *,
    reference: Reference,
    beyond: Candidate | None = None,
) -> Explanation:
    """Say why a record was shown or not: what each rule says of it, evaluated again (CA-17).

    The snapshot is the one of that assembly's position. `beyond` is the record where it is not among its candidates:
    then no rule but the bound on their number may have left it out.
    """
    situation = Situation(request, snapshot, policy, admits)
    decided = {decision.reference: decision for decision in _decided(situation)}
    decision = decided.get(reference)
    if decision is None:
        return _explained_beyond(beyond, situation) if beyond else Explanation(reference, "absent")
    said = [_said(rule, verdict) for rule, verdict in verdicts(decision.candidate, situation)]
    if said[-1].form:
        said.append(_said("budget", decision.verdict))
    outcome: Literal["included", "omitted"] = "included" if decision.form else "omitted"
    return Explanation(reference, outcome, decision.form, decision.reason, tuple(said))


def _explained_beyond(candidate: Candidate, situation: Situation) -> Explanation:
    said = [_said(rule, verdict) for rule, verdict in verdicts(candidate, situation)]
    last = verdict_of(candidate, situation)
    if isinstance(last, Standing):
        last = Omission("candidate_limit")
        said.append(_said("gathering", last))
    return Explanation(candidate.reference, "omitted", None, last.reason, tuple(said))


def _said(rule: str, verdict: Verdict) -> RuleSaid:
    if isinstance(verdict, Omission):
        return RuleSaid(rule, verdict.reason, None, verdict.detail)
    return RuleSaid(rule, "passed", verdict.form, verdict.stale)


def _require_checkpoint(situation: Situation) -> None:
    request = situation.request
    if request.kind == "parent_resume" and not request.checkpoint:
        raise CheckpointMissing("a resume names its checkpoint")
    if request.checkpoint and situation.checkpoint is None:
        raise CheckpointMissing(request.checkpoint)


def _require_resumable(decisions: Iterable[Decision], situation: Situation) -> None:
    """Refuse a checkpoint that its asker may not see: what it names must not be shown either."""
    if situation.checkpoint is None:
        return
    name = reference_to(situation.checkpoint)
    if not any(decision.reference == name and decision.form for decision in decisions):
        raise CheckpointMissing(name.id)


def _decided(situation: Situation) -> list[Decision]:
    candidates = sorted(situation.snapshot.candidates, key=lambda candidate: candidate.reference)
    first = [(candidate, verdict_of(candidate, situation)) for candidate in candidates]
    admitted = [Admitted(one, verdict) for one, verdict in first if isinstance(verdict, Standing)]
    last = within_budget(admitted, situation)
    return [Decision(one, last.get(one.reference, verdict)) for one, verdict in first]


def _read_for(decisions: Iterable[Decision]) -> frozenset[str]:
    """Name the artifacts whose payloads are shown raw, or pointed into by a memory that is."""
    raw = [decision.candidate.record for decision in decisions if decision.form == "raw"]
    pointed = (record.locators for record in raw if isinstance(record, ToolMemory))
    whole = (record.id for record in raw if not isinstance(record, ToolMemory))
    return frozenset((*whole, *(locator.artifact for locators in pointed for locator in locators)))


def _content(candidate: Candidate, policy: Policy, read: Reader) -> bytes | None:
    record = candidate.record
    if isinstance(record, ToolMemory):
        return _excerpt(record, policy, read)
    payload = read(record.id)
    if payload is None or candidate.result_sha256 not in (None, digest_of(payload)):
        return None
    return payload


def _excerpt(memory: ToolMemory, policy: Policy, read: Reader) -> bytes | None:
    """Give what a memory's locators point at, each checked against its digest; None where one does not hold."""
    found = [_located(locator, policy, read) for locator in memory.locators]
    whole = [content for content in found if content is not None]
    return b"\n".join(whole) if len(whole) == len(found) else None


def _located(locator: Locator, policy: Policy, read: Reader) -> bytes | None:
    payload = read(locator.artifact)
    if payload is None:
        return None
    repair = repaired(locator, payload, attempts=policy.repair_attempts)
    return None if repair.state == "broken" else content_at(repair.locator, payload)


def _settled(decision: Decision, contents: Mapping[Reference, bytes]) -> Decision:
    if decision.form == "raw" and decision.reference not in contents:
        return Decision(decision.candidate, Omission("broken_provenance", "payload"))
    return decision


def _account(
    situation: Situation, decisions: tuple[Decision, ...], contents: Mapping[Reference, bytes]
) -> Assembly:
    selected = _shown(decisions, situation)
    omitted = Counter(situation.snapshot.counted)
    omitted.update(decision.reason for decision in decisions if decision.reason)
    branches = omitted.pop("other_branch", 0)
    return Assembly(
        policy=situation.policy.name,
        policy_version=situation.policy.version,
        position=situation.snapshot.position,
        as_of=_written(situation.request.as_of),
        selected=selected,
        decisions=decisions,
        omitted=dict(sorted(omitted.items())),
        branch_exclusions=branches,
        considered=len(selected) + branches + omitted.total(),
        naive=situation.snapshot.naive,
        assembled=_size(selected),
        digest=_digest(situation, decisions, omitted, branches),
        policy_decisions=policy_decisions(decisions, situation.policy),
        contents=contents,
    )


def _shown(decisions: Iterable[Decision], situation: Situation) -> tuple[Decision, ...]:
    """Put what is shown in its order: data in the order of inclusion, then what was said, from the oldest on."""
    shown = {
        decision.reference: Admitted(decision.candidate, decision.verdict)
        for decision in decisions
        if isinstance(decision.verdict, Standing)
    }
    ordered = in_order(shown.values(), situation)
    data = [one for one in ordered if one.standing.form != "message"]
    said = sorted(
        (one for one in ordered if one.standing.form == "message"), key=lambda one: one.candidate.placed
    )
    return tuple(Decision(one.candidate, one.standing) for one in (*data, *_last_answered(said, situation)))


def _last_answered(said: Sequence[Admitted], situation: Situation) -> list[Admitted]:
    """Put the message answered behind the others: a reply of another participant may have come since (X5)."""
    answered = situation.request.answers
    is_later = {id(one): one.candidate.record.id == answered for one in said}
    return sorted(said, key=lambda one: is_later[id(one)])


def _size(selected: Iterable[Decision]) -> Size:
    sizes = [
        Admitted(decision.candidate, decision.verdict).size
        for decision in selected
        if isinstance(decision.verdict, Standing)
    ]
    is_framed = any(decision.form != "message" for decision in selected)
    return sum(sizes, FRAME_SIZE if is_framed else Size())


def _digest(
    situation: Situation, decisions: Iterable[Decision], omitted: Mapping[Reason, int], branches: int
) -> str:
    """Give the SHA-256 of every decision by name: no order of rows, no process, no zone is in it (CA-18)."""
    request = situation.request
    told = {
        "assembler": ASSEMBLER_VERSION,
        "policy": [situation.policy.name, situation.policy.version],
        "position": situation.snapshot.position,
        "as_of": _written(request.as_of),
        "for": [request.conversation, request.branch, request.participant, request.kind, request.route],
        "decisions": [_told(decision) for decision in decisions],
        "omitted": sorted(omitted.items()),
        "branches": branches,
    }
    text = json.dumps(told, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _told(decision: Decision) -> list[object]:
    reference, verdict = decision.reference, decision.verdict
    conflicts = list(verdict.conflicts) if isinstance(verdict, Standing) else []
    stale = verdict.stale if isinstance(verdict, Standing) else ""
    return [reference.type, reference.id, decision.form, decision.reason, stale, conflicts]


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
