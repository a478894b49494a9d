"""The words after which a password, a secret or a card code stands, in the languages of our users (PR-7b)."""

import re
from itertools import product

import msgspec


class Name(msgspec.Struct, frozen=True):
    """A name of a secret: how it begins, how it goes on, and what must stand before it where it says too little.

    A `weak` name is a common word: only what is assigned to it counts, or what looks random.
    """

    stem: str
    pattern: re.Pattern[str]
    kind: str
    before: re.Pattern[str] | None = None
    weak: bool = False
    glued: bool = False


def _name(
    stem: str, pattern: str, kind: str, *, before: str = "", weak: bool = False, glued: bool = False
) -> Name:
    earlier = re.compile(before + r"\s?\Z") if before else None
    return Name(stem, re.compile(pattern), kind, earlier, weak, glued)


_OF_ACCESS = r"(?: d[eo] acesso| de acceso| d['\u2019]acc[èe]s)?"
_KEY_BEFORE = r"(?:\b(?:clé|chave)s?(?: d[eao]| d['\u2019])?)"
_ON_THE_BACK = ("digits on the back", "numbers on the back", "chiffres au dos", "chiffres au verso")
_ATRAS = [
    f"{what} {where}"
    for what, where in product(
        ("dígitos", "digitos", "números", "numeros"), ("de trás", "atrás", "do verso", "no verso")
    )
]

PASSWORDS = (
    _name("pass", r"pass(?:word|wd|phrase|code|wort)", "password", glued=True),
    _name("pass", r"pass(?=[\s\"']{0,3}[:=]|\s)", "password", weak=True),
    _name("pwd", r"pwd", "password"),
    _name("pw", r"pw(?=[\"']?\s?[:=])", "password", weak=True),
    _name("senha", r"senha(?: de acesso)?", "password"),
    _name("contrase", r"contrase[nñ]a", "password"),
    _name("mot de passe", r"mot de passe(?: d['\u2019]acc[èe]s)?", "password"),
    _name("mdp", r"mdp", "password"),
    _name("palavra", r"palavra[ -]passe", "password"),
    _name("kennwort", r"kennwort", "password"),
)
SECRETS = (
    _name("secret", r"secret(?:[_ -]?(?:access[_ -]?)?key)?", "secret"),
    _name("secr", r"secr(?:[eè]te|eta)", "secret", before=_KEY_BEFORE),
    _name("segredo", r"segredo", "secret"),
    _name("token", r"token" + _OF_ACCESS, "secret"),
    _name("jeton", r"jeton" + _OF_ACCESS, "secret"),
    _name("api", r"api[_ -]?(?:key|secret)", "secret"),
    _name("api", r"api\b", "secret", before=_KEY_BEFORE),
    _name("access", r"access[_ -]?key", "secret"),
    _name("acesso", r"acesso", "secret", before=_KEY_BEFORE),
    _name("acc", r"acc[èe]s", "secret", before=_KEY_BEFORE),
    _name("account", r"account[_-]?key", "secret"),
    _name("private", r"private[_ -]?key", "secret"),
    _name("priv", r"priv(?:ada|[ée]e)", "secret", before=_KEY_BEFORE),
    _name("key", r"key", "secret", weak=True),
    _name("chave", r"chave", "secret", weak=True),
    _name("clé", r"clé\b", "secret", weak=True),
    _name("creden", r"creden(?:tial|cial)s?", "secret", weak=True),
    _name("authorization", r"authorization", "secret"),
)
CARD_CODES = (
    _name("cvv", r"cvv2?", "cvv"),
    _name("cvc", r"cvc2?", "cvv"),
    _name("cvn", r"cvn2?", "cvv"),
    _name("security code", r"security code", "cvv"),
    _name("card code", r"card code", "cvv"),
    _name("digo de segur", r"digo de segur(?:an[cç]a|idad)", "cvv", glued=True),
    _name("cod", r"cod\.? de segur(?:an[cç]a|idad)?\b\.?", "cvv"),
    _name("cód", r"cód\.? de segur(?:an[cç]a|idad)?\b\.?", "cvv"),
    _name("digo do verso", r"digo do verso", "cvv", glued=True),
    _name(
        "digit ",
        r"digit (?:security |card |verification )?(?:code|number)",
        "cvv",
        before=r"(?:\b(?:3|4|three|four)[ -]?)",
    ),
    _name("code au dos", r"code au (?:dos|verso)", "cvv"),
    _name("cryptogramme", r"cryptogramme(?: visuel)?", "cvv"),
    _name("code de s", r"code de s[ée]curit[ée]", "cvv"),
    *(_name(words, words, "cvv") for words in (*_ON_THE_BACK, *_ATRAS)),
)
NAMES = (*PASSWORDS, *SECRETS, *CARD_CODES)

# One of these is in each of the names, or in what must stand before it; the rarer, the fewer are asked further.
STEMS = (
    *("pass", "pw", "senha", "contrase", "mdp", "kennwort", "secr", "segredo", "token", "jeton", "key"),
    *("authorization", "chave", "clé", "creden", "cv", "security code", "card code"),
    *(
        "code de s",
        "de segur",
        "cryptogramme",
        "on the back",
        "trás",
        "verso",
        "au dos",
        "digit code",
        "digit security",
    ),
)

# The words that may stand between the name of a card code and the code.
EMPTY_WORDS = frozenset(
    [
        *(
            "is",
            "was",
            "are",
            "be",
            "should",
            "s",
            "it",
            "that",
            "this",
            "the",
            "a",
            "my",
            "your",
            "our",
            "for",
            "of",
        ),
        *(
            "on",
            "in",
            "to",
            "and",
            "so",
            "then",
            "here",
            "code",
            "number",
            "digits",
            "digit",
            "card",
            "back",
            "printed",
        ),
        *("says", "which", "you", "asked", "new", "old"),
        *(
            "é",
            "são",
            "es",
            "est",
            "sont",
            "era",
            "seria",
            "deve",
            "ser",
            "será",
            "o",
            "os",
            "aqui",
            "esse",
            "essa",
        ),
        *(
            "isso",
            "que",
            "meu",
            "minha",
            "seu",
            "sua",
            "do",
            "da",
            "de",
            "del",
            "dos",
            "das",
            "no",
            "na",
            "número",
        ),
        *(
            "numero",
            "números",
            "dígitos",
            "digitos",
            "código",
            "cartão",
            "cartao",
            "carta",
            "tarjeta",
            "verso",
        ),
        *("trás", "atrás", "segurança", "e"),
        *(
            "le",
            "la",
            "les",
            "mon",
            "ma",
            "votre",
            "du",
            "des",
            "c",
            "ce",
            "ci",
            "voici",
            "au",
            "carte",
            "visuel",
        ),
        *("chiffres", "numéro", "n"),
    ]
)
