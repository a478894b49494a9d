"""Which processes there are below another one, and what they hold."""

import subprocess
from collections import defaultdict
from pathlib import Path


def children_of(root: int) -> list[int]:
    """List all processes below one, nearest first."""
    below: dict[int, list[int]] = defaultdict(list)
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        pid, parent = map(int, line.split())
        below[parent].append(pid)
    found = list(below[root])
    for pid in found:
        found.extend(below[pid])
    return found


def held_bytes(pid: int) -> int:
    """Give what a process holds: its share of memory (PSS) on Linux, else its resident set."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except OSError:
        listing = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], check=False, capture_output=True, text=True
        )
        return int(listing.stdout.strip() or 0) * 1024
