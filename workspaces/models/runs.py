"""When each scheduled task ran last, for who operates the deployment (PL-11)."""

from django.db import models


class ScheduledRun(models.Model):
    """The last run of one scheduled task, of the whole deployment: when beat sent it, and how it went."""

    name = models.CharField(primary_key=True, max_length=80)
    sent_at = models.DateTimeField(null=True)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    is_done = models.BooleanField()
    # The last run that did not fail.
    done_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name
