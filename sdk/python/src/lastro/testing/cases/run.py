"""Running every case of a folder, and the report: PASS or FAIL with why, SKIP where something is not there yet."""

import tempfile
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lastro.testing.cases.acts import ACTS
from lastro.testing.cases.assembling import ASSEMBLE, Assembling, uncompared
from lastro.testing.cases.case import Case, CaseUnreadable, read_case
from lastro.testing.cases.checks import WINDOWS, failures
from lastro.testing.cases.facts import unknown_facts
from lastro.testing.cases.play import Play
from lastro.testing.cases.stage import Clock, Stage, Unplayable, ram, sqlite

Word = Literal["PASS", "FAIL", "SKIP"]
Setting = Callable[[Clock, Path], Stage]
IN_PROCESS: Sequence[Setting] = (ram, sqlite)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one case, and why; `unchecked` are the facts that nobody here can compare."""

    name: str
    word: Word
    why: Sequence[str] = ()
    unchecked: Sequence[str] = ()

    @property
    def line(self) -> str:
        """Write it as one line."""
        notes = [*self.why, *(f"fact {name} not checked" for name in self.unchecked)]
        return f"{self.word} {self.name}" + (f": {'; '.join(notes)}" if notes else "")


def verdicts(folder: Path, settings: Sequence[Setting] = IN_PROCESS) -> Iterator[Verdict]:
    """Play each case of a folder, in the order of their names, on every setting."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield verdict(read_case(path), settings)
        except CaseUnreadable as error:
            yield Verdict(path.stem, "FAIL", [f"no case that can be read: {error}"])


def verdict(case: Case, settings: Sequence[Setting] = IN_PROCESS) -> Verdict:
    """Play one case on every setting that can be put into it."""
    name = f"{case.id} {case.kind}"
    strange = sorted({step.do for step in case.steps} - _known(case))
    if strange:
        return Verdict(name, "FAIL", [f"nobody knows the act {', '.join(strange)}"])
    played = [_played(case, setting, repair=repair) for setting in settings for repair in _ways(case)]
    why = [f"{stage}: {reason}" for stage, reasons, _ in played for reason in reasons]
    unplayed = [reason for _, _, reason in played if reason]
    if len(unplayed) == len(played):
        return Verdict(name, "SKIP", sorted(set(unplayed)))
    return Verdict(name, "FAIL" if why else "PASS", why, _unchecked(case))


def _known(case: Case) -> Set[str]:
    return {ASSEMBLE} if case.needs_assembly else ACTS.keys()


def _unchecked(case: Case) -> Sequence[str]:
    return unknown_facts(list(case.facts)) if not case.needs_assembly else uncompared(case)


def _ways(case: Case) -> Sequence[bool]:
    """Play a window as it is asked for, and once more with repair where serving one is right."""
    is_window = any(step.do in WINDOWS for step in case.steps)
    return (False, True) if is_window and "ok" in case.outcomes else (False,)


def _played(case: Case, setting: Setting, *, repair: bool) -> tuple[str, Sequence[str], str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            stage = setting(Clock(is_given=case.is_clocked), Path(folder))
        except Unplayable as error:
            return "", [], str(error)
        with closing(stage):
            return _played_on(stage, case, repair=repair)


BROKEN = (LookupError, TypeError, ValueError, AttributeError, StopIteration)
"""What an act meets in a file that is not written as it thought: one such case stops no other."""


def _played_on(stage: Stage, case: Case, *, repair: bool) -> tuple[str, Sequence[str], str]:
    name = f"{stage.name}, repaired" if repair else stage.name
    if case.needs_assembly:
        return _assembled_on(stage, case)
    play = Play(case=case, stage=stage, repair=repair)
    try:
        play.run(ACTS)
    except Unplayable as error:
        return name, [], f"{name}: {error}"
    except BROKEN as error:
        return name, [f"the case cannot be played: {type(error).__name__} {error}"], ""
    return name, list(dict.fromkeys(failures(play))), ""


def _assembled_on(stage: Stage, case: Case) -> tuple[str, Sequence[str], str]:
    if stage.graph is None:
        return stage.name, [], f"{stage.name}: keeps no graph"
    try:
        with stage.graph() as client:
            return stage.name, list(Assembling(case=case, client=client).failures()), ""
    except Unplayable as error:
        return stage.name, [], f"{stage.name}: {error}"
    except BROKEN as error:
        return stage.name, [f"the case cannot be played: {type(error).__name__} {error}"], ""
