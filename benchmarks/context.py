"""Assembled contexts beside the naive transcript and observation masking: tokens, and facts kept (CA, scenarios).

`make bench-context` runs it, with the tests of the SDK on its path: the recorded runs are theirs. No time is measured.
One tokenizer counts all three contexts.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpe_openai
from scenarios import Scenario, contexts, kept, tokens_of
from scenarios.others import OTHERS
from scenarios.published import PUBLISHED

PROJECT = Path(__file__).resolve().parents[1]
WRITTEN = PROJECT / ".lastro" / "bench" / "context.json"
TOKENIZER = "o200k_base"

_ENCODING = bpe_openai.get_encoding(TOKENIZER)


def count(text: str) -> int:
    """Count the tokens of a text."""
    return len(_ENCODING.encode_ordinary(text))


def measured(scenario: Scenario) -> dict[str, Any]:
    """Measure one recorded run."""
    found = contexts(scenario, count)
    columns = {"naive": found.naive, "masked": found.masked, "assembled": found.assembled}
    tokens = {name: tokens_of(messages, count) for name, messages in columns.items()}
    facts = {name: len(kept(scenario.facts, messages)) for name, messages in columns.items()}
    return {
        "scenario": scenario.name,
        "tokens": tokens,
        "facts": {"needed": len(scenario.facts), **facts},
        "saved": {name: _saved(tokens["naive"], tokens[name]) for name in ("masked", "assembled")},
        "published": _published(scenario),
        "digest": found.assembly.digest,
    }


def _saved(naive: int, tokens: int) -> float:
    return round(100 * (1 - tokens / naive), 1)


def _published(scenario: Scenario) -> dict[str, Any] | None:
    if scenario.reference is None:
        return None
    naive, assembled = scenario.reference
    return {"naive": naive, "assembled": assembled, "saved": _saved(naive, assembled)}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Give the rows for people."""
    head = f"{'recorded run':32} {'naive':>6} {'masked':>14} {'assembled':>14} {'published':>16}  facts kept of needed"
    return "\n".join([head, *map(_line, rows)])


def _line(row: dict[str, Any]) -> str:
    tokens, saved, facts, known = row["tokens"], row["saved"], row["facts"], row["published"]
    published = f"{known['assembled']:5} of {known['naive']} -{known['saved']} %" if known else ""
    return (
        f"{row['scenario']:32} {tokens['naive']:6}"
        f" {tokens['masked']:6} -{saved['masked']:4} % {tokens['assembled']:6} -{saved['assembled']:4} %"
        f" {published:>20}  {facts['naive']}, {facts['masked']}, {facts['assembled']} of {facts['needed']}"
    )


def main() -> None:
    """Print the table and write it as JSON."""
    rows = [measured(make()) for make in (*PUBLISHED, *OTHERS)]
    print(f"Tokens by {TOKENIZER}; columns of facts: naive, masked, assembled.\n{table(rows)}")
    WRITTEN.parent.mkdir(parents=True, exist_ok=True)
    WRITTEN.write_text(json.dumps({"tokenizer": TOKENIZER, "runs": rows}, indent=1) + "\n")
    print(f"written to {WRITTEN.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
