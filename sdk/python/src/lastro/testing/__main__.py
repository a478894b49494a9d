"""`python -m lastro.testing cases FOLDER [--server URL]`: play cases of conversation history, and say what passes."""

import argparse
import os
import sys
from pathlib import Path

from lastro.testing.cases.run import IN_PROCESS, verdicts
from lastro.testing.cases.stage import KEY_VARIABLE, server


def main() -> int:
    """Print a line per case; 1 where any fails, or where there is none."""
    arguments = _parser().parse_args()
    failed = played = 0
    settings = (
        [server(arguments.server, os.environ.get(KEY_VARIABLE, ""))] if arguments.server else IN_PROCESS
    )
    for verdict in verdicts(arguments.folder, settings):
        print(verdict.line, flush=True)  # noqa: T201
        played += 1
        failed += verdict.word == "FAIL"
    if not played:
        print(f"no case in {arguments.folder}", file=sys.stderr)  # noqa: T201
    return 1 if failed or not played else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lastro.testing")
    commands = parser.add_subparsers(required=True)
    cases = commands.add_parser(
        "cases",
        help="play every case of a folder, in RAM and in SQLite, or on a running server",
        epilog=f"The key of a server, with the scope `history`, is read from {KEY_VARIABLE}.",
    )
    cases.add_argument("folder", type=Path)
    cases.add_argument("--server", metavar="URL", help="play on this server instead")
    return parser


if __name__ == "__main__":
    sys.exit(main())
