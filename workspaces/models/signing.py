"""The keys that sign receipts and checkpoints (PR-20b)."""

from django.db import models


class SigningKey(models.Model):
    """An Ed25519 key of the deployment: its secret sealed under the master key, its public half for everybody.

    A retired key signs nothing any more, and what it signed keeps verifying.
    """

    id = models.CharField(primary_key=True, max_length=32, editable=False)
    public_key = models.BinaryField(max_length=32)
    wrapped = models.BinaryField(max_length=80)
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [
            # Stops two processes that each make the first key, or rotate at once, from both signing.
            models.UniqueConstraint(
                fields=["retired_at"],
                condition=models.Q(retired_at=None),
                nulls_distinct=False,
                name="one_signing_key_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return self.id
