"""What goes over the wire to a database, as libpq itself traces it."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile

from django.db import connections

# Each round trip ends with one of these from the client.
_ASKING = ("Query", "Sync")


@contextmanager
def round_trips(alias: str = "default") -> Iterator[list[str]]:
    """Collect the messages by which a block waits for a database; the list is full when the block ends."""
    connections[alias].ensure_connection()
    raw, found = connections[alias].connection, list[str]()
    with TemporaryFile() as file:
        raw.pgconn.trace(file.fileno())
        try:
            yield found
        finally:
            raw.pgconn.untrace()
        assert connections[alias].connection is raw, "another connection was made"
        file.seek(0)
        lines = (line.split("\t") for line in file.read().decode(errors="replace").splitlines())
        found += [line[3] for line in lines if len(line) > 3 and line[1] == "F" and line[3] in _ASKING]
