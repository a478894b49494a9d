"""Make .venv, and what must not be in it, from the lock files, once per change of a lock file (PL-16).

Run as a file, before any package is there: only the standard library.
"""

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
LOCKS = PROJECT / "requirements"
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "lastro-installed.txt"
CLIENTS = PROJECT / ".lastro" / "clients"
PEERS = PROJECT / ".lastro" / "bench"
SDK = PROJECT / "sdk" / "python" / "src"
COVERS = {"run": ("run", "dev"), "dev": ("dev",)}
"""dev.txt holds all of run.txt in the same versions, so that one environment serves both."""


def main() -> None:
    """Bring the environment to what the named lock file says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", choices=COVERS)
    parser.add_argument("--clients", action="store_true", help="the published clients, too")
    parser.add_argument("--peers", action="store_true", help="the peers of the benchmark, too")
    arguments = parser.parse_args()
    try:
        with _alone():
            _provide(arguments.lock)
            if arguments.clients:
                _provide_clients()
            if arguments.peers:
                _provide_peers()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode or 1)
    except PermissionError as error:
        sys.exit(f"lastro: {error.filename} belongs to somebody else: run as its owner, or remove it.")


@contextmanager
def _alone() -> Iterator[None]:
    # Two runs at once on a fresh clone would install into one folder.
    folder = PROJECT / ".lastro"
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "environment.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _provide(lock: str) -> None:
    works = _works()
    if works and STAMP.exists() and STAMP.read_text() in map(_digest, COVERS[lock]):
        return
    if not works:
        _make_venv()
    STAMP.unlink(missing_ok=True)
    file = LOCKS / f"{lock}.txt"
    _install(file, f"{_count(file)} packages of requirements/{file.name}")
    _link_sdk()
    STAMP.write_text(_digest(lock))


def _link_sdk() -> None:
    # As an editable installation does it, without a build: the server imports the pure parts of its own SDK.
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run(
        [PYTHON, "-c", script], check=True, capture_output=True, text=True
    ).stdout.strip()
    (Path(packages) / "lastro-sdk.pth").write_text(f"{SDK}\n")


def _works() -> bool:
    try:
        return subprocess.run([PYTHON, "-c", ""], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _make_venv() -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    except subprocess.CalledProcessError:
        shutil.rmtree(VENV, ignore_errors=True)
        raise


def _provide_clients() -> None:
    for file in sorted(LOCKS.glob("niadra-*.txt")):
        target = CLIENTS / file.stem
        stamp = target / "lastro-installed.txt"
        wanted = f"{_digest(file.stem)} {_tag()}"
        if stamp.exists() and stamp.read_text() == wanted:
            continue
        shutil.rmtree(target, ignore_errors=True)
        _install(file, f"the client {file.stem}", "--target", str(target))
        stamp.write_text(wanted)


def _provide_peers() -> None:
    # An environment of its own: what the peers need is three times what the server does.
    file, stamp = LOCKS / "bench.txt", PEERS / "lastro-installed.txt"
    wanted = f"{_digest(file.stem)} {_tag()}"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(PEERS, ignore_errors=True)
    subprocess.run([PYTHON, "-m", "venv", str(PEERS)], check=True)
    _install(file, "the peers of the benchmark", python=PEERS / "bin" / "python")
    stamp.write_text(wanted)


def _install(file: Path, what: str, *options: str, python: Path = PYTHON) -> None:
    began = time.monotonic()
    print(f"Installing {what} (once per change of that file) ...", flush=True)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*pip, "--require-hashes", *options, "-r", str(file)], check=True, cwd=PROJECT)
    print(f"Installed in {time.monotonic() - began:.0f} seconds.", flush=True)


def _count(file: Path) -> int:
    return sum("==" in line and not line.startswith((" ", "#")) for line in file.read_text().splitlines())


def _tag() -> str:
    # A client has compiled parts: another Python in .venv needs them anew.
    script = "import sys; print(sys.implementation.cache_tag)"
    return subprocess.run([PYTHON, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


def _digest(lock: str) -> str:
    return hashlib.sha256((LOCKS / f"{lock}.txt").read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
