"""National identity numbers of the workspace's regions, by the checks of python-stdnum (PR-5, PR-8).

Numbers whose check asks for today's date (Belgium, Norway, South Africa, Sweden) are not here: the same
text must always be masked alike.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module

import msgspec

from workspaces.masking.passage import Passage, Span

_REACH = 40


class _Number(msgspec.Struct, frozen=True):
    """A national number: who checks it and how it is written.

    In a shape `w` stands for digits and capitals, `l` for digits and any letters. Where the check is weak,
    `word` must stand before it, unless the number holds the sign `sure`. At least `digits` of it stand together.
    """

    check: str
    shape: str
    digits: int
    word: str = ""
    sure: str = ""


_NUMBERS: dict[str, tuple[_Number, ...]] = {
    "AR": (_Number("ar.cuit", r"\d{2}-?\d{8}-?\d", 11, word="cui[tl]", sure="-"),),
    "BR": (
        _Number("br.cpf", r"\d{3}[. ]?\d{3}[. ]?\d{3}[-./ ]?\d{2}", 11),
        _Number("br.cnpj", r"\w{2}[. ]?\w{3}[. ]?\w{3}[/ ]?\w{4}[- ]?\d{2}", 2),
        _Number("br.cnpj", r"\l{2}\.?\l{3}\.?\l{3}/?\l{4}-?\d{2}", 2, word="cnpj", sure="/"),
    ),
    "CA": (
        _Number("ca.sin", r"\d{3}([- ]?)\d{3}\1\d{3}", 9, word=r"\bsin\b|social insurance|\bnas\b", sure="-"),
    ),
    "CH": (_Number("ch.ssn", r"756\.?\d{4}\.?\d{4}\.?\d{2}", 13),),
    "CL": (_Number("cl.rut", r"\d{1,2}\.?\d{3}\.?\d{3}-[0-9kK]", 7),),
    "DE": (
        _Number("de.idnr", r"\d{2}( ?)\d{3}\1\d{3}\1\d{3}", 11, word=r"steuer|idnr|tax|\btin\b", sure=" "),
    ),
    "ES": (
        _Number("es.dni", r"\d{8}[- ]?[A-Za-z]", 8),
        _Number("es.nie", r"[XYZxyz][- ]?\d{7}[- ]?[A-Za-z]", 7),
    ),
    "FI": (_Number("fi.hetu", r"\d{6}[-+A-Fa-fU-Yu-y]\d{3}[0-9A-Za-z]", 6),),
    "FR": (_Number("fr.nir", r"[12] ?\d{2} ?\d{2} ?\d[0-9ABab] ?\d{3} ?\d{3} ?\d{2}", 8),),
    "GB": (_Number("gb.nhs", r"\d{3}[- ]?\d{3}[- ]?\d{4}", 10, word=r"\bnhs\b"),),
    "IN": (
        _Number("in_.aadhaar", r"\d{4}([- ]?)\d{4}\1\d{4}", 12, word="aadhaa?r|uidai", sure=" "),
        _Number("in_.pan", r"[A-Z]{5}\d{4}[A-Z]", 4),
    ),
    "IT": (_Number("it.codicefiscale", r"[A-Za-z]{6}\l{2}[A-Za-z]\l{2}[A-Za-z]\l{3}[A-Za-z]", 0),),
    "MX": (
        _Number("mx.curp", r"[A-Za-z]{4}\d{6}[A-Za-z]{6}[0-9A-Za-z]\d", 6),
        _Number("mx.rfc", r"[A-ZÑ&]{4}-?\d{6}-?[0-9A-Z]{3}", 6, word=r"\brfc\b"),
    ),
    "NL": (_Number("nl.bsn", r"\d{4}\.?\d{2}\.?\d{3}", 9, word=r"\bbsn\b|burgerservice|sofi"),),
    "PL": (_Number("pl.pesel", r"\d{11}", 11, word="pesel"),),
    "PT": (_Number("pt.nif", r"\d{3} ?\d{3} ?\d{3}", 9, word=r"\bnif\b|contribuinte|fiscal"),),
    "TR": (_Number("tr.tckimlik", r"[1-9]\d{10}", 11),),
    "US": (
        _Number("us.ssn", r"\d{3}([- ]?)\d{2}\1\d{4}", 9, word=r"\bssn\b|social sec|\bss#", sure="-"),
        _Number("us.itin", r"9\d{2}([- ]?)\d{2}\1\d{4}", 9, word=r"\bitin\b|taxpayer", sure="-"),
    ),
}


class _Compiled(msgspec.Struct, frozen=True):
    is_valid: Callable[[str], bool]
    shape: re.Pattern[str]
    digits: int
    word: re.Pattern[str]
    sure: str


def may_hold_gov_ids(passage: Passage) -> bool:
    """Tell whether there are digits enough for one of the numbers."""
    return any(
        passage.may_hold_digits(number.digits) for region in passage.regions for number in _numbers_of(region)
    )


def find_gov_ids(passage: Passage) -> Iterator[Span]:
    """Find the identity numbers that the workspace's regions give to persons and firms (PR-5)."""
    for region in passage.regions:
        for number in _numbers_of(region):
            if passage.may_hold_digits(number.digits):
                yield from _of_one_sort(passage, number)


def _of_one_sort(passage: Passage, number: _Compiled) -> Iterator[Span]:
    for found in number.shape.finditer(passage.text):
        passage.budget.spend()
        written = found[0]
        if not number.is_valid(written.replace(" ", "")):
            continue
        if (number.sure and number.sure in written) or _word_near(passage, number.word, found.start()):
            yield Span(*found.span(), "gov_id")


def _word_near(passage: Passage, word: re.Pattern[str], start: int) -> bool:
    """Tell whether the word stands before the number; an empty one stands everywhere."""
    return word.search(passage.lower, max(0, start - _REACH), start) is not None


@lru_cache(maxsize=len(_NUMBERS))
def _numbers_of(region: str) -> tuple[_Compiled, ...]:
    return tuple(
        _Compiled(
            is_valid=import_module(f"stdnum.{number.check}").is_valid,
            shape=_bounded(number.shape),
            digits=number.digits,
            word=re.compile(number.word),
            sure=number.sure,
        )
        for number in _NUMBERS.get(region, ())
    )


def _bounded(shape: str) -> re.Pattern[str]:
    """Let a shape begin and end where a number does: not inside a longer one, nor inside a part number."""
    for short, characters in ((r"\d", "[0-9]"), (r"\w", "[0-9A-Z]"), (r"\l", "[0-9A-Za-z]")):
        shape = shape.replace(short, characters)
    return re.compile(rf"(?<![0-9A-Za-z])(?<![0-9][-./])(?:{shape})(?![0-9A-Za-z]|[-./]?[0-9]|-[A-Za-z])")
