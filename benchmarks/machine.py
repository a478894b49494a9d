"""On what all of it ran."""

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks.database import owner_url, postgres_version, valkey_version

OURS = ("django", "djangorestframework", "granian", "psycopg", "valkey")


def described(variables: Mapping[str, str], peers: Mapping[str, str]) -> dict[str, str]:
    """Name the machine and the versions."""
    packages = {name: version(name) for name in OURS} | dict(peers)
    return {
        "machine": f"{_processor()}, {_cores()} cores, {_memory_gib()} GiB, {platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "PostgreSQL": postgres_version(owner_url(variables)),
        "Valkey": valkey_version(variables["HOT_STORE_URL"]),
        **packages,
    }


def busy() -> float:
    """Tell how many processes wanted a core in the last minute."""
    return os.getloadavg()[0]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_gib() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3)
