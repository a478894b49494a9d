"""`python -m lastro.testing cases FOLDER`: play cases of conversation history, and say what passes."""

import argparse
import sys
from pathlib import Path

from lastro.testing.cases.run import verdicts


def main() -> int:
    """Print a line per case; 1 where any fails, or where there is none."""
    arguments = _parser().parse_args()
    failed = played = 0
    for verdict in verdicts(arguments.folder):
        print(verdict.line, flush=True)  # noqa: T201
        played += 1
        failed += verdict.word == "FAIL"
    if not played:
        print(f"no case in {arguments.folder}", file=sys.stderr)  # noqa: T201
    return 1 if failed or not played else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lastro.testing")
    commands = parser.add_subparsers(required=True)
    cases = commands.add_parser("cases", help="play every case of a folder, in RAM and in SQLite")
    cases.add_argument("folder", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
