"""Precision and recall of the detectors on the corpus of strings with and without personal data."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workspaces.masking_policies import policy
from workspaces.masking import FieldRule, mask_fields
from workspaces.masking.policy import kinds_in_declared
from workspaces.masking.scan import look, search_for

CORPUS = Path(__file__).parent / "data" / "pii" / "corpus.jsonl"
POLICY = policy()
SEARCH = search_for(kinds_in_declared(POLICY))
LEAST_RECALL = 0.97
LEAST_PRECISION = 0.97
GOV_IDS = {"cpf", "cnpj", "ssn"}


def read_corpus() -> list[dict[str, Any]]:
    """Read the corpus, with its texts put together."""
    rows = (json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines())
    return [row | {"text": "".join(row["text"])} for row in rows]


def wanted(row: dict[str, Any]) -> list[tuple[int, int, str]]:
    """Answer the spans of a row with our kinds."""
    return [
        (span["start"], span["end"], "gov_id" if span["kind"] in GOV_IDS else span["kind"])
        for span in row["spans"]
    ]


def found(row: dict[str, Any]) -> list[tuple[int, int, str]]:
    """Answer the spans that the detectors find in a row."""
    spans = look(row["text"], search=SEARCH, policy=POLICY).spans
    return [(span.start, span.end, span.kind) for span in spans]


def test_most_of_what_is_personal_is_covered_and_little_else() -> None:
    """PR-8: recall (entity fully covered, right kind) and precision on the corpus are bounded."""
    rows = [(wanted(row), found(row)) for row in read_corpus()]
    covered = [
        any(s <= start and end <= e and k == kind for s, e, k in spans)
        for entities, spans in rows
        for start, end, kind in entities
    ]
    right = [
        any(start < e and s < end for s, e, _ in entities)
        for entities, spans in rows
        for start, end, _ in spans
    ]
    assert len(covered) == 37
    assert sum(covered) / len(covered) >= LEAST_RECALL
    assert sum(right) / len(right) >= LEAST_PRECISION


@pytest.mark.parametrize("row", read_corpus(), ids=lambda row: row["id"])
def test_nothing_of_a_declared_string_is_left(row: dict[str, Any]) -> None:
    """PR-5, PR-6: in a field declared personal no value of the corpus survives, and masking is a fixed point."""
    declared = {"note": FieldRule(type="text", pii=True)}
    masked = mask_fields({"note": row["text"]}, declared=declared, policy=POLICY)
    again = mask_fields(masked.fields, declared=declared, policy=POLICY)
    assert all(row["text"][start:end] not in masked.fields["note"] for start, end, _ in wanted(row))
    assert (again.fields, again.counts) == (masked.fields, {})
