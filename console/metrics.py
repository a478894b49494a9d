"""Prometheus counts and times, without ids (PL-11)."""

from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess

_REQUESTS = Counter("lastro_requests_total", "Requests answered.", ["method", "route", "status"])
_SECONDS = Histogram(
    "lastro_request_seconds",
    "Time from the first byte of a request to its answer.",
    ["route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def note_request(method: str, route: str, status: int, *, seconds: float) -> None:
    """Count one answered request under its route's name."""
    requests, times = _series(method, route, status)
    requests.inc()
    times.observe(seconds)


@lru_cache(maxsize=4096)
def _series(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    # To find a series by its labels takes longer than to count in it.
    return _REQUESTS.labels(method=method, route=route, status=status), _SECONDS.labels(route=route)


def exposition(*, many_processes: bool) -> bytes:
    """Write all metrics, of every web process where they share a folder."""
    if not many_processes:
        return generate_latest()
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)
    return generate_latest(registry)
