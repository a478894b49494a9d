"""Secrets by the formats that their issuers publish: API keys, tokens, private keys (PR-7, PR-8)."""

import re
from collections.abc import Iterator

from workspaces.masking.passage import Passage, Span

# A character without which none of the group can be there, then prefix and what follows it.
_FORMATS: dict[str, tuple[tuple[str, str], ...]] = {
    "_": (
        *((f"gh{letter}_", r"[A-Za-z0-9]{30,}") for letter in "pousr"),
        ("github_pat_", r"[A-Za-z0-9_]{40,}"),
        *((f"{kind}_{mode}_", r"[A-Za-z0-9]{16,}") for kind in ("sk", "rk") for mode in ("live", "test")),
        ("whsec_", r"[A-Za-z0-9+/=]{20,}"),
        ("lst_", r"[A-Za-z0-9_-]{16,}"),
        ("lsp_", r"[A-Za-z0-9_-]{16,}"),
        ("npm_", r"[A-Za-z0-9]{30,}"),
        ("hf_", r"[A-Za-z0-9]{30,}"),
        ("gsk_", r"[A-Za-z0-9]{40,}"),
        ("r8_", r"[A-Za-z0-9]{30,}"),
        ("sbp_", r"[a-f0-9]{40,}"),
        ("dop_v1_", r"[a-f0-9]{60,}"),
        ("doo_v1_", r"[a-f0-9]{60,}"),
        ("shpat_", r"[a-fA-F0-9]{32,}"),
        ("shpss_", r"[a-fA-F0-9]{32,}"),
        ("shpca_", r"[a-fA-F0-9]{32,}"),
        ("lin_api_", r"[A-Za-z0-9]{32,}"),
        ("ntn_", r"[A-Za-z0-9]{40,}"),
        ("secret_", r"[A-Za-z0-9]{40,}"),
        ("glsa_", r"[A-Za-z0-9_]{32,}"),
        ("dckr_pat_", r"[A-Za-z0-9_-]{20,}"),
        ("APP_USR-", r"[A-Za-z0-9-]{20,}"),
    ),
    "-": (
        ("sk-", r"(?=[A-Za-z_-]{0,256}[0-9])[A-Za-z0-9_-]{20,}"),
        ("glpat-", r"[A-Za-z0-9_-]{20,}"),
        *((f"xox{letter}-", r"[A-Za-z0-9-]{20,}") for letter in "abeoprs"),
        ("xapp-", r"[A-Za-z0-9-]{20,}"),
        ("GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
        ("pypi-", r"[A-Za-z0-9_-]{40,}"),
        ("pplx-", r"[A-Za-z0-9]{40,}"),
        ("xai-", r"[A-Za-z0-9]{40,}"),
        ("key-", r"[a-f0-9]{32,}"),
        ("NRAK-", r"[A-Z0-9]{26,}"),
        ("PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
        ("sq0atp-", r"[A-Za-z0-9_-]{22,}"),
        ("sq0csp-", r"[A-Za-z0-9_-]{43,}"),
        ("AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    ),
    ".": (
        ("SG.", r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}"),
        ("ya29.", r"[A-Za-z0-9_.-]{20,}"),
        ("hvs.", r"[A-Za-z0-9_-]{24,}"),
    ),
    "/": (
        ("hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}"),
        ("discord.com/api/webhooks/", r"[A-Za-z0-9_/-]{40,}"),
    ),
    "A": (
        *((f"{kind}", r"[A-Z0-9]{16}(?![A-Za-z0-9])") for kind in ("AKIA", "ASIA", "ABIA", "ACCA")),
        ("AIza", r"[A-Za-z0-9_-]{35,}"),
        ("ATATT3", r"[A-Za-z0-9_=-]{40,}"),
    ),
    "S": (("SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),),
    "d": (("dapi", r"[0-9a-f]{32,}"),),
}
_COMPILED = {
    sign: tuple((prefix, re.compile(tail)) for prefix, tail in formats) for sign, formats in _FORMATS.items()
}
_PREFIX = re.compile("|".join(re.escape(prefix) for formats in _FORMATS.values() for prefix, _ in formats))
SHORTEST = 20
"""How many characters without a blank each of the formats has at least."""
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){2,4}")
_JWT_PART = re.compile(r"[A-Za-z0-9_-]+")
_BOT_TOKEN = re.compile(r"(?<![0-9A-Za-z])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}")
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_BEARER = re.compile(r"bearer\s{1,4}")
_BEARER_TOKEN = re.compile(r"(?=[A-Za-z._~+/=-]{0,512}[0-9]|[A-Za-z0-9._~+/=-]{24})[A-Za-z0-9._~+/=-]{8,}")


def may_hold_tokens(passage: Passage) -> bool:
    """Tell whether a token of a published format may begin somewhere."""
    text = passage.text
    if "eyJ" in text or ":AA" in text or "-----BEGIN" in text or "bearer" in passage.lower:
        return True
    return passage.may_hold_run(SHORTEST) and _PREFIX.search(text) is not None


def find_tokens(passage: Passage) -> Iterator[Span]:
    """Find secrets that are recognized by their own form (PR-7)."""
    yield from _with_prefixes(passage)
    if "eyJ" in passage.text:
        yield from _web_tokens(passage)
    if ":AA" in passage.text:
        yield from (Span(*found.span(), "secret") for found in _BOT_TOKEN.finditer(passage.text))
    if "-----BEGIN" in passage.text:
        yield from _private_keys(passage.text)
    if "bearer" in passage.lower:
        yield from _bearers(passage)


def _with_prefixes(passage: Passage) -> Iterator[Span]:
    for sign, formats in _COMPILED.items():
        if sign in passage.text:
            for prefix, tail in formats:
                if prefix in passage.text:
                    yield from _with_prefix(passage, prefix, tail)


def _with_prefix(passage: Passage, prefix: str, tail: re.Pattern[str]) -> Iterator[Span]:
    text = passage.text
    start = text.find(prefix)
    while start >= 0:
        found = tail.match(text, start + len(prefix)) if _begins_word(text, start) else None
        if found:
            passage.budget.spend()
            yield Span(start, found.end(), "secret")
        start = text.find(prefix, found.end() if found else start + 1)


def _web_tokens(passage: Passage) -> Iterator[Span]:
    text = passage.text
    start = text.find("eyJ")
    while start >= 0:
        begins = _begins_word(text, start)
        found = _JWT.match(text, start) if begins else None
        if found:
            passage.budget.spend()
            yield Span(start, found.end(), "secret")
        # Where one fails, those that begin later in the same part fail too: they have the same end.
        part = found or (_JWT_PART.match(text, start) if begins else None)
        start = text.find("eyJ", part.end() if part else start + 1)


def _private_keys(text: str) -> Iterator[Span]:
    """Find private key blocks; one without an end goes to the end of the text."""
    begin = _PEM_BEGIN.search(text)
    while begin:
        end = _PEM_END.search(text, begin.end())
        yield Span(begin.start(), end.end() if end else len(text), "secret")
        begin = _PEM_BEGIN.search(text, end.end()) if end else None


def _bearers(passage: Passage) -> Iterator[Span]:
    for word in _BEARER.finditer(passage.lower):
        token = _BEARER_TOKEN.match(passage.text, word.end())
        if token:
            passage.budget.spend()
            yield Span(token.start(), token.end(), "secret")


def _begins_word(text: str, start: int) -> bool:
    before = text[start - 1 : start]
    return not (before.isascii() and before.isalnum())
