"""The limits of /v1 in one table: how many bytes a body may have, by the name of the route (PL-10)."""

KIB = 1024
MIB = 1024 * KIB

BODY_BYTES: dict[str, int] = {
    "agent-state": 2 * MIB,
    "agent-state-read": 16 * KIB,
    "agent-state-delete": 16 * KIB,
    "batch": 4 * MIB,
    "config-diffs": 1 * MIB,
    "config-diff": 1 * MIB,
    "config-approve": 16 * KIB,
    "config-deny": 16 * KIB,
    "config-withdraw": 16 * KIB,
    "config-publish": 16 * KIB,
    "context-assemble": 1 * MIB,
    "graph": 8 * MIB,
    "history-begin": 16 * KIB,
    # A session keeps at most 8 MiB, and a little stands around each message on the wire.
    "history-append": 9 * MIB,
    "history-commit": 9 * MIB,
    "history-abort": 16 * KIB,
    "history-window": 16 * KIB,
    "history-read": 16 * KIB,
    "history-fork": 16 * KIB,
    "history-recover": 16 * KIB,
    "history-delete": 16 * KIB,
    "history-items": 16 * KIB,
    "history-items-remove": 1 * MIB,
    "graph-payload": 1024 * MIB,
    "ingest-status": 16 * KIB,
    "profile-search": 16 * KIB,
}
DEFAULT_BODY_BYTES = 16 * KIB
BUFFERED_BYTES = 9_999_999
"""What a front takes of a body, either way, at once: a thread waits for nobody whose body is shorter (WM-19)."""
BATCH_ITEMS = 500


def body_bytes(route: str | None) -> int:
    """Give the limit of a route's body in bytes."""
    return BODY_BYTES.get(route or "", DEFAULT_BODY_BYTES)
