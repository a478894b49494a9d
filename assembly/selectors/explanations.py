"""Why a model saw a record, or did not: the same policy evaluated again over the same graph (CA-17)."""

from datetime import datetime
from uuid import UUID

from assembly import access
from assembly.documents import bounds_of, policy_for
from assembly.errors import PolicyUnknown
from assembly.models import ContextAssembly
from assembly.selectors.again import again_if_resealed
from assembly.selectors.assemblies import assembly_row
from assembly.selectors.contents import Contents
from assembly.selectors.graphs import SeenGraph, seen_graph
from assembly.selectors.provenance import chain_of
from assembly.selectors.snapshots import candidate_of, named_rows, snapshot_of
from assembly.types import AssemblerVersions, RuleValue, Why
from lastro.assembly.assembler import assemble, why
from lastro.assembly.errors import AssemblyError
from lastro.assembly.policy import Policy
from lastro.assembly.records import Reference
from lastro.assembly.request import parse_request
from lastro.assembly.results import ASSEMBLER_VERSION, Explanation
from lastro.assembly.snapshot import AssemblyRequest, Snapshot
from workspaces.documents import Live
from workspaces.types import WorkspaceRef


@again_if_resealed
def explain(
    *, workspace: WorkspaceRef, assembly_id: UUID, reference: Reference, live: Live, now: datetime
) -> Why:
    """Say why an assembly showed a record or left it out (CA-17): names, versions and reasons, never content.

    The policy of then is evaluated again over the graph as of then. What has gone since may change what is said:
    `is_reproduced` and `gone` tell. Raises NotFound, PolicyUnknown.
    """
    row = assembly_row(assembly_id, now=now)
    seen = seen_graph(workspace, row.graph, bounds_of(live), position=row.position)
    policy = _policy_of(row, live)
    request = parse_request(row.request, workspace=str(workspace.id))
    snapshot = snapshot_of(seen, request, policy, named_rows(seen, request), now=now)
    beyond = None
    if reference not in {candidate.reference for candidate in snapshot.candidates}:
        beyond = candidate_of(seen, request, reference, now=now)
    told = why(request, snapshot, policy, reference=reference, beyond=beyond)
    return _answer(row, told, seen, is_reproduced=_digest(seen, request, snapshot, policy, now) == row.digest)


def _policy_of(row: ContextAssembly, live: Live) -> Policy:
    """Give the policy of then. Whoever asks why names none: where it is gone, no place of the question is at fault."""
    try:
        return policy_for(live, name=row.policy, version=row.policy_version)
    except PolicyUnknown:
        raise PolicyUnknown from None


def _answer(row: ContextAssembly, told: Explanation, seen: SeenGraph, *, is_reproduced: bool) -> Why:
    return Why(
        outcome=told.outcome,
        form=told.form,
        reason=told.reason,
        rules=tuple(RuleValue(said.rule, said.outcome, said.form, said.detail) for said in told.rules),
        provenance=chain_of(seen, told.reference),
        assembler=AssemblerVersions(row.assembler, ASSEMBLER_VERSION),
        is_reproduced=is_reproduced,
        gone=row.position - access.records_of(row.graph).filter(position__lte=row.position).count(),
    )


def _digest(
    seen: SeenGraph, request: AssemblyRequest, snapshot: Snapshot, policy: Policy, now: datetime
) -> str:
    """Decide again; a graph that has lost what that needs gives no digest."""
    contents = Contents(seen, now=now)
    try:
        return assemble(request, snapshot, policy, read=contents.read, fetch=contents.fetch).digest
    except AssemblyError:
        return ""
