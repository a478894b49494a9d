"""Remembered answers end after 24 hours (PL-10)."""

from datetime import datetime, timedelta

from workspaces.models import RememberedAnswer

REMEMBERED_FOR = timedelta(hours=24)
BATCH = 1000


def forget_old_answers(*, now: datetime) -> int:
    """Delete a batch of the bound workspace's answers that are past their time; give how many went."""
    old = RememberedAnswer.objects.filter(made_at__lt=now - REMEMBERED_FOR).values("id")[:BATCH]
    return int(RememberedAnswer.objects.filter(id__in=old).delete()[0])
