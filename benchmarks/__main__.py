"""`python -m benchmarks [--quick] [--document] [--set NAME=VALUE ...]`, on the services that the environment names."""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from benchmarks import plan
from benchmarks.machine import busy, described
from benchmarks.report import as_json, as_markdown, documented
from benchmarks.rounds import WrongAnswer
from benchmarks.run import measure
from console.embedded.files import own_folder
from console.embedded.services import PROJECT

LATEST = Path(__file__).with_name("latest.json")
DOCUMENT = PROJECT / "docs" / "performance.md"


def main() -> int:
    """Measure, print the report, and leave it in `benchmarks/latest.json` and `.lastro/bench-report.md`."""
    arguments = _parser().parse_args()
    variables = dict(pair.split("=", 1) for pair in arguments.set)
    wanted = plan.quick(variables) if arguments.quick else plan.full(variables)
    load = busy()
    try:
        measured = measure(wanted, variables=os.environ, folder=_logs())
    except WrongAnswer as error:
        print(f"lastro: {error}", file=sys.stderr)
        return 1
    about = described(os.environ, measured.peers) | {"wanted cores before": f"{load:.1f}"}
    LATEST.write_text(json.dumps(as_json(measured, about), indent=2) + "\n")
    report = as_markdown(measured, about)
    (own_folder() / "bench-report.md").write_text(report)
    if arguments.document:
        DOCUMENT.write_text(documented(DOCUMENT.read_text(), report))
    print(f"\n{report}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="within 8 minutes, without the table of 2,000,000 states"
    )
    parser.add_argument("--document", action="store_true", help="put the report into docs/performance.md")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a variable for our server"
    )
    return parser


def _logs() -> Path:
    folder = own_folder() / "log" / "bench"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
