"""Which identity numbers each region gives to persons and firms, how they are written and who checks them (PR-8).

Numbers whose check asks for today's date (Belgium, Denmark, Korea, Norway, South Africa, Sweden) are not here:
the same text must always be masked alike.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

import msgspec


class _Form(msgspec.Struct, frozen=True):
    r"""A national number: who checks it and how it is written.

    In a shape `\w` stands for digits and capitals, `\l` for digits and any letters. At least `digits` of it stand
    together. Where the check is weak, `word` must stand before it or right after it, unless the number holds the
    sign `sure`. No text shorter than `length` holds one.
    """

    check: str
    shape: str
    digits: int
    word: str = ""
    sure: str = ""
    length: int = 0


class Number(msgspec.Struct, frozen=True):
    """A form ready for use."""

    is_valid: Callable[[str], bool]
    shape: re.Pattern[str]
    digits: int
    word: re.Pattern[str]
    sure: str
    length: int


_FORMS: dict[str, tuple[_Form, ...]] = {
    "AR": (
        _Form("ar.cuit", r"\d{2}-?\d{8}-?\d", 11, word="cui[tl]", sure="-"),
        _Form("ar.dni", r"\d{2}\.?\d{3}\.?\d{3}", 8, word=r"\bdni\b|documento"),
    ),
    "AU": (
        _Form("au.tfn", r"\d{3}[ -]?\d{3}[ -]?\d{3}", 9, word=r"\btfn\b|tax file"),
        _Form("au.abn", r"\d{2} ?\d{3} ?\d{3} ?\d{3}", 11, word=r"\babn\b|business number"),
    ),
    "BG": (_Form("bg.egn", r"\d{10}", 10, word=r"\begn\b|егн"),),
    "BR": (
        _Form("br.cpf", r"\d{3}[. ]?\d{3}[. ]?\d{3}[-./ ]?\d{2}", 11),
        _Form("br.cnpj", r"\w{2}[. ]?\w{3}[. ]?\w{3}[/ ]?\w{4}[- ]?\d{2}", 2, length=14),
        _Form("br.cnpj", r"\l{2}\.?\l{3}\.?\l{3}/?\l{4}-?\d{2}", 2, word="cnpj", sure="/", length=14),
    ),
    "CA": (_Form("ca.sin", r"\d{3}([- ]?)\d{3}\1\d{3}", 9, word=r"\bsin\b|social insurance|\bnas\b", sure="-"),),
    "CH": (_Form("ch.ssn", r"756\.?\d{4}\.?\d{4}\.?\d{2}", 13),),
    "CL": (_Form("cl.rut", r"\d{1,2}\.?\d{3}\.?\d{3}-[0-9kK]", 7),),
    "CN": (_Form("cn.ric", r"\d{17}[0-9Xx]", 17),),
    "CO": (_Form("co.nit", r"\d{3}\.?\d{3}\.?\d{3}-?\d", 10, word=r"\bnit\b|\brut\b"),),
    "CZ": (_Form("cz.rc", r"\d{6}/?\d{3,4}", 9, word=r"rodn|\brc\b", sure="/"),),
    "DE": (
        _Form("de.idnr", r"\d{2}( ?)\d{3}\1\d{3}\1\d{3}", 11, word=r"steuer|idnr|tax|\btin\b", sure=" "),
        _Form("de.vat", r"DE ?\d{9}", 9, word=r"ust|umsatz|vat|mwst"),
    ),
    "EC": (_Form("ec.ci", r"\d{10}", 10, word=r"c[ée]dula|\bci\b"),),
    "EE": (_Form("ee.ik", r"\d{11}", 11, word=r"isikukood|\bik\b"),),
    "ES": (
        _Form("es.dni", r"\d{8}[- ]?[A-Za-z]", 8),
        _Form("es.nie", r"[XYZxyz][- ]?\d{7}[- ]?[A-Za-z]", 7),
        _Form("es.cif", r"[ABCDEFGHJNPQRSUVW][- ]?\d{7}[- ]?[0-9A-J]", 7, word=r"\bcif\b|\bnif\b"),
    ),
    "FI": (_Form("fi.hetu", r"\d{6}[-+A-Fa-fU-Yu-y]\d{3}[0-9A-Za-z]", 6),),
    "FR": (
        _Form("fr.nir", r"[12] ?\d{2} ?\d{2} ?\d[0-9ABab] ?\d{3} ?\d{3} ?\d{2}", 8),
        _Form("fr.siret", r"\d{3}([ .]?)\d{3}\1\d{3}[ .]?\d{5}", 14, word=r"\bsire[tn]\b|soci[ée]t[ée]|\brcs\b"),
        _Form("fr.siren", r"\d{3}([ .]?)\d{3}\1\d{3}", 9, word=r"\bsire[tn]\b|\brcs\b"),
        _Form("fr.nif", r"[0-3]\d ?\d{2} ?\d{3} ?\d{3} ?\d{3}", 13, word=r"fiscal|\bspi\b|\bnif\b"),
        _Form("fr.tva", r"FR ?\w{2} ?\d{3} ?\d{3} ?\d{3}", 9, word=r"\btva\b|intracom|\bvat\b"),
    ),
    "GB": (
        _Form("gb.nhs", r"\d{3}[- ]?\d{3}[- ]?\d{4}", 10, word=r"\bnhs\b"),
        _Form("gb.utr", r"\d{5} ?\d{5}", 10, word=r"\butr\b|taxpayer"),
    ),
    "GR": (_Form("gr.amka", r"\d{11}", 11, word=r"amka|αμκα"),),
    "HR": (_Form("hr.oib", r"\d{11}", 11, word=r"\boib\b"),),
    "HU": (_Form("hu.anum", r"\d{8}-?\d-?\d{2}", 8, word=r"ad[óo]sz[áa]m"),),
    "IE": (_Form("ie.pps", r"\d{7}[A-Wa-w][ABWabw]?", 7, word=r"\bpps"),),
    "IL": (_Form("il.idnr", r"\d{9}", 9, word=r"teudat|\bt\.?z\.?\b|תעודת"),),
    "IN": (
        _Form("in_.aadhaar", r"\d{4}([- ]?)\d{4}\1\d{4}", 12, word="aadhaa?r|uidai", sure=" "),
        _Form("in_.pan", r"[A-Z]{5}\d{4}[A-Z]", 4, length=10),
    ),
    "IS": (_Form("is_.kennitala", r"\d{6}-?\d{4}", 10, word=r"kennitala|\bkt\b"),),
    "IT": (
        _Form("it.codicefiscale", r"[A-Za-z]{6}\l{2}[A-Za-z]\l{2}[A-Za-z]\l{3}[A-Za-z]", 0, length=16),
        _Form("it.iva", r"\d{11}", 11, word=r"\biva\b|p\.? ?iva"),
    ),
    "LT": (_Form("lt.asmens", r"\d{11}", 11, word=r"asmens"),),
    "MX": (
        _Form("mx.curp", r"[A-Za-z]{4}\d{6}[A-Za-z]{6}[0-9A-Za-z]\d", 6),
        _Form("mx.rfc", r"[A-ZÑ&]{4}-?\d{6}-?[0-9A-Z]{3}", 6, word=r"\brfc\b"),
    ),
    "MY": (_Form("my.nric", r"\d{6}-?\d{2}-?\d{4}", 12, word=r"\bic\b|nric|mykad"),),
    "NL": (_Form("nl.bsn", r"\d{4}\.?\d{2}\.?\d{3}", 9, word=r"\bbsn\b|burgerservice|sofi"),),
    "NZ": (_Form("nz.ird", r"\d{2,3}[- ]?\d{3}[- ]?\d{3}", 8, word=r"\bird\b|inland revenue"),),
    "PE": (_Form("pe.ruc", r"\d{11}", 11, word=r"\bruc\b"),),
    "PL": (
        _Form("pl.pesel", r"\d{11}", 11, word="pesel"),
        _Form("pl.nip", r"\d{3}-?\d{3}-?\d{2}-?\d{2}", 10, word=r"\bnip\b"),
    ),
    "PT": (
        _Form("pt.nif", r"\d{3} ?\d{3} ?\d{3}", 9, word=r"\bnif\b|contribuinte|fiscal"),
        _Form("pt.cc", r"\d{8} ?\d ?[A-Za-z0-9]{2}\d", 9, word=r"cart[ãa]o d[eo] cidad|\bcc\b"),
    ),
    "RO": (_Form("ro.cnp", r"\d{13}", 13, word=r"\bcnp\b"),),
    "SI": (_Form("si.emso", r"\d{13}", 13, word=r"em[šs]o"),),
    "SK": (_Form("sk.rc", r"\d{6}/?\d{3,4}", 9, word=r"rodn|\brc\b", sure="/"),),
    "TH": (_Form("th.pin", r"\d-?\d{4}-?\d{5}-?\d{2}-?\d", 13, word=r"บัตร|thai id|\bpin\b"),),
    "TR": (_Form("tr.tckimlik", r"[1-9]\d{10}", 11),),
    "US": (
        _Form("us.ssn", r"\d{3}([- ]?)\d{2}\1\d{4}", 9, word=r"\bssn\b|social sec|\bss#", sure="-"),
        _Form("us.itin", r"9\d{2}([- ]?)\d{2}\1\d{4}", 9, word=r"\bitin\b|taxpayer|\btin\b|tax id", sure="-"),
        _Form("us.ein", r"\d{2}-?\d{7}", 9, word=r"\bein\b|employer id|\btin\b|tax id"),
        _Form("us.ptin", r"P-?\d{8}", 8, word=r"\bptin\b"),
    ),
}  # fmt: skip


@lru_cache(maxsize=1000)
def numbers_of(regions: tuple[str, ...]) -> tuple[Number, ...]:
    """Answer the numbers of some regions; of one that nobody knows there are none."""
    return tuple(
        Number(
            is_valid=import_module(f"stdnum.{form.check}").is_valid,
            shape=_bounded(form.shape),
            digits=form.digits,
            word=re.compile(form.word),
            sure=form.sure,
            length=form.length,
        )
        for region in regions
        for form in _FORMS.get(region, ())
    )


def _bounded(shape: str) -> re.Pattern[str]:
    """Let a shape begin and end where a number does: not inside a longer one, nor inside a part number."""
    for short, characters in ((r"\d", "[0-9]"), (r"\w", "[0-9A-Z]"), (r"\l", "[0-9A-Za-z]")):
        shape = shape.replace(short, characters)
    return re.compile(rf"(?<![0-9A-Za-z])(?<![0-9][-./])(?:{shape})(?![0-9A-Za-z]|[-./]?[0-9]|-[A-Za-z])")
