"""The process that owns the services, and stops them when the run that asked for them ends, however it ends.

Its standard input is a pipe that only the run holds. The end of the pipe means that the run has stopped or
was killed, so that one path cleans up after both. It has a session of its own: no Ctrl-C and no signal to
the group of the run reaches it.
"""

import json
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from types import FrameType

from console.embedded.account import Account, service_account
from console.embedded.binaries import for_account, installed
from console.embedded.errors import Stopped
from console.embedded.folder import PrivateFolder, private_folder
from console.embedded.postgres import running_postgres
from console.embedded.process import Service, Stage, tail
from console.embedded.valkey import running_valkey

STARTERS = {"postgres": running_postgres, "valkey": running_valkey}
LOOK_SECONDS = 0.5


def keep(wanted: Sequence[str]) -> int:
    """Start what is wanted, say where it is in one line of JSON, and stop it all when the run ends."""
    signal.signal(signal.SIGTERM, _stop)
    account = service_account() if wanted else None
    try:
        with private_folder(account=account) as folder, ExitStack() as stack:
            services = _start(wanted, folder=folder, account=account, stack=stack)
            variables = {name: url for service in services for name, url in service.variables.items()}
            print(json.dumps({"folder": str(folder.path), "variables": variables}), flush=True)
            return _watch(services)
    except Stopped as stopped:
        return stopped.exit_code


def _start(
    wanted: Sequence[str], *, folder: PrivateFolder, account: Account | None, stack: ExitStack
) -> list[Service]:
    if not wanted:
        return []
    binaries = for_account(installed(), account)
    services = []
    for name in wanted:
        stage = Stage(folder=folder.part_for(name, account=account), account=account, lock=folder.lock)
        services.append(stack.enter_context(STARTERS[name](stage, binaries)))
    return services


def _watch(services: Sequence[Service]) -> int:
    while not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
        for service in services:
            if service.child.poll() is not None:
                _report(f"{service.name} ended with {service.child.returncode}.{tail(service.log)}")
                return 1
    return 0


def _report(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _stop(number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped(number)
