"""Why a model saw what it saw: written by the server only (CA-1, CA-16). Names and counts, never content."""

import uuid
from typing import Any

from django.db import models

from assembly.models.graph import Graph, name_field
from workspaces.models import Source, TenantModel


class ContextAssembly(TenantModel):
    """The record of one selection (CA-16)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="+", db_index=False)
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+", db_index=False)
    policy = models.CharField(max_length=256)
    policy_version = models.PositiveIntegerField()
    assembler = models.CharField(max_length=16)
    position = models.PositiveIntegerField()
    as_of = models.DateTimeField()

    branch = name_field()
    participant = name_field()
    kind = models.CharField(max_length=16)
    route = models.CharField(max_length=256)
    # What was asked for, as the request has it: it holds ids and names.
    request: Any = models.JSONField()
    # [type, id, form] in the order shown, and how many were left out by reason.
    selected: Any = models.JSONField(default=list)
    omitted: Any = models.JSONField(default=dict)
    branch_exclusions = models.PositiveIntegerField(default=0)
    considered = models.PositiveIntegerField(default=0)

    naive_tokens = models.PositiveBigIntegerField(default=0)
    naive_bytes = models.PositiveBigIntegerField(default=0)
    assembled_tokens = models.PositiveBigIntegerField(default=0)
    assembled_bytes = models.PositiveBigIntegerField(default=0)
    query_ms = models.FloatField(default=0)
    policy_ms = models.FloatField(default=0)
    rendering_ms = models.FloatField(default=0)
    digest = models.CharField(max_length=64)

    # Every decision with its detail: on request, or by the policy's sampling. It goes first (CA-21).
    trace: Any = models.JSONField(null=True)
    trace_expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    # Set from the approval of an erasure on that takes something which it tells of, and not its whole graph (PR-10).
    erasure_id = models.UUIDField(null=True)

    class Meta(TenantModel.Meta):
        indexes = [
            models.Index(fields=["workspace", "-created_at", "-id"], name="assemblies_newest"),
            models.Index(fields=["graph", "-created_at"], name="assemblies_of_a_graph"),
            models.Index(fields=["workspace", "expires_at"], name="assemblies_due"),
            models.Index(
                fields=["workspace", "trace_expires_at"],
                name="traces_due",
                condition=models.Q(trace_expires_at__isnull=False),
            ),
            models.Index(
                fields=["workspace", "erasure_id"],
                name="assemblies_being_erased",
                condition=models.Q(erasure_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class PolicyDecision(TenantModel):
    """What a rule of the policy brought about in one assembly: its outcome, and of which records (CA-1, CA-5)."""

    id = models.BigAutoField(primary_key=True)
    assembly = models.ForeignKey(
        ContextAssembly, on_delete=models.CASCADE, related_name="policy_decisions", db_index=False
    )
    rule = models.CharField(max_length=64)
    policy = models.CharField(max_length=256)
    version = models.PositiveIntegerField()
    # An outcome, or the sentence of the rule that lowered a privacy class.
    outcome = models.CharField(max_length=1000)
    # [type, id] of each record.
    references: Any = models.JSONField(default=list)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops one outcome of a rule from being told twice.
            models.UniqueConstraint(fields=["assembly", "rule", "outcome"], name="one_decision_per_outcome")
        ]

    def __str__(self) -> str:
        return str(self.pk)
