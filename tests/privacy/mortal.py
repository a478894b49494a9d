"""`python -m tests.privacy.mortal REQUEST WORKSPACE POINT`: a worker that dies by SIGKILL at a point of an erasure."""

import os
import signal
import sys
from uuid import UUID

import django


def main(request_id: str, workspace_id: str, point: str, generation: str) -> None:
    """Run an erasure up to the point."""
    django.setup()
    from django.conf import settings

    from privacy.services import erasing
    from workspaces.models import Workspace

    def die(step: str) -> None:
        if step == point:
            os.kill(os.getpid(), signal.SIGKILL)

    settings.HOT_STORE_GENERATION = int(generation)
    erasing.reached = die
    workspace = Workspace.objects.get(id=workspace_id).ref
    erasing.run(workspace=workspace, request_id=UUID(request_id))


if __name__ == "__main__":
    main(*sys.argv[1:])
