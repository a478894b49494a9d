"""Every table of the project: in which file of a package it stands and which step erases it, or why it needs neither.

A test holds it against the tables, the files and the steps: who adds a table says here what becomes of it (PR-10,
PR-18).
"""

from collections.abc import Mapping

import msgspec


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a table's rows: `exported` names a file of a package, `erased` a step of an erasure."""

    exported: str = ""
    erased: str = ""
    why: str = ""
    """Why it is not exported, or not erased: said where either is missing."""


_STATES, _HISTORY, _GRAPH, _HANDLES = "agent_states.jsonl", "history.jsonl", "graph.jsonl", "handles.jsonl"

_OF_DEPLOYMENT = "It is about the deployment or a workspace, and about nobody whom an agent talks with."
_OF_STAFF = "It is about people who work here: their own workspace removes them."
_OF_GOVERNANCE = "It is the proof of what was done: ids and pseudonyms, which stay for as long as the audit."
_COUNTS = "It counts, and names nobody."
_BESIDE = "It says how what stands in another file is kept, and nothing more about the person."
_KEYS = "Keys go with what they seal; they say nothing."
_HELD = "A legal hold keeps it apart from who is served, and what it kept goes when the hold ends."

TABLES: Mapping[str, Kept] = {
    "agentstate.State": Kept(exported=_STATES, erased="working_memory"),
    "agentstate.ErasedRead": Kept(erased="working_memory", why=_BESIDE),
    "agentstate.KeptVersion": Kept(why=_HELD),
    "agentstate.SweepRun": Kept(why=_COUNTS),
    "history.Session": Kept(exported=_HISTORY, erased="history"),
    "history.Item": Kept(exported=_HISTORY, erased="history"),
    "history.KeptItem": Kept(why=_HELD),
    "history.Usage": Kept(why=_COUNTS),
    "history.HistorySweep": Kept(why=_COUNTS),
    "assembly.Graph": Kept(exported=_GRAPH, erased="graph"),
    "assembly.GraphPerson": Kept(erased="graph", why=_BESIDE),
    "assembly.GraphRecord": Kept(exported=_GRAPH, erased="graph"),
    "assembly.Link": Kept(erased="graph", why=_BESIDE),
    "assembly.Payload": Kept(exported=_GRAPH, erased="graph"),
    "assembly.LooseBlob": Kept(erased="graph", why="It names a sealed file that is about to be removed."),
    "assembly.ContextAssembly": Kept(
        erased="graph", why="It names the records that a model was shown, which the package holds."
    ),
    "assembly.PolicyDecision": Kept(
        erased="graph", why="It names the records that a rule decided about, which the package holds."
    ),
    "assembly.GraphSweep": Kept(why=_COUNTS),
    "privacy.ErasureRequest": Kept(exported="erasures.jsonl", why=_OF_GOVERNANCE),
    "privacy.ErasureStep": Kept(why=_OF_GOVERNANCE),
    "privacy.PackageRun": Kept(erased="packages", why="It is the package itself."),
    "privacy.PackageChunk": Kept(erased="packages", why="It is the package itself."),
    "workspaces.Profile": Kept(exported=_HANDLES, erased="people"),
    "workspaces.Handle": Kept(exported=_HANDLES, erased="people"),
    "workspaces.WrappedKey": Kept(erased="people", why=_KEYS),
    "workspaces.RetiredKey": Kept(why=_KEYS),
    "workspaces.HeldKey": Kept(why=_KEYS),
    "workspaces.DeploymentKey": Kept(why=_OF_DEPLOYMENT),
    "workspaces.SigningKey": Kept(why=_OF_DEPLOYMENT),
    "workspaces.Tombstone": Kept(
        why="It is a keyed hash that keeps what was erased from coming back, and no name."
    ),
    "workspaces.Erasure": Kept(why=_OF_GOVERNANCE),
    "workspaces.ErasedItem": Kept(why="It is a digest whose key goes with the receipt, and goes with it."),
    "workspaces.Hold": Kept(why=_OF_GOVERNANCE),
    "workspaces.RememberedAnswer": Kept(why="It is a hash of a request, for a day."),
    "workspaces.Workspace": Kept(why=_OF_DEPLOYMENT),
    "workspaces.Source": Kept(why=_OF_DEPLOYMENT),
    "workspaces.ApiKey": Kept(why=_OF_DEPLOYMENT),
    "workspaces.Document": Kept(why=_OF_DEPLOYMENT),
    "workspaces.DocumentHead": Kept(why=_OF_DEPLOYMENT),
    "workspaces.Outgoing": Kept(why=_OF_GOVERNANCE),
    "workspaces.FourEyes": Kept(why=_OF_DEPLOYMENT),
    "workspaces.ChangeRequest": Kept(why=_OF_GOVERNANCE),
    "workspaces.Approval": Kept(why=_OF_GOVERNANCE),
    "workspaces.Person": Kept(why=_OF_STAFF),
    "workspaces.PersonalToken": Kept(why=_OF_STAFF),
    "workspaces.Role": Kept(why=_OF_STAFF),
    "workspaces.Membership": Kept(why=_OF_STAFF),
    "workspaces.Invitation": Kept(why=_OF_STAFF),
    "workspaces.StaffSession": Kept(why=_OF_STAFF),
    "workspaces.SecondFactor": Kept(why=_OF_STAFF),
    "workspaces.RecoveryCode": Kept(why=_OF_STAFF),
    "workspaces.OpenIdAccount": Kept(why=_OF_STAFF),
    "workspaces.FailingNetwork": Kept(why=_OF_STAFF),
    "workspaces.ScheduledRun": Kept(why=_OF_DEPLOYMENT),
    "workspaces.UsageHour": Kept(why=_COUNTS),
    "workspaces.AuditEntry": Kept(why=_OF_GOVERNANCE),
    "workspaces.AuditHead": Kept(why=_OF_GOVERNANCE),
    "workspaces.DeploymentAuditEntry": Kept(why=_OF_GOVERNANCE),
    "workspaces.DeploymentAuditHead": Kept(why=_OF_GOVERNANCE),
}
