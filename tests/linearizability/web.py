"""The web servers under test, over the services of the test alone, with an application of the test's choice."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from console.embedded.parts import Size
from tests.server import Server

SOUND = "console.wsgi:application"
NAMES = ("reader", "writer")


class Web(Server):
    """A reader and a writer of two workers each behind their front."""

    def __init__(self, folder: Path, variables: Mapping[str, str], application: str) -> None:
        super().__init__(folder, size=Size(workers=2), **variables)
        self._application = application

    def _started(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        return super()._started([self._application if part == SOUND else part for part in command])
