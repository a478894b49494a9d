"""`manage.py measure_masking`: recall, precision and time of the detectors on a corpus (PR-7b, PR-8)."""

import time
from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspaces.masking import MaskingPolicy, policy_from
from workspaces.masking.measure import Case, Measured, Score, Text, measure, read_texts
from workspaces.masking.policy import MAX_REGIONS

_HEAD = f"{'kind':<10}{'values':>8}{'recall':>9}{'found':>8}{'precision':>11}"
# A few rounds, of which the quickest counts: the others say what else the machine did.
_ROUNDS = 5
_BYTES_PER_KB = 1024


class Command(BaseCommand):
    help = "Measure what the detectors find in a corpus of invented strings, and what they miss."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, help='lines of {"id", "text": [parts], "spans": [{start, end, kind}]}'
        )
        parser.add_argument(
            "--regions", default="BR,US,FR", help="at most 3, with commas (default: BR,US,FR)"
        )
        parser.add_argument(
            "--show", action="store_true", help="print the strings too: only for invented ones"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        texts = self._texts(options["file"])
        regions = [region for region in options["regions"].upper().split(",") if region]
        if len(regions) > MAX_REGIONS:
            raise CommandError(f"There are at most {MAX_REGIONS} regions.")
        # Nothing is hashed here, so the key is of no account.
        policy = policy_from({"regions": regions}, hash_key=b"")
        measured = measure(texts, policy=policy)
        self._write_scores(measured)
        self._write_cases("missed", measured.missed, show=options["show"])
        self._write_cases("found in vain", measured.in_vain, show=options["show"])
        self._write_times(texts, policy)

    def _write_times(self, texts: list[Text], policy: MaskingPolicy) -> None:
        times = sorted((_ms_per_kb(text, policy), text.id) for text in texts if text.text)
        if times:
            (middle, _), (most, worst) = times[len(times) // 2], times[-1]
            self.stdout.write(
                f"time per KB: {middle:.3f} ms in the middle, {most:.3f} ms at the worst ({worst})"
            )

    def _texts(self, path: Path) -> list[Text]:
        try:
            return list(read_texts(line for line in path.read_bytes().splitlines() if line.strip()))
        except OSError as error:
            raise CommandError(f"The file cannot be read: {error.strerror}.") from error
        except msgspec.MsgspecError as error:
            raise CommandError("A line is not of the form of a corpus.") from error

    def _write_scores(self, measured: Measured) -> None:
        self.stdout.write(_HEAD)
        for kind, score in sorted(measured.by_kind.items()):
            self.stdout.write(_row(kind, score))
        self.stdout.write(_row("total", measured.total))

    def _write_cases(self, title: str, cases: list[Case], *, show: bool) -> None:
        self.stdout.write(f"{title}: {len(cases)}")
        for case in cases:
            self.stdout.write(f"  {case.id} {case.kind}" + (f" {case.text!r}" if show else ""))


def _ms_per_kb(text: Text, policy: MaskingPolicy) -> float:
    """Time a text, repeated to a kilobyte, in milliseconds of this process."""
    long = "\n".join([text.text] * (_BYTES_PER_KB // len(text.text.encode()) + 1))
    repeated = [Text(text.id, long, [])]
    spent = min(_spent_seconds(repeated, policy) for _ in range(_ROUNDS))
    return spent * 1000 * _BYTES_PER_KB / len(long.encode())


def _spent_seconds(texts: list[Text], policy: MaskingPolicy) -> float:
    started = time.process_time()
    measure(texts, policy=policy)
    return time.process_time() - started


def _row(name: str, score: Score) -> str:
    return f"{name:<10}{score.wanted:>8}{score.recall:>9.3f}{score.found:>8}{score.precision:>11.3f}"
