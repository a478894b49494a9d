"""How well the detectors do on strings whose personal data is known: recall and precision (PR-8)."""

from collections.abc import Iterable, Iterator

import msgspec

from workspaces.masking.passage import Span
from workspaces.masking.policy import MaskingPolicy, kinds_in_declared
from workspaces.masking.scan import look, search_for

_GOV_IDS = frozenset({"cpf", "cnpj", "ssn"})


class Line(msgspec.Struct, frozen=True):
    """A line of a corpus: a text in parts to join, and the spans of it that are personal."""

    id: str
    text: list[str]
    spans: list[Span]


class Text(msgspec.Struct, frozen=True):
    """A text with what is personal in it, by our kinds."""

    id: str
    text: str
    wanted: list[Span]


class Case(msgspec.Struct, frozen=True):
    """A stretch of a text that was found, missed, or found where nothing is."""

    id: str
    kind: str
    text: str


class Score(msgspec.Struct):
    """The counts of one kind."""

    wanted: int = 0
    covered: int = 0
    found: int = 0
    right: int = 0

    @property
    def recall(self) -> float:
        """Of what is personal, the share that is covered from end to end."""
        return self.covered / self.wanted if self.wanted else 1.0

    @property
    def precision(self) -> float:
        """Of what was found, the share that touches something personal."""
        return self.right / self.found if self.found else 1.0


class Measured(msgspec.Struct):
    """The scores by kind, what was missed and what was found in vain."""

    by_kind: dict[str, Score]
    missed: list[Case]
    in_vain: list[Case]

    @property
    def total(self) -> Score:
        """Add the scores up."""
        scores = list(self.by_kind.values())
        return Score(
            wanted=sum(score.wanted for score in scores),
            covered=sum(score.covered for score in scores),
            found=sum(score.found for score in scores),
            right=sum(score.right for score in scores),
        )


def read_texts(lines: Iterable[bytes]) -> Iterator[Text]:
    """Read the lines of a corpus; cpf, cnpj and ssn are `gov_id` (PR-5). A bad line is a `msgspec.MsgspecError`."""
    for raw in lines:
        line = msgspec.json.decode(raw, type=Line)
        wanted = [Span(span.start, span.end, _our_kind(span.kind)) for span in line.spans]
        yield Text(line.id, "".join(line.text), wanted)


def measure(texts: Iterable[Text], *, policy: MaskingPolicy) -> Measured:
    """Let every detector read some texts, and compare what they find with what there is.

    A value counts as found where one span of any kind covers it whole; a span is right where it touches one.
    """
    measured = Measured({}, [], [])
    search = search_for(kinds_in_declared(policy))
    for text in texts:
        _compare(measured, text, look(text.text, search=search, policy=policy).spans)
    return measured


def _compare(measured: Measured, text: Text, found: list[Span]) -> None:
    for wanted in text.wanted:
        score = measured.by_kind.setdefault(wanted.kind, Score())
        covered = any(span.start <= wanted.start and wanted.end <= span.end for span in found)
        score.wanted += 1
        score.covered += covered
        if not covered:
            measured.missed.append(_case(text, wanted))
    for span in found:
        score = measured.by_kind.setdefault(span.kind, Score())
        right = any(span.start < wanted.end and wanted.start < span.end for wanted in text.wanted)
        score.found += 1
        score.right += right
        if not right:
            measured.in_vain.append(_case(text, span))


def _case(text: Text, span: Span) -> Case:
    return Case(text.id, span.kind, text.text[span.start : span.end])


def _our_kind(kind: str) -> str:
    return "gov_id" if kind in _GOV_IDS else kind
