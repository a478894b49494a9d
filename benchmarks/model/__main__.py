"""`python -m benchmarks.model [--rounds N] [--seconds S]`, on the embedded services that the environment names."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from benchmarks.machine import busy, described
from benchmarks.model.accounting import NotHere
from benchmarks.model.calibration import calibrate
from benchmarks.model.report import as_markdown
from benchmarks.rounds import WrongAnswer
from console.embedded.files import own_folder

ROUNDS, SECONDS = 5, 1.5


def main() -> int:
    """Calibrate, predict, measure; print the report and leave it in `.lastro/model-report.md`."""
    arguments = _parser().parse_args()
    load = busy()
    try:
        seen = calibrate(
            variables=os.environ, folder=_logs(), rounds=arguments.rounds, seconds=arguments.seconds
        )
    except (NotHere, WrongAnswer) as error:
        print(f"lastro: {error}", file=sys.stderr)
        return 1
    sizes = (
        f"{arguments.rounds} rounds, {arguments.seconds:g} s a turn; medians, lowest and highest in brackets"
    )
    about = described(os.environ, {}) | {"wanted cores before": f"{load:.1f}", "turns": sizes}
    report = as_markdown(seen, about)
    (own_folder() / "model-report.md").write_text(report)
    print(f"\n{report}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each contender")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of one turn")
    return parser


def _logs() -> Path:
    folder = own_folder() / "log" / "model"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
