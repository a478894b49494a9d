"""A PostgreSQL and a Valkey of the test's own, which it may stop, hold, kill and start again on the same data."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import psycopg
import valkey

from console.embedded.account import service_account
from console.embedded.binaries import for_account, installed
from console.embedded.folder import private_folder
from console.embedded.keeper import STARTERS
from console.embedded.process import Service, Stage, stop, wait_ready
from tests.linearizability import processes

Probe = Callable[[Mapping[str, str]], None]


class Mortal:
    """One service, and how to find out that it answers. It is started again by the thread that must outlive it."""

    def __init__(self, stage: Stage, service: Service, probe: Probe) -> None:
        self._stage, self._probe = stage, probe
        self.name, self.variables = service.name, service.variables
        self._child = service.child
        self._command = _untied(service.child.args)  # type: ignore[arg-type]
        self._first = service.child

    def stop(self) -> None:
        """End it in order, as a restart by its operator does."""
        stop(self._child, (signal.SIGINT, 20))

    def kill(self) -> None:
        """End it as a loss of power does."""
        processes.kill(self._child.pid)
        self._child.wait()

    def start(self) -> None:
        """Start it again where it was, and wait until it answers."""
        self._child = self._stage.start(self._command, death_signal="INT")
        wait_ready(self._child, self._answers, name=self.name, log=self._stage.log)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let every process of it stand still for a while."""
        processes.freeze(self._child.pid)
        try:
            yield
        finally:
            processes.thaw(self._child.pid)

    def close(self) -> None:
        """End what was started again; the first one is its starter's."""
        processes.thaw(self._child.pid)
        if self._child is not self._first:
            self.stop()

    def _answers(self) -> bool:
        try:
            self._probe(self.variables)
        except (psycopg.Error, valkey.ValkeyError, OSError):
            return False
        return True


def _probe_postgres(variables: Mapping[str, str]) -> None:
    psycopg.connect(variables["DATABASE_URL"], connect_timeout=2).close()


def _probe_valkey(variables: Mapping[str, str]) -> None:
    hot_store(variables).ping()


def hot_store(variables: Mapping[str, str]) -> "valkey.Valkey":
    """Give a client of the hot store."""
    return valkey.Valkey.from_url(variables["HOT_STORE_URL"], socket_timeout=5)


PROBES: dict[str, Probe] = {"postgres": _probe_postgres, "valkey": _probe_valkey}


@contextmanager
def mortal_services() -> Iterator[dict[str, Mortal]]:
    """Start a PostgreSQL and a Valkey that belong to the test alone."""
    account = service_account()
    binaries = for_account(installed(), account)
    with private_folder(account=account) as folder, ExitStack() as stack:
        services = {}
        for name, probe in PROBES.items():
            stage = Stage(folder=folder.part_for(name, account=account), account=account, lock=folder.lock)
            service = stack.enter_context(STARTERS[name](stage, binaries))
            services[name] = Mortal(stage, service, probe)
            stack.callback(services[name].close)
        yield services


def _untied(command: Sequence[str]) -> Sequence[str]:
    # `Stage.start` puts the same words before it again.
    return command[3:] if command[0].endswith("setpriv") else command


def paused(mortal: Mortal, seconds: float) -> None:
    """Hold a service for some seconds."""
    with mortal.held():
        time.sleep(seconds)
