"""What the sweep of the runtime graph did (PR-20)."""

from typing import Any

from django.db import models

from workspaces.models import TenantModel


class GraphSweep(TenantModel):
    """One run of the sweep that found something due: what it removed by kind, and what it left (PR-20)."""

    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    removed: Any = models.JSONField(default=dict)
    damaged = models.PositiveIntegerField(default=0)
    backlog = models.PositiveIntegerField(default=0)

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["workspace", "-ended_at"], name="graph_sweep_newest")]

    def __str__(self) -> str:
        return str(self.pk)
