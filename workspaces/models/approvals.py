"""Where four eyes hold in a workspace (PR-2b)."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models.tenancy import TenantModel


class FourEyes(TenantModel):
    """What takes the approval of a second person in a workspace; without a row, nothing does.

    `kinds` are kinds of document, and `erasure`. `version` counts the changes, so that one made from an older state
    is refused.
    """

    kinds: Any = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    version = models.PositiveIntegerField(default=0)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two first changes at once.
            models.UniqueConstraint(fields=["workspace"], name="one_four_eyes_per_workspace")
        ]

    def __str__(self) -> str:
        return ", ".join(self.kinds)
