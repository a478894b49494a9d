"""The check of a whole history: each state by itself, versions first, then the search for an order (WM-18)."""

from collections.abc import Iterable, Sequence

from tests.linearizability.history import FOREVER, Operation, by_state, told
from tests.linearizability.model import Model
from tests.linearizability.search import MAX_POINTS, Search, Verdict
from tests.linearizability.versions import faults

MAX_FAULTS = 3


def problems(operations: Iterable[Operation], model: Model, *, max_points: int = MAX_POINTS) -> list[str]:
    """List what no order of the operations explains, each with the operations that show it; empty when all is well."""
    whole = list(operations)
    since = min((operation.called for operation in whole), default=0)
    return [
        f"State {state}: {problem}"
        for state, part in by_state(whole).items()
        for problem in _problems_of(part, model, since=since, max_points=max_points)
    ]


def _problems_of(part: Sequence[Operation], model: Model, *, since: int, max_points: int) -> list[str]:
    found = faults(part)
    if found:
        return [f"{fault.sentence}\n{told(fault.operations, since=since)}" for fault in found[:MAX_FAULTS]]
    verdict = Search(model, part, max_points=max_points).run()
    return [] if verdict.is_linearizable else [_sentence(verdict, since=since)]


def _sentence(verdict: Verdict, *, since: int) -> str:
    """Tell how far the best order came, and the answers of which none can come next."""
    state = verdict.state
    waiting = [operation for operation in verdict.blocked if operation.answer is not None]
    end = min((operation.returned for operation in waiting), default=FOREVER)
    perhaps = [each for each in verdict.blocked if each.answer is None and each.called < end]
    reached = f"version {state.version}, numbering {state.numbering}, body {dict(state.body)}"
    doubt = "" if verdict.is_exhausted else f" (given up after {verdict.points} points)"
    return (
        f"No order explains every answer{doubt}. The longest reaches {reached}, lastly by\n"
        f"{told(verdict.placed, since=since)}\nand none of these can come next:\n{told(waiting, since=since)}\n"
        f"with {len(perhaps)} operations that nobody was answered, lately\n{told(perhaps[-8:], since=since)}"
    )
