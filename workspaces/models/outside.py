"""What is to leave the database as evidence, until it has left (PR-15b, PR-22)."""

from typing import Any

from django.db import models


class Outgoing(models.Model):
    """A signed document on its way out, committed together with the act that it tells of.

    A worker delivers them one after the other, by their number, and removes what has arrived.
    """

    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=200)
    document: Any = models.JSONField()
    made_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"
