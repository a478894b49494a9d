"""`make demo`: the whole product in one terminal, with a real conversation (PL-13, PL-15)."""

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from console.embedded.errors import EmbeddedError, Stopped
from console.embedded.files import own_folder
from console.embedded.front import TRUSTED, Ports
from console.embedded.manage import remembered
from console.embedded.parts import Part, commands, running_parts
from console.embedded.port import FIRST_BEHIND, HOST, reserved_port
from console.embedded.process import private_log, stop, tail, tied, wait_ready
from console.embedded.run import stoppable
from console.embedded.services import PROJECT, Services, embedded_services, wanted_services
from console.embedded.sheet import DemoSheet, completed_sheet, printed
from console.embedded.variables import completed

EXAMPLE = "examples/order_taking.py"
LOOK_SECONDS = 0.5
PROBE_SECONDS = 5


@dataclass(frozen=True)
class Ground:
    """What every step of the demo stands on."""

    services: Services
    variables: Mapping[str, str]
    ports: Ports
    logs: Path

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self.ports.front}"

    @property
    def sheet_file(self) -> Path:
        return self.services.scratch / "demo.json"


def demo(*, once: bool) -> int:
    """Start everything, play the conversation, print where to look, and stay until told to stop.

    With `once` it stops after the conversation. The exit code is the conversation's.
    """
    began = time.monotonic()
    with stoppable(), ExitStack() as stack:
        with step(_services_sentence()):
            ground = _laid_ground(stack)
        with step("Create the tables"):
            _manage(ground, "migrate", "--no-input")
        with step("Load a workspace with people and keys"):
            sheet = _loaded(ground)
        with step("Start front, servers, worker, scheduler"):
            parts = _started(ground, stack)
            stack.enter_context(remembered(ground.variables))
        outcome = _play(ground)
        print(f"\n{printed(sheet)}\n\nReady after {time.monotonic() - began:.0f} seconds.", flush=True)
        return outcome if once else _stay(ground, parts) or outcome


@contextmanager
def step(sentence: str) -> Iterator[None]:
    """Print what is being done, and then how long it took."""
    began = time.monotonic()
    print(f"  {sentence} ".ljust(46, "."), end=" ", flush=True)
    try:
        yield
    except BaseException:
        print(flush=True)
        raise
    print(f"{time.monotonic() - began:5.1f} s", flush=True)


def _services_sentence() -> str:
    names = {"postgres": "PostgreSQL", "valkey": "Valkey"}
    wanted = [names[name] for name in wanted_services(os.environ)]
    return f"Start {' and '.join(wanted)}" if wanted else "Use the services of the environment"


def _laid_ground(stack: ExitStack) -> Ground:
    services = stack.enter_context(embedded_services(environment=os.environ))
    ports = Ports(
        front=stack.enter_context(reserved_port()),
        reader=stack.enter_context(reserved_port(first=FIRST_BEHIND)),
        writer=stack.enter_context(reserved_port(first=FIRST_BEHIND)),
    )
    counts = services.scratch / "counts"
    counts.mkdir(mode=0o700)
    own = {
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "LASTRO_BASE_URL": f"http://{HOST}:{ports.front}",
        "TRUSTED_PROXIES": TRUSTED,
        "PROMETHEUS_MULTIPROC_DIR": str(counts),
        "LASTRO_DEMO_FILE": str(services.scratch / "demo.json"),
        "EMAIL_URL": os.environ.get("EMAIL_URL") or f"filemail:///{quote(str(own_folder() / 'mail'))}",
        "CHECKPOINTS_URL": os.environ.get("CHECKPOINTS_URL") or _fresh_folder("checkpoints", ports),
        "PAYLOADS_URL": os.environ.get("PAYLOADS_URL") or _fresh_folder("demo-payloads", ports),
        "PYTHONUNBUFFERED": "1",
    }
    logs = own_folder() / "log" / str(ports.front)
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(mode=0o700, parents=True)
    variables = completed(os.environ, services, badge="demo") | own
    return Ground(services=services, variables=variables, ports=ports, logs=logs)


def _fresh_folder(name: str, ports: Ports) -> str:
    """Answer a folder that holds nothing of an earlier demo, whose database went with it (PR-15b)."""
    folder = own_folder() / name / str(ports.front)
    if not os.environ.get("DATABASE_URL"):
        shutil.rmtree(folder, ignore_errors=True)
    return f"file://{quote(str(folder))}"


def _manage(ground: Ground, *arguments: str) -> None:
    log = ground.logs / f"{arguments[0]}.log"
    with private_log(log) as output:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT,
            env=dict(ground.variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise EmbeddedError(f"manage.py {arguments[0]} failed; its log is {log}{tail(log)}")


def _loaded(ground: Ground) -> DemoSheet:
    _manage(ground, "load_demo", "--json", str(ground.sheet_file))
    return completed_sheet(ground.sheet_file, base_url=ground.base_url)


def _started(ground: Ground, stack: ExitStack) -> Sequence[Part]:
    wanted = commands(ground.ports, folder=ground.services.scratch)
    parts = stack.enter_context(running_parts(wanted, variables=ground.variables, logs=ground.logs))
    addresses = {
        "reader": f"http://{HOST}:{ground.ports.reader}/healthz",
        "writer": f"http://{HOST}:{ground.ports.writer}/readyz",
        "front": f"{ground.base_url}/healthz",
    }
    for part in parts:
        if part.name in addresses:
            _wait_for(part, addresses[part.name])
    _require_alive(ground, parts)
    return parts


def _wait_for(part: Part, url: str) -> None:
    wait_ready(part.child, lambda: _answers(url), name=f"The {part.name}", log=part.log)


def _answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=PROBE_SECONDS) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _play(ground: Ground) -> int:
    print(f"\n{EXAMPLE}\n", flush=True)
    command = tied([sys.executable, EXAMPLE], death_signal="TERM")
    child = subprocess.Popen(command, cwd=PROJECT, env=dict(ground.variables))
    try:
        outcome = child.wait()
    finally:
        stop(child, (signal.SIGTERM, 5))
    if outcome:
        print(f"\nThe conversation failed with {outcome}; the logs are in {ground.logs}", flush=True)
    return abs(outcome)


def _stay(ground: Ground, parts: Sequence[Part]) -> int:
    print("Ctrl-C stops it.", flush=True)
    try:
        while True:
            _require_alive(ground, parts)
            time.sleep(LOOK_SECONDS)
    except Stopped:
        print("\nStopping ...", flush=True)
        return 0


def _require_alive(ground: Ground, parts: Sequence[Part]) -> None:
    for part in parts:
        if part.child.poll() is not None:
            raise EmbeddedError(
                f"{part.name} ended with {part.child.returncode}; its log is {part.log}{tail(part.log)}"
            )
    if ground.services.keeper.poll() is not None:
        raise EmbeddedError("The embedded services ended.")
