"""Find a Chromium for the browser tests (PL-13)."""

import os
import subprocess
from pathlib import Path
from shutil import which

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGE = ("apt-get", "install", "-y", "--no-install-recommends", "chromium")


def find() -> str | None:
    """Answer the path of a Chromium: the one in CONSOLE_CHROMIUM, or the first on the PATH."""
    named = os.environ.get("CONSOLE_CHROMIUM")
    return named or next(filter(None, (which(name) for name in NAMES)), None)


def provide() -> int:
    """Find a Chromium, or as root on Debian install one; without either say so and go on."""
    if not find() and may_install():
        _install()
    found = find()
    print(f"Browser tests use {found}" if found else _absent(), flush=True)
    return 0


def may_install() -> bool:
    """Answer whether we are root on Debian, where a package of it exists."""
    release = Path("/etc/os-release")
    return os.geteuid() == 0 and release.is_file() and "ID=debian" in release.read_text().splitlines()


def _install() -> None:
    print("Installing Chromium for the browser tests ...", flush=True)
    variables = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (("apt-get", "update"), PACKAGE):
        done = subprocess.run(command, check=False, env=variables, capture_output=True, text=True)
        if done.returncode:
            print(f"{' '.join(command)} failed: {done.stderr.strip()}", flush=True)
            return


def _absent() -> str:
    fate = "fail, as CI=true asks" if os.environ.get("CI") == "true" else "are skipped"
    return f"No Chromium: browser tests {fate}. Install chromium, or name one in CONSOLE_CHROMIUM."
