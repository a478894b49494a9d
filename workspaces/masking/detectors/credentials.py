"""Secrets by the word before them: `password: ...`, `api_key=...`, `my password is ...`, `cvv 123` (PR-7b)."""

import re
from collections.abc import Callable, Iterator

from workspaces.masking.detectors.credential_names import EMPTY_WORDS, NAMES, STEMS, Name
from workspaces.masking.passage import BRACKET_BLANK, Passage, Span

_ASSIGNED = re.compile(r"[\\\"'\])*`]{0,4}\s{0,4}(?::{1,2}=?|={1,3}>?|->|[\u2192\u21d2])\s{0,8}")
_ADJECTIVE = (
    r"(?:provis[óo]ri[ao]|tempor[áa]ri[ao]|temporaire|provisoire|temporary|nov[ao]|new|nouveau|atual|current"
    r"|actuel|antig[ao]|old|ancien|padr[ãa]o|default|inicial|initial|secret[ao]?|secr[èe]te|mestre|master|root"
    r"|admin|wi-?fi)"
)
_TO_BE = r"(?:is|was|é|eh|era|foi|ficou|ser[áa]|es|est|[ée]tait|sera|c['\u2019]est|ist|lautet|will be|is now)"
_FOR = r"(?:for|of|to|on|do|da|de|del|der|für|pour|du|des|para|no|na)"
# A verb or a colon announces the value; so does a word like `to` right before it.
_SAID = re.compile(
    rf"(?:(?:\s[^\W\d_][\w.\-]{{0,20}}){{0,4}}?(?:\s{_TO_BE}(?=[\s:])\s?:?|['\u2019]s)"
    rf"|(?:\s{_ADJECTIVE})?(?:\s{_FOR}(?:\s[^\W\d_][\w.\-]{{0,20}}){{1,3}}?)?\s?:"
    r"|\s(?:to|as|para|pour|em|en|por|como|comme))?\s{1,3}"
)
# Without either, what follows a few words must look like a secret without any doubt.
_SAID_AFTER_WORDS = re.compile(rf"(?:\s{_FOR}(?:\s[^\W\d_][\w\-]{{0,20}}){{1,2}}?)\s{{1,3}}")
_SAID_BEFORE = re.compile(
    r"(?P<value>\S{3,64})(?:\sis|\sas|\sé|\scomo|\sest|\scomme|[\s,(]{1,2}(?:that|this|it)(?:['\u2019]s|\sis)"
    r"|[\s,(]{1,2}(?:isso|essa|esta) é|[\s,(]{1,2}c['\u2019]est)"
    r"\s(?:the|my|your|our|a|o|minha|sua|meu|seu|le|la|mon|votre)"
    r"(?:\s(?:new|old|nova|novo|nouveau))?\s\Z"
)
_WORDS_BEFORE = (
    *(
        " the ",
        " my ",
        " your ",
        " our ",
        " a ",
        " o ",
        " minha ",
        " sua ",
        " meu ",
        " seu ",
        " le ",
        " la ",
        " mon ",
    ),
    *(" votre ", " new ", " old ", " nova ", " novo ", " nouveau ", "("),
)
_LONGEST_BEFORE = 90
# What may stand between the name of a card code and the code: signs, and words that tell nothing.
_CODE = re.compile(r"[0-9]{3,4}(?![0-9])(?![-/:.,][0-9])")
_BETWEEN = re.compile(r"[\s:=#.,\"'\u2019()?>|\u2192-]{1,4}|[^\W\d_]+|[nº°]{1,2}")
_MOST_BETWEEN = 14
# `123 is the cvv`, `123 (cvv)`, `857 on the back, that is the cvv`.
_CODE_BEFORE = re.compile(
    r"(?<![0-9./,:-])(?P<code>[0-9]{3,4})"
    r"(?:\s?\(|(?:\son the back|\satr[áa]s|\sno verso|\sau (?:dos|verso))?,?"
    r"(?:\s(?:that|this|isso|isto|esse|c['\u2019]|ce))?\s(?:is|as|é|como|est|comme)\s(?:the|my|o|meu|le|mon)\s)\Z"
)
_REACH = 40
_USER = re.compile(r"\b(?:user|usu[aá]rio|login|utilisateur|identifiant|admin|root|benutzer)\b")
_RANDOM = re.compile(r"[A-Za-z0-9+/=_.~-]{16,}")
# Where code or a template names a value, a type or the lack of one.
_NOTHING = re.compile(
    r"none|null|nil|true|false|undefined|str|string|bytes|text|bool|int|any|required|optional|\*+|x{3,}|\.{3}|…"
    r"|\$\{?[\w.]+\}?|\{\{?[\s\w.]+\}?\}?|<[\s\w-]+>?|%\(\w+\)s|self\.\w+"
)
# A UUID, a date, a path, a digest of a commit: what has a name of its own.
_THING = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z|[0-9]{4}-[0-9]{2}|[0-9a-f]{40}\Z|[./~]|[a-z.-]+/"
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
    for stem in STEMS:
        if stem in lower:
            return any(name.stem in lower and name.pattern.search(lower) for name in NAMES)
    return False


def find_credentials(passage: Passage) -> Iterator[Span]:
    """Find passwords, secrets and card codes by their names (PR-7b)."""
    for name in NAMES:
        start = passage.lower.find(name.stem)
        while start >= 0:
            found = name.pattern.match(passage.lower, start)
            span = None
            if found and _is_name(passage, name, start):
                span = _value_near(passage, name, start, found.end())
            if span:
                yield span
            # A name inside a value would read the same value again, and once more for each name in it.
            end = start + len(name.stem)
            start = passage.lower.find(name.stem, max(end, span.end) if span else end)


def _is_name(passage: Passage, name: Name, start: int) -> bool:
    """Tell whether a name begins here, in `clientSecret` too, and after the words that it needs."""
    if name.before and not name.before.search(passage.lower, max(0, start - _REACH), start):
        return False
    if name.glued:
        return True
    text, before = passage.text, passage.text[start - 1 : start]
    return not before.isalpha() or (text[start].isupper() and before.islower())


def _value_near(passage: Passage, name: Name, start: int, end: int) -> Span | None:
    found = _value_after(passage, name, start, end) or _value_before(passage, name, start)
    if found is None or _is_marked(passage.text[slice(*found)]):
        return None
    passage.budget.spend()
    return Span(*found, name.kind)


def _value_after(passage: Passage, name: Name, start: int, end: int) -> tuple[int, int] | None:
    assigned = _ASSIGNED.match(passage.lower, end)
    if assigned:
        return _assigned_value(passage, name, assigned.end())
    if name.kind == "cvv":
        return _code_at(passage.lower, end)
    if name.weak and not _is_announced(passage, name, start):
        return None
    return _said_value(passage, end, name)


def _assigned_value(passage: Passage, name: Name, start: int) -> tuple[int, int] | None:
    span = _value_at(passage.text, start, name.kind)
    if span is None or _NOTHING.fullmatch(passage.lower, *span):
        return None
    doubtful = name.weak and name.kind == "secret"
    return None if doubtful and not _looks_random(passage.text[slice(*span)]) else span


def _is_announced(passage: Passage, name: Name, start: int) -> bool:
    """Tell whether a weak name may be said without a sign: `pass` only after the name of a user."""
    return name.kind != "password" or _USER.search(passage.lower, max(0, start - _REACH), start) is not None


def _value_before(passage: Passage, name: Name, start: int) -> tuple[int, int] | None:
    """Answer where a value is that is said before its name: `... is my password`, `... is the cvv`."""
    said = _CODE_BEFORE if name.kind == "cvv" else _SAID_BEFORE
    before = passage.lower[max(0, start - _LONGEST_BEFORE) : start]
    if name.weak or not before.endswith(_WORDS_BEFORE):
        return None
    found = said.search(passage.lower, start - len(before), start)
    if found is None:
        return None
    if name.kind == "cvv":
        return found.span("code")
    span = found.span("value")
    return span if _looks_secret(passage.text[slice(*span)], name.kind) else None


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
    """Answer where the code is, with nothing but signs and empty words before it."""
    place, words = start, 0
    for _ in range(_MOST_BETWEEN):
        between = _BETWEEN.match(lower, place)
        if between is None:
            break
        word = between[0]
        if word[0].isalpha() and word not in EMPTY_WORDS:
            return None
        words += word[0].isalpha()
        place = between.end()
    code = _CODE.match(lower, place) if place > start else None
    # A year in a sentence is none.
    is_year = code is not None and words > 3 and code[0].startswith(("19", "20")) and len(code[0]) == 4
    return None if code is None or is_year else code.span()


def _said_value(passage: Passage, start: int, name: Name) -> tuple[int, int] | None:
    """Answer where the value is in a sentence; there it must look like one, for most words are none."""
    said = _SAID.match(passage.lower, start)
    span = _value_at(passage.text, said.end(), name.kind) if said else None
    looks = _looks_random if name.weak and name.kind == "secret" else _looks_like(name.kind)
    if span and looks(passage.text[slice(*span)]):
        return span
    after = _SAID_AFTER_WORDS.match(passage.lower, start)
    span = _value_at(passage.text, after.end(), name.kind) if after else None
    return span if span and _looks_random(passage.text[slice(*span)]) else None


def _looks_like(kind: str) -> Callable[[str], bool]:
    return lambda value: _looks_secret(value, kind)


def _looks_random(value: str) -> bool:
    """Tell whether a value can hardly be anything but a secret: long, of letters and digits, no number of a thing."""
    if not _RANDOM.fullmatch(value) or _THING.match(value):
        return False
    return sum(character.isdigit() for character in value) > 1 and any(map(str.isalpha, value))


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
