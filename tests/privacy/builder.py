"""A builder of packages in a process of its own: `python -m tests.privacy.builder killed|measured <slug> <what>`.

`killed <slug> <step>` builds a package of some megabytes and ends by SIGKILL when it reaches a step. `measured <slug>
<bytes>` builds one of that size, downloads it, and prints how much memory each took at most, as JSON.
"""

import base64
import hashlib
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import msgspec

SOME_BYTES = 3_000_000
RECORD_BYTES = 48 * 1024


class Noise(msgspec.Struct, frozen=True):
    """A record that no compression makes smaller than what it is made from."""

    noise: str


def noise_of(size_bytes: int) -> Any:
    """Give records from which a zip gets about so many bytes; none is stored anywhere before."""

    def records(_subject: Any) -> Iterator[Noise]:
        for _ in range(-(-size_bytes // RECORD_BYTES)):
            yield Noise(base64.b64encode(os.urandom(RECORD_BYTES)).decode())

    return records


def large_files(size_bytes: int) -> tuple[Any, ...]:
    """Give the files of a package of about so many bytes."""
    from privacy.selectors.packages import PackageFile
    from privacy.types import Shown, Word

    shown = Shown(title="noise", rows=(("noise", "x" * 1000, ()),))
    return (PackageFile("noise.jsonl", Word("Noise"), noise_of(size_bytes), lambda _: shown),)


def most_memory_bytes() -> int:
    """Give the most memory that this process has had since the last look."""
    status = Path("/proc/self/status").read_text()
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    Path("/proc/self/clear_refs").write_text("5")
    return int(found) * 1024


def killed(workspace: Any, last: str) -> None:
    """Build until a step is reached."""
    from django.utils import timezone

    from privacy.selectors import packages as selectors
    from privacy.services import package_builds

    def end(step: str) -> None:
        if step == last:
            os.kill(os.getpid(), signal.SIGKILL)

    package_builds.reached = end
    selectors.FILES = large_files(SOME_BYTES)
    package_builds.build_next(workspace=workspace, now=timezone.now())


def measured(workspace: Any, size_bytes: str) -> None:
    """Build and download, and tell how much memory it took."""
    from django.test import Client
    from django.utils import timezone

    from privacy.models import PackageRun
    from privacy.selectors import packages as selectors
    from privacy.services import package_builds

    selectors.FILES = large_files(int(size_bytes))
    before = most_memory_bytes()
    assert package_builds.build_next(workspace=workspace, now=timezone.now())
    building = most_memory_bytes()
    run = PackageRun.objects.get()
    digest, length = hashlib.sha256(), 0
    answer: Any = Client().get(selectors.link_of(workspace, run))
    for part in answer.streaming_content:
        digest.update(part)
        length += len(part)
    found = {
        "before": before,
        "building": building,
        "downloading": most_memory_bytes(),
        "bytes": length,
        "is_whole": digest.hexdigest() == run.sha256 and length == run.size_bytes,
    }
    sys.stdout.write(json.dumps(found))


def main() -> None:
    deed, slug, what = sys.argv[1:]
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
    django.setup()
    from workspaces import access
    from workspaces.models import Workspace

    workspace = Workspace.objects.get(slug=slug).ref
    with access.bound(workspace.id):
        {"killed": killed, "measured": measured}[deed](workspace, what)


if __name__ == "__main__":
    main()
