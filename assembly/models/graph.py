"""The graph of a conversation: one row per record, and what the records say of each other (CA-1 to CA-3)."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models import Handle, Source, TenantModel

SAID = "message"
FOUND = "tool_artifact"
ASKED = "tool_call"
KNOWN = ("tool_memory", "skill_state", "checkpoint", "run_finished")
"""The types that a context may show, as they are ranked: what was said, found, asked for and kept (CA-11)."""


def name_field(**options: Any) -> "models.CharField[str, str]":
    """Make the column of a record's id: it is compared byte by byte, as the pure code compares it."""
    return models.CharField(max_length=64, db_collation="C", **options)


class Graph(TenantModel):
    """The runtime graph of one conversation: a unit of erasure with a data key of its own (PR-15).

    All sources of a workspace share it (CA-1). An erased one stays as a tombstone that holds nothing.
    """

    class Life(models.TextChoices):
        LIVE = "live"
        ERASED = "erased"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The id of its Conversation record; blank in a tombstone, which is found by the keyed hash of it.
    name = name_field()
    identity_hash = models.BinaryField(max_length=32)
    hash_key_id = models.UUIDField()
    # The keyed hash of the company's own id of it as a scope, so that what names the conversation finds it.
    conversation_hash = models.BinaryField(max_length=32, null=True)
    conversation_key_id = models.UUIDField(null=True)
    # The one person that it names, under whose key it is sealed; without one, or with several, the workspace's.
    handle = models.ForeignKey(Handle, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    life = models.CharField(max_length=8, choices=Life.choices, default=Life.LIVE)
    data_key_id = models.UUIDField(null=True)
    # The position of its last record. Positions begin at 1 and have no gap until something is removed.
    position = models.PositiveIntegerField(default=0)

    created_at = models.DateTimeField()
    touched_at = models.DateTimeField()
    due_at = models.DateTimeField()
    retention_document = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)
    # Set from the approval of an erasure on, until the row is its tombstone.
    erasure_id = models.UUIDField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two first batches for one conversation that race: the second sees the row of the first.
            models.UniqueConstraint(
                fields=["workspace", "name"],
                name="one_live_graph_per_conversation",
                condition=models.Q(life="live", erasure_id__isnull=True),
            ),
            # Stops a tombstone whose content could still be opened.
            models.CheckConstraint(
                condition=~models.Q(life="erased")
                | models.Q(data_key_id__isnull=True, handle__isnull=True, name="", position=0),
                name="an_erased_graph_holds_nothing",
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "identity_hash"],
                name="ended_graphs",
                condition=~models.Q(life="live") | models.Q(erasure_id__isnull=False),
            ),
            models.Index(
                fields=["workspace", "conversation_hash"],
                name="graphs_of_a_conversation",
                condition=models.Q(conversation_hash__isnull=False),
            ),
            models.Index(fields=["workspace", "due_at"], name="graphs_due"),
            models.Index(fields=["workspace", "retention_document"], name="graphs_to_settle"),
            models.Index(
                fields=["workspace", "erasure_id"],
                name="graphs_being_erased",
                condition=models.Q(erasure_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class GraphPerson(TenantModel):
    """A person whom a graph names: as a subject of the conversation, or as one of its participants (PR-10)."""

    id = models.BigAutoField(primary_key=True)
    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="people", db_index=False)
    handle = models.ForeignKey(Handle, on_delete=models.PROTECT, related_name="+", db_index=False)
    # The id of the Participant record that names the person; blank for a subject of the conversation.
    participant = name_field(default="")

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a batch that is sent again from naming somebody twice.
            models.UniqueConstraint(fields=["graph", "handle", "participant"], name="one_name_per_person")
        ]
        indexes = [models.Index(fields=["workspace", "handle"], name="graphs_of_a_handle")]

    def __str__(self) -> str:
        return str(self.pk)


class GraphRecord(TenantModel):
    """One record of a graph. What it says is ciphertext; what a query orders and bounds by stands in clear (CA-11).

    Rows are never changed but in what later records say of them: from which position on it is settled, taken up,
    promoted or shared. So the graph can be seen as it was at any position (CA-17).
    """

    id = models.BigAutoField(primary_key=True)
    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="+", db_index=False)
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+", db_index=False)
    position = models.PositiveIntegerField()
    # The record's `type` on the wire, and its id.
    kind = models.CharField(max_length=20, db_collation="C")
    name = name_field()
    # Of what it says, under the graph's data key: tells a record that is sent again from another one (CA-3).
    content_mac = models.BinaryField(max_length=16)

    # Of a Branch its parent, else where it stands; blank for none.
    branch = name_field(default="")
    participant = name_field(default="")
    run = name_field(default="")
    parent_run = name_field(default="")
    visibility = models.CharField(max_length=12, default="")
    privacy = models.CharField(max_length=12, default="")
    # Of an artifact its status, of a memory its freshness class, of a finished run how it ended.
    state = models.CharField(max_length=12, default="")
    tool = models.CharField(max_length=256, default="")
    shared_with = ArrayField(name_field(), default=list)

    # Where it stands in its branch: the time and the id of its message, else its own time and no id.
    # Of a Branch: of its fork message.
    placed_at = models.DateTimeField(null=True)
    placed_name = name_field(default="")
    recorded_at = models.DateTimeField(null=True)
    # When it was observed, of a memory; else when it was recorded.
    seen_at = models.DateTimeField(null=True)

    # Positions from which on something is true of it; null for not yet.
    # A message is final; a call, a failed artifact or a failed run is resolved.
    settled_at = models.PositiveIntegerField(null=True)
    # A call has an artifact; an artifact has a memory.
    taken_up_at = models.PositiveIntegerField(null=True)
    # A promotion shows it to somebody; one shows it to the whole conversation.
    promoted_at = models.PositiveIntegerField(null=True)
    shared_at = models.PositiveIntegerField(null=True)

    naive_tokens = models.PositiveIntegerField(default=0)
    naive_bytes = models.PositiveBigIntegerField(default=0)
    # The record as JSON without its payload, and what was measured of it.
    body = models.BinaryField()

    # By its retention class; null where the graph's own end is its end (CA-21).
    expires_at = models.DateTimeField(null=True)
    # Set from the approval of an erasure on: of its whole graph, or of this record alone where the graph names others
    # too (PR-10).
    erasure_id = models.UUIDField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two records of one type and id in a workspace: the second is the first again, or refused.
            # What is being erased is as if it had never been (PR-11), so its names are free.
            models.UniqueConstraint(
                fields=["workspace", "kind", "name"],
                name="one_record_per_name",
                condition=models.Q(erasure_id__isnull=True),
            ),
            # Stops two batches that race from taking one position.
            models.UniqueConstraint(fields=["graph", "position"], name="one_record_per_position"),
        ]
        indexes = [
            models.Index(
                fields=["graph"],
                name="records_unsettled",
                condition=models.Q(settled_at__isnull=True),
            ),
            models.Index(
                fields=["workspace", "expires_at"],
                name="records_due",
                condition=models.Q(expires_at__isnull=False),
            ),
            models.Index(
                fields=["workspace", "erasure_id"],
                name="records_being_erased",
                condition=models.Q(erasure_id__isnull=False),
            ),
            # The first of each rank, whatever the graph holds (CA-11): `selectors/snapshots/ranking.py`.
            models.Index(
                fields=["graph", "branch", "-seen_at", "name"],
                name="records_said",
                condition=models.Q(kind=SAID, erasure_id__isnull=True),
            ),
            models.Index(
                fields=["graph", "branch", "-seen_at", "name"],
                name="records_found",
                condition=models.Q(kind=FOUND, erasure_id__isnull=True),
            ),
            models.Index(
                fields=["graph", "run", "branch", "-seen_at", "name"],
                name="records_found_in_a_run",
                condition=models.Q(kind=FOUND, erasure_id__isnull=True),
            ),
            models.Index(
                fields=["graph", "branch", "-seen_at", "name", "kind"],
                name="records_known",
                condition=models.Q(kind__in=KNOWN, erasure_id__isnull=True),
            ),
            models.Index(
                fields=["graph", "-seen_at", "name", "kind"],
                name="records_newest",
                condition=models.Q(kind__in=(SAID, FOUND, *KNOWN), erasure_id__isnull=True),
            ),
            models.Index(
                fields=["graph", "-seen_at", "name", "kind"],
                name="records_shared",
                condition=models.Q(kind__in=(FOUND, ASKED, *KNOWN), erasure_id__isnull=True)
                & (models.Q(visibility="conversation") | models.Q(shared_at__isnull=False)),
            ),
            models.Index(
                fields=["graph", "taken_up_at"],
                name="calls_taken_up",
                condition=models.Q(kind=ASKED, erasure_id__isnull=True),
            ),
            models.Index(
                fields=["graph", "settled_at"],
                name="records_settled",
                condition=models.Q(kind__in=(FOUND, "run_finished"), erasure_id__isnull=True),
            ),
            # All that is counted and summed of a graph, without a look at its rows.
            models.Index(
                fields=["graph", "branch"],
                include=[
                    "workspace",
                    "position",
                    "kind",
                    "visibility",
                    "placed_at",
                    "placed_name",
                    "taken_up_at",
                    "shared_at",
                    "naive_tokens",
                    "naive_bytes",
                ],
                name="records_counted",
                condition=models.Q(kind__in=(SAID, FOUND, ASKED, *KNOWN), erasure_id__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class Link(TenantModel):
    """That one record names another, and as what: the reverse is asked of this table, never stored twice (CA-5)."""

    id = models.BigAutoField(primary_key=True)
    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="+", db_index=False)
    record = models.ForeignKey(GraphRecord, on_delete=models.CASCADE, related_name="+", db_index=False)
    target = models.ForeignKey(GraphRecord, on_delete=models.CASCADE, related_name="+", db_index=False)
    # The member of the record that names the other: `artifacts`, `supersedes`, `call`.
    member = models.CharField(max_length=20, db_collation="C")
    position = models.PositiveIntegerField()

    class Meta(TenantModel.Meta):
        indexes = [
            models.Index(fields=["record", "member"], name="links_of_a_record"),
            models.Index(fields=["target", "member"], name="links_to_a_record"),
            models.Index(fields=["graph", "position"], name="links_of_a_graph"),
        ]

    def __str__(self) -> str:
        return str(self.pk)
