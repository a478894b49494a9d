"""Secrets by the word before them: `password: ...`, `api_key=...`, `my password is ...`, `cvv 123` (PR-7b)."""

import re
from collections.abc import Iterator

from workspaces.masking.passage import BRACKET_BLANK, Passage, Span

# What the text must hold, the whole name as it begins there, the kind of what follows.
_NAMES = tuple(
    (stem, re.compile(name), kind)
    for stem, name, kind in (
        ("pass", r"pass(?:word|wd|phrase|code|wort)", "password"),
        ("pwd", r"pwd", "password"),
        ("senha", r"senha", "password"),
        ("contrase", r"contrase[nñ]a", "password"),
        ("mot de passe", r"mot de passe", "password"),
        ("palavra", r"palavra[ -](?:passe|chave)", "password"),
        ("kennwort", r"kennwort", "password"),
        ("secret", r"secret(?:[_ -]?(?:access[_ -]?)?key)?", "secret"),
        ("token", r"token", "secret"),
        ("api", r"api[_ -]?(?:key|secret)", "secret"),
        ("access", r"access[_ -]?key", "secret"),
        ("private", r"private[_ -]?key", "secret"),
        ("authorization", r"authorization", "secret"),
        ("cvv", r"cvv2?", "cvv"),
        ("cvc", r"cvc2?", "cvv"),
        ("security code", r"security code", "cvv"),
        ("card code", r"card code", "cvv"),
        ("digo de seguran", r"digo de seguran[cç]a", "cvv"),
        ("digo de segurid", r"digo de seguridad", "cvv"),
    )
)
# One of these is in each of the names.
_STEMS = (
    *("pass", "pwd", "senha", "contrase", "palavra", "kennwort", "secret", "token", "key", "authorization"),
    *("cvv", "cvc", "security code", "card code", "digo de segur"),
)
_MAY_BE_GLUED = frozenset({"pass", "digo de seguran", "digo de segurid"})
_ASSIGNED = re.compile(r"[\\\"'\])*`]{0,4}\s{0,4}(?::{1,2}=?|={1,3}>?|->)\s{0,8}")
_SAID = re.compile(
    r"(?:(?:\s(?:for|of|to|on|do|da|de|del|der|für|pour|para|no|na)(?:\s[^\W\d_][\w.\-]{0,20}){1,3}?)?"
    r"(?:\s(?:is|was|é|eh|foi|es|est|ist|lautet|will be|is now)(?=[\s:])\s?:?|\s?:))?\s{1,3}"
)
_CODE_SAID = re.compile(
    r"(?:[\s:=#.\"'()\-]|is|was|é|es|est|code|number|nº|do cart[aã]o|de la tarjeta|on the back){1,10}"
    r"(?P<code>[0-9]{3,4})(?![0-9])"
)
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey)\s{1,4}(?=\S)", re.IGNORECASE)
_OPENING = re.compile(r"\\{0,3}[\"'`]")
# A value goes on to the next space, but in a query only to the next parameter.
_WORD = re.compile(r"(?:[^\s&]|&(?![\w.\-\[\]]{1,64}=))+")
_TRAILING = ".,;)]}>\"'\\"
_PLAIN_SIGNS = re.compile(r"[-'\u2019./]")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)


def may_hold_credentials(passage: Passage) -> bool:
    """Tell whether one of the names is there."""
    lower = passage.lower
    for stem in _STEMS:
        if stem in lower:
            return any(stem in lower and name.search(lower) for stem, name, _ in _NAMES)
    return False


def find_credentials(passage: Passage) -> Iterator[Span]:
    """Find passwords, secrets and card codes by their names (PR-7b)."""
    for stem, name, kind in _NAMES:
        start = passage.lower.find(stem)
        while start >= 0:
            found = name.match(passage.lower, start)
            span = None
            if found and (stem in _MAY_BE_GLUED or _stands_alone(passage.text, start)):
                span = _value_after(passage, found.end(), kind)
            if span:
                yield span
            # A name inside a value would read the same value again, and once more for each name in it.
            start = passage.lower.find(stem, span.end if span else start + len(stem))


def _stands_alone(text: str, start: int) -> bool:
    """Tell whether a name begins here; in `clientSecret` one does."""
    before = text[start - 1 : start]
    return not before.isalpha() or (text[start].isupper() and before.islower())


def _value_after(passage: Passage, end: int, kind: str) -> Span | None:
    assigned = _ASSIGNED.match(passage.lower, end)
    if assigned:
        span = _value_at(passage.text, assigned.end(), kind)
    elif kind == "cvv":
        span = _code_at(passage.lower, end)
    else:
        span = _said_value(passage, end, kind)
    if span is None or _is_marked(passage.text[slice(*span)]):
        return None
    passage.budget.spend()
    return Span(*span, kind)


def _value_at(text: str, start: int, kind: str) -> tuple[int, int] | None:
    """Answer where the value that begins here ends: its quote, the next parameter or the next space."""
    scheme = _SCHEME.match(text, start) if kind == "secret" else None
    start = scheme.end() if scheme else start
    opening = _OPENING.match(text, start)
    if opening:
        closing = _closing(text, opening)
        if closing >= 0:
            return (opening.end(), closing) if closing > opening.end() else None
        start = opening.end()
    return _word_at(text, start)


def _closing(text: str, opening: re.Match[str]) -> int:
    quote = opening[0]
    place = text.find(quote, opening.end())
    while len(quote) == 1 and place > 0 and text[place - 1] == "\\" and _is_escaped(text, place):
        place = text.find(quote, place + 1)
    return place


def _is_escaped(text: str, place: int) -> bool:
    before = text[max(0, place - 64) : place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _word_at(text: str, start: int) -> tuple[int, int] | None:
    word = _WORD.match(text, start)
    kept = word[0].rstrip(_TRAILING) if word else ""
    return (start, start + len(kept)) if kept else None


def _code_at(lower: str, start: int) -> tuple[int, int] | None:
    found = _CODE_SAID.match(lower, start)
    return found.span("code") if found else None


def _said_value(passage: Passage, start: int, kind: str) -> tuple[int, int] | None:
    """Answer where the value is in a sentence; there it must look like one, for most words are none."""
    said = _SAID.match(passage.lower, start)
    span = _value_at(passage.text, said.end(), kind) if said else None
    return span if span and _looks_secret(passage.text[slice(*span)], kind) else None


def _looks_secret(value: str, kind: str) -> bool:
    shortest = 4 if kind == "password" else 8
    if len(value) < shortest or _ADDRESS.match(value):
        return False
    if value.isdigit():
        return kind == "password"
    letters = any(character.isalpha() for character in value)
    digits = any(character.isdigit() for character in value)
    if kind != "password":
        return letters and digits
    signs = not _PLAIN_SIGNS.sub("", value).isalnum()
    inner_capital = value[1:] not in {value[1:].lower(), value[1:].upper()}
    return letters and (digits or signs or inner_capital)


def _is_marked(value: str) -> bool:
    return not value.strip(BRACKET_BLANK)
