"""Invented values of each kind, with the checksums that the kind has, and values that only look alike.

The prefixes of tokens are cut so that no secret scanner takes this file for a leak.
"""

import random
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, hexdigits
from uuid import UUID

import phonenumbers
from stdnum import luhn
from stdnum.br import cnpj, cpf
from stdnum.iso7064 import mod_97_10

Make = Callable[[random.Random], str]

ALNUM = ascii_letters + digits
HEX = hexdigits[:16]
FIRST = ["ana", "bruno", "Carla", "diego", "Elise", "farid", "grace", "hugo", "Ines", "john", "katia", "luc"]
LAST = ["souza", "Lima", "martin", "o'brien", "smith", "Dupont", "ferreira", "walker", "roux", "garcia"]
DOMAINS = [
    *("example.com", "example.org", "mail.example.net", "azul.example.com.br", "nuage.example.fr"),
    *("blue-hats.example", "vendas.exemplo.com.br", "acme.co.uk", "poste.example.eu", "x1.example.io"),
]


def some(random_: random.Random, alphabet: str, count: int) -> str:
    """Draw characters."""
    return "".join(random_.choice(alphabet) for _ in range(count))


def shaped(random_: random.Random, shape: str) -> str:
    """Draw a digit for each `#` of a shape."""
    return "".join(random_.choice(digits) if sign == "#" else sign for sign in shape)


def email(random_: random.Random) -> str:
    """Make up an e-mail address."""
    first, last = random_.choice(FIRST), random_.choice(LAST)
    local = random_.choice(
        [
            f"{first}.{last}",
            f"{first}_{last}",
            f"{first}{random_.randint(1, 99)}",
            f"{first[0]}.{last}",
            f"{first}+{random_.choice(['news', 'shop', '2026'])}",
            f"{first}-{last}",
            f"{last}",
            f"{first}.{last}.jr",
        ]
    )
    return f"{local}@{random_.choice(DOMAINS)}"


_NATIONAL = {
    "BR": [
        "(##) 9####-####",
        "## 9####-####",
        "(##) ####-####",
        "##-9####-####",
        "(0##) 9####-####",
        "## 9 ####-####",
    ],
    "US": [
        "(###) 555-01##",
        "###-555-01##",
        "###.555.01##",
        "1-###-555-01##",
        "### 555 01##",
        "(###)555-01##",
    ],
    "FR": ["06 39 98 ## ##", "07.5#.##.##.##", "01 99 00 ## ##", "04-65-71-##-##", "06.39.98.##.##"],
}
_ABROAD = [
    "+55 ## 9####-####",
    "+55##9########",
    "+55 (##) 9####-####",
    "+1 ### 555 01##",
    "+1-###-555-01##",
    "+1###55501##",
    "+33 6 39 98 ## ##",
    "+336########",
    "+33 (0)6 39 98 ## ##",
    "+44 7700 900###",
    "+44 20 7946 0###",
    "+49 1512 #######",
    "+351 91# ### ###",
    "+34 6## ### ###",
    "+39 3## ### ####",
    "+91 98### #####",
    "+52 55 #### ####",
    "+54 9 11 ####-####",
    "+41 79 ### ## ##",
    "+32 47# ## ## ##",
    "0033 6 39 98 ## ##",
    "+81 90-####-####",
    "+61 4## ### ###",
    "00 44 7700 900###",
]


def phone(random_: random.Random) -> str:
    """Make up a phone number, of one of three regions or in international form."""
    while True:
        region = random_.choice(["BR", "US", "FR", "", ""])
        text = shaped(random_, random_.choice(_NATIONAL[region] if region else _ABROAD))
        dialled = "+" + text[2:] if text.startswith("00") else text
        try:
            number = phonenumbers.parse(dialled, region or None)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            return text


def bare_phone(random_: random.Random) -> str:
    """Make up a phone number without any separator."""
    while True:
        region, shape = random_.choice([("BR", "##9########"), ("US", "###55501##"), ("FR", "063998####")])
        text = shaped(random_, shape)
        if phonenumbers.is_valid_number(phonenumbers.parse(text, region)):
            return text


_ISSUERS = [
    ("4", 16),
    ("4", 16),
    ("51", 16),
    ("54", 16),
    ("2223", 16),
    ("2720", 16),
    ("34", 15),
    ("37", 15),
    ("6011", 16),
    ("65", 16),
    ("36", 14),
    ("3056", 14),
    ("3528", 16),
    ("6304", 16),
    ("506699", 16),
    ("636368", 16),
    ("6062", 16),
]


def card(random_: random.Random) -> str:
    """Make up a card number, bare or grouped as it is printed."""
    begin, length = random_.choice(_ISSUERS)
    number = begin + some(random_, digits, length - len(begin) - 1)
    number += luhn.calc_check_digit(number)
    sizes = {15: (4, 6, 5), 14: (4, 6, 4)}.get(length, (4, 4, 4, 4))
    between = random_.choice(["", "", " ", " ", "-", ".", "\u00a0"])
    pieces, start = [], 0
    for size in sizes:
        pieces.append(number[start : start + size])
        start += size
    return between.join(pieces)


def cpf_number(random_: random.Random) -> str:
    """Make up a Brazilian person's number."""
    number = some(random_, digits, 9)
    number += cpf._calc_check_digits(number)
    return random_.choice([number, cpf.format(number), cpf.format(number), f"{number[:9]}-{number[9:]}"])


def cnpj_number(random_: random.Random) -> str:
    """Make up a Brazilian firm's number, of digits or with letters."""
    number = some(random_, random_.choice([digits, digits, digits + ascii_uppercase]), 8) + "0001"
    number += cnpj.calc_check_digits(number)
    return random_.choice([cnpj.format(number), cnpj.format(number), number])


def ssn(random_: random.Random) -> str:
    """Make up an American social security number."""
    area = random_.choice([*range(1, 666), *range(667, 900)])
    parts = (f"{area:03}", f"{random_.randint(1, 99):02}", f"{random_.randint(1, 9999):04}")
    return random_.choice(["-", "-", " ", ""]).join(parts)


def nir(random_: random.Random) -> str:
    """Make up a French social security number."""
    shape = f"{random_.choice('12')}{random_.randint(40, 99)}{random_.randint(1, 12):02}{random_.randint(1, 95):02}"
    number = shape.replace("20", "21") + shaped(random_, "######")
    number += f"{97 - int(number) % 97:02}"
    if random_.random() < 0.4:
        return number
    sizes, start, pieces = (1, 2, 2, 2, 3, 3, 2), 0, []
    for size in sizes:
        pieces.append(number[start : start + size])
        start += size
    return " ".join(pieces)


def siret(random_: random.Random) -> str:
    """Make up a French firm's number, with or without its branch."""
    number = some(random_, "3456789", 1) + some(random_, digits, 7)
    number += luhn.calc_check_digit(number)
    if random_.random() < 0.4:
        return random_.choice([number, f"{number[:3]} {number[3:6]} {number[6:]}"])
    branch = "000" + random_.choice("123")
    branch += luhn.calc_check_digit(number + branch)
    return random_.choice([f"{number}{branch}", f"{number[:3]} {number[3:6]} {number[6:]} {branch}"])


_BBAN = {
    "DE": "##################",
    "FR": "####################A##",
    "GB": "NWBK##############",
    "ES": "####################",
    "PT": "#####################",
    "IT": "X######################",
    "NL": "INGB##########",
    "BE": "############",
    "CH": "#################",
    "BR": "#######################C1",
    "IE": "AIBK##############",
    "AT": "################",
}


def iban(random_: random.Random) -> str:
    """Make up an account number of a country, bare or grouped."""
    country = random_.choice(sorted(_BBAN))
    bban = shaped(random_, _BBAN[country])
    number = country + mod_97_10.calc_check_digits(bban + country) + bban
    grouped = " ".join(number[place : place + 4] for place in range(0, len(number), 4))
    return random_.choice([number, grouped, grouped, number.lower(), grouped.replace(" ", "-")])


def ip(random_: random.Random) -> str:
    """Make up an address of version 4 or 6."""
    if random_.random() < 0.6:
        return v4(random_)
    groups = [f"{random_.randint(0x100, 0xFFFF):x}" for _ in range(8)]
    groups[0] = random_.choice(["2001", "2a02", "2804", "fd12", "fe80"])
    return random_.choice(
        [
            ":".join(groups),
            ":".join(groups[:4]) + "::" + groups[7],
            f"{groups[0]}:{groups[1]}::{groups[2]}",
            ":".join(groups).upper(),
            f"{groups[0]}::{groups[6]}:{groups[7]}",
        ]
    )


def password(random_: random.Random) -> str:
    """Make up a password of the sort that people choose."""
    word = random_.choice(
        ["Girassol", "sunshine", "Montagne", "tiger", "Corcovado", "lavande", "Football", "violeta"]
    )
    return random_.choice(
        [
            f"{word}{random_.randint(1, 2030)}",
            f"{word}@{random_.randint(10, 99)}",
            f"{word}#{random_.randint(1, 999)}!",
            f"{some(random_, ALNUM, 6)}{random_.choice('!@#$%')}{some(random_, ALNUM, 4)}",
            f"{word}_{random_.randint(1, 99)}",
            some(random_, ALNUM, 7) + random_.choice(digits) + "Q",
            f"{word[:2]}{random_.randint(100, 9999)}{word[2:]}",
        ]
    )


def cvv(random_: random.Random) -> str:
    """Make up a card code."""
    return some(random_, digits, random_.choice([3, 3, 3, 4]))


def _json_part(random_: random.Random, begin: str) -> str:
    return urlsafe_b64encode(f'{{"{begin}":"{some(random_, ALNUM, 12)}"}}'.encode()).decode().rstrip("=")


def _web_token(random_: random.Random) -> str:
    return ".".join([_json_part(random_, "alg"), _json_part(random_, "sub"), some(random_, ALNUM + "_-", 43)])


def _private_key(random_: random.Random) -> str:
    sort = random_.choice(["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "])
    lines = "\n".join(some(random_, ALNUM + "+/", 64) for _ in range(3))
    return f"-----BEGIN {sort}" + f"PRIVATE KEY-----\n{lines}\n-----END {sort}" + "PRIVATE KEY-----"


def _issued(prefix: str, alphabet: str, count: int) -> Make:
    return lambda random_: prefix + some(random_, alphabet, count)


TOKENS: dict[str, Make] = {
    "aws": _issued("AK" + "IA", ascii_uppercase + "234567", 16),
    "aws session": _issued("AS" + "IA", ascii_uppercase + "234567", 16),
    "github": _issued("gh" + "p_", ALNUM, 36),
    "github app": _issued("gh" + "s_", ALNUM, 36),
    "github fine": lambda random_: (
        "github" + "_pat_" + some(random_, ALNUM, 22) + "_" + some(random_, ALNUM, 59)
    ),
    "gitlab": _issued("glp" + "at-", ALNUM + "_-", 20),
    "gitlab deploy": _issued("gld" + "t-", ALNUM + "_-", 20),
    "gitlab runner": _issued("glr" + "t-", ALNUM + "_-", 20),
    "slack bot": lambda random_: (
        "xox" + shaped(random_, "b-############-#############-") + some(random_, ALNUM, 24)
    ),
    "slack app": lambda random_: (
        "xa" + "pp-1-A" + some(random_, ascii_uppercase, 10) + "-" + some(random_, HEX, 40)
    ),
    "slack hook": lambda random_: "/".join(
        [
            "hooks.slack.com",
            "services",
            "T" + some(random_, ascii_uppercase, 10),
            "B" + some(random_, ascii_uppercase, 10),
            some(random_, ALNUM, 24),
        ]
    ),
    "stripe": _issued("sk" + "_live_", ALNUM, 24),
    "stripe restricted": _issued("rk" + "_test_", ALNUM, 99),
    "stripe hook": _issued("wh" + "sec_", ALNUM, 32),
    "google": _issued("AI" + "za", ALNUM + "_-", 35),
    "google oauth": _issued("GOC" + "SPX-", ALNUM + "_-", 28),
    "google access": _issued("ya" + "29.", ALNUM + "_-", 60),
    "openai": _issued("sk" + "-", ALNUM, 48),
    "openai project": _issued("sk" + "-proj-", ALNUM + "_-", 64),
    "anthropic": _issued("sk" + "-ant-api03-", ALNUM + "_-", 93),
    "twilio": _issued("S" + "K", HEX, 32),
    "sendgrid": lambda random_: "S" + "G." + some(random_, ALNUM, 22) + "." + some(random_, ALNUM + "_-", 43),
    "npm": _issued("np" + "m_", ALNUM, 36),
    "pypi": _issued("py" + "pi-AgEIcHlwaS5vcmc", ALNUM + "_-", 80),
    "hugging face": _issued("h" + "f_", ascii_letters, 34),
    "digitalocean": _issued("dop" + "_v1_", HEX, 64),
    "shopify": _issued("shp" + "at_", HEX, 32),
    "mailchimp": lambda random_: some(random_, HEX, 32) + "-us" + str(random_.randint(1, 21)),
    "mailgun": _issued("ke" + "y-", HEX, 32),
    "databricks": _issued("da" + "pi", HEX, 32),
    "vault": _issued("hv" + "s.", ALNUM + "_-", 90),
    "terraform": lambda random_: (
        some(random_, ALNUM, 14) + ".atlas" + "v1." + some(random_, ALNUM + "_-", 67)
    ),
    "docker": _issued("dck" + "r_pat_", ALNUM + "_-", 27),
    "telegram": lambda random_: shaped(random_, "5#########") + ":A" + "A" + some(random_, ALNUM + "_-", 33),
    "square": _issued("sq0" + "atp-", ALNUM + "_-", 22),
    "linear": _issued("lin" + "_api_", ALNUM, 40),
    "notion": _issued("nt" + "n_", ALNUM, 46),
    "grafana": lambda random_: "gl" + "sa_" + some(random_, ALNUM, 32) + "_" + some(random_, HEX, 8),
    "new relic": _issued("NR" + "AK-", ascii_uppercase + digits, 27),
    "planetscale": _issued("pscale" + "_pw_", ALNUM + "_-", 43),
    "doppler": _issued("dp" + ".pt.", ALNUM, 43),
    "sentry": _issued("sn" + "tryu_", HEX, 64),
    "figma": _issued("fi" + "gd_", ALNUM + "_-", 40),
    "pulumi": _issued("pu" + "l-", HEX, 40),
    "rubygems": _issued("rubygems" + "_", HEX, 48),
    "atlassian": _issued("ATA" + "TT3xFfGF0", ALNUM + "_-", 180),
    "bitbucket": _issued("AT" + "BB", ALNUM, 32),
    "groq": _issued("gs" + "k_", ALNUM, 52),
    "airtable": lambda random_: "pat" + some(random_, ALNUM, 14) + "." + some(random_, HEX, 64),
    "discord": lambda random_: (
        "MT"
        + some(random_, ALNUM, 24)
        + "."
        + some(random_, ALNUM, 6)
        + "."
        + some(random_, ALNUM + "_-", 38)
    ),
    "web token": _web_token,
    "private key": _private_key,
}


def token(random_: random.Random) -> str:
    """Make up a token of a published format."""
    return TOKENS[random_.choice(sorted(TOKENS))](random_)


def opaque(random_: random.Random) -> str:
    """Make up a secret without a form of its own, which only its name tells."""
    return random_.choice(
        [
            some(random_, HEX, 32),
            some(random_, ALNUM, 40),
            some(random_, ALNUM + "+/", 43) + "=",
            some(random_, ALNUM, 24),
            str(UUID(int=random_.getrandbits(128), version=4)),
            some(random_, ALNUM + "_-", 32),
        ]
    )


def basic(random_: random.Random) -> str:
    """Make up the credentials of basic authentication."""
    return b64encode(f"{random_.choice(FIRST)}:{password(random_)}".encode()).decode()


def storage_key(random_: random.Random) -> str:
    """Make up the key of a cloud's storage account."""
    return b64encode(random_.randbytes(64)).decode()


def v4(random_: random.Random) -> str:
    """Make up an address of version 4."""
    return ".".join(str(random_.randint(1, 254)) for _ in range(4)).replace("127.", "128.", 1)


VALUES: dict[str, Make] = {
    "v4": v4,
    "email": email,
    "phone": phone,
    "bare_phone": bare_phone,
    "card": card,
    "cpf": cpf_number,
    "cnpj": cnpj_number,
    "ssn": ssn,
    "nir": nir,
    "siret": siret,
    "iban": iban,
    "ip": ip,
    "password": password,
    "cvv": cvv,
    "token": token,
    "opaque": opaque,
    "basic": basic,
    "storage_key": storage_key,
}


def _bad_luhn(random_: random.Random) -> str:
    number = "4" + some(random_, digits, 14)
    wrong = (int(luhn.calc_check_digit(number)) + random_.randint(1, 9)) % 10
    return " ".join((number + str(wrong))[place : place + 4] for place in range(0, 16, 4))


FILLERS: dict[str, Make] = {
    "order": lambda random_: shaped(
        random_, random_.choice(["4#########", "7########", "100######", "20261######"])
    ),
    "uuid": lambda random_: str(UUID(int=random_.getrandbits(128), version=4)),
    "date": lambda random_: (
        f"{random_.randint(1, 28):02}/{random_.randint(1, 12):02}/{random_.randint(2019, 2031)}"
    ),
    "iso": lambda random_: shaped(random_, "2026-0#-1#T1#:2#:07Z").replace("-00-", "-12-"),
    "version": lambda random_: ".".join(str(random_.randint(0, 30)) for _ in range(random_.choice([3, 4]))),
    "price": lambda random_: (
        f"{random_.randint(1, 999)}.{random_.randint(100, 999)},{random_.randint(10, 99)}"
    ),
    "amount": lambda random_: (
        f"{random_.randint(1, 9)} {random_.randint(100, 999)} {random_.randint(100, 999)}"
    ),
    "hash": lambda random_: some(random_, HEX, random_.choice([40, 64, 32])),
    "short_hash": lambda random_: some(random_, HEX, random_.choice([7, 8, 12])),
    "epoch": lambda random_: str(random_.randint(1_700_000_000, 1_800_000_000)),
    "epoch_ms": lambda random_: str(random_.randint(1_700_000_000_000, 1_800_000_000_000)),
    "isbn": lambda random_: "978-" + shaped(random_, "#-##-######-#"),
    "ean": lambda random_: shaped(random_, "789##########"),
    "tracking": lambda random_: random_.choice(
        [
            "1Z999AA1" + shaped(random_, "##########"),
            "BR" + shaped(random_, "#########") + "BR",
            shaped(random_, "9400 1118 9922 #### #### ##"),
        ]
    ),
    "postcode": lambda random_: shaped(
        random_, random_.choice(["#####-###", "#####", "9####-####", "75###"])
    ),
    "plate": lambda random_: (
        some(random_, ascii_uppercase, 3)
        + shaped(random_, "-#")
        + some(random_, ascii_uppercase, 1)
        + shaped(random_, "##")
    ),
    "coordinates": lambda random_: f"{random_.uniform(-60, 60):.6f}, {random_.uniform(-170, 170):.6f}",
    "sku": lambda random_: (
        some(random_, ascii_uppercase, 3) + shaped(random_, "-####-##") + some(random_, ascii_uppercase, 1)
    ),
    "mac": lambda random_: ":".join(some(random_, HEX, 2) for _ in range(6)),
    "not_a_card": _bad_luhn,
    "count": lambda random_: str(random_.randint(2, 9999)),
    "time": lambda random_: f"{random_.randint(0, 23):02}:{random_.randint(0, 59):02}",
    "protocol": lambda random_: shaped(random_, "2026.##.######-#"),
    "barcode": lambda random_: shaped(random_, "34191.##### #####.###### #####.###### # ##############"),
    "word": lambda random_: "".join(some(random_, ascii_lowercase, 6)),
}
