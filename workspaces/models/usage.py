"""What was counted in each hour (CO-10)."""

from django.db import models

from workspaces.models.tenancy import TenantModel


class UsageHour(TenantModel):
    """How often something happened in one hour of UTC: a kind, and a name such as an agent or an error's code.

    Every process adds what it has counted; nothing here comes from content.
    """

    hour = models.DateTimeField()
    kind = models.CharField(max_length=12)
    name = models.CharField(max_length=256)
    count = models.PositiveBigIntegerField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two rows for one number: the second process adds to the row of the first.
            models.UniqueConstraint(fields=["workspace", "hour", "kind", "name"], name="one_number_per_hour")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
