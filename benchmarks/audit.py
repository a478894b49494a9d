"""`python -m benchmarks.audit [--entries N]`: how fast an audit chain verifies (PR-22, PF-8: 100,000 in 5 seconds)."""

import argparse
import os
import time
from uuid import uuid4

ENTRIES = 100_000
AT_A_TIME = 5000


def main() -> None:
    """Make a chain in the database that the environment names, verify it three times, and print the best."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    entries = parser.parse_args().entries
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", "--no-input", verbosity=0)
    wall, cpu = _measured(entries)
    print(
        f"{entries:,} entries of an audit chain verify in {wall:.2f} s ({cpu:.2f} s of them our own process)"
    )


def _measured(entries: int) -> tuple[float, float]:
    from django.utils import timezone

    from workspaces import access, audit
    from workspaces.services.workspaces import create_workspace
    from workspaces.types import Actor

    actor = Actor(kind="system", id="benchmarks", name="benchmarks")
    workspace = create_workspace(slug=f"b-{uuid4().hex[:8]}", name="B", actor=actor, now=timezone.now())
    with access.bound(workspace.id):
        _append(str(workspace.id), entries)
        times = []
        for _ in range(3):
            wall, cpu = time.perf_counter(), time.process_time()
            state = audit.verify_chain()
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
            if state.first_bad is not None or state.entries != entries + 1:
                raise SystemExit("The chain does not verify.")
    return min(times)


def _append(chain: str, entries: int) -> None:
    """Append entries as the services do, but many at a time."""
    from django.utils import timezone

    from workspaces import audit
    from workspaces.models import AuditEntry, AuditHead

    head = AuditHead.objects.get()
    previous, rows = bytes(head.hash), []
    for seq in range(head.seq + 1, head.seq + entries + 1):
        entry = AuditEntry(
            act="profile.view",
            seq=seq,
            at=timezone.now(),
            actor_kind="person",
            actor_id=str(uuid4()),
            actor_name="ana@example.com",
            actor_roles=["support"],
            address="192.0.2.9",
            request_id=f"req_{uuid4().hex}",
            object_kind="profile",
            object_id=str(uuid4()),
            result="done",
            facts={"states": seq % 7},
            previous_hash=previous,
        )
        entry.hash = previous = audit.entry_hash(entry, chain=chain)
        rows.append(entry)
    AuditEntry.objects.bulk_create(rows, batch_size=AT_A_TIME)
    AuditHead.objects.update(seq=head.seq + entries, hash=previous)


if __name__ == "__main__":
    main()
