"""What the sweep did, for the page that shows it (PR-20)."""

from datetime import datetime, timedelta

from django.db import transaction

from agentstate.models import SweepRun
from agentstate.selectors.sweeps import backlog
from agentstate.services.sweep import Swept

KEPT_FOR = timedelta(days=30)
BATCH = 1000


@transaction.atomic
def note_run(*, swept: Swept, names: int, began_at: datetime, now: datetime) -> SweepRun:
    """Keep for 30 days what a run of the sweep removed by kind, and what it left behind."""
    removed = {
        "states": swept.states,
        "fields": swept.fields,
        "tombstones": swept.tombstones,
        "names": names,
    }
    return SweepRun.objects.create(
        began_at=began_at, ended_at=now, removed=removed, damaged=swept.damaged, backlog=backlog(now)
    )


@transaction.atomic
def forget_old_runs(*, now: datetime) -> int:
    """Forget a batch of the runs that ended more than 30 days ago; give how many."""
    old = SweepRun.objects.filter(ended_at__lte=now - KEPT_FOR).select_for_update(skip_locked=True)
    found = list(old.order_by("ended_at").values_list("id", flat=True)[:BATCH])
    SweepRun.objects.filter(id__in=found).delete()
    return len(found)
