"""Make a workspace and a key on a database that the environment names, in a process of its own.

`python -m tests.linearizability.prepare` prints the key: the test itself is bound to the database of the other tests.
"""

import sys
from typing import Any

import django

from tests.linearizability.players import AGENT, CAP_BYTES, FIELDS

TYPE: dict[str, Any] = {
    "type": "played",
    "version": "1",
    "ownership": "agent",
    "agents": [AGENT],
    "fields": {name: {"type": "string"} for name in FIELDS},
    "agent_state": {"cap_bytes": CAP_BYTES},
}


def main() -> None:
    """Make what the players need."""
    django.setup()
    from tests import factories

    workspace = factories.make_ready_workspace("Linear", TYPE)
    sys.stdout.write(factories.make_key(workspace))


if __name__ == "__main__":
    main()
