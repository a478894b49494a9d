"""What each detector finds and what it leaves alone, as data; one test runs the rows of each table.

Tokens are cut so that no secret scanner takes this file for a leak.
"""

from itertools import pairwise

import pytest

from tests.workspaces.masking_policies import policy
from workspaces.masking import mask_text
from workspaces.masking.glance import glance_at
from workspaces.masking.policy import kinds_in_declared
from workspaces.masking.scan import look, search_for

POLICY = policy()


def wide(text: str) -> str:
    """Write a text in full-width characters."""
    return "".join("\u3000" if character == " " else chr(ord(character) + 0xFEE0) for character in text)


def eastern(text: str) -> str:
    """Write the digits of a text as Arabic-Indic ones."""
    return "".join(chr(ord(character) + 0x630) if character.isdigit() else character for character in text)


EMAILS = [
    ("plain", "write to ana@example.com now", "ana@example.com"),
    (
        "tagged, with a country",
        "to ana.souza+billing@mail.example.com.br.",
        "ana.souza+billing@mail.example.com.br",
    ),
    ("url-encoded", "https://x.example/?to=ana%40example.com&n=1", "ana%40example.com"),
    ("url-encoded with a tag", "mail=ana%2Bx%40example.com", "ana%2Bx%40example.com"),
    ("quoted local part", 'to "ana souza"@example.com', '"ana souza"@example.com'),
    ("apostrophe", "o'neil@example.ie", "o'neil@example.ie"),
    ("international domain", "sven@exämple.se", "sven@exämple.se"),
    ("punycode", "a@b.xn--p1ai", "a@b.xn--p1ai"),
    ("full width", wide("ana@example.com"), wide("ana@example.com")),
    ("zero-width inside", "ana\u200b@exam\u200bple.com", "ana\u200b@exam\u200bple.com"),
    ("key and value", "email=ana@example.com;x", "ana@example.com"),
    ("in angle brackets", "Ana <ana@example.com>", "ana@example.com"),
    ("in bold", "**ana@example.com**", "ana@example.com"),
]
PHONES = [
    ("us", "call (415) 555-2671 today", "(415) 555-2671"),
    ("us, dots", "415.555.2671", "415.555.2671"),
    ("us, trunk", "1-415-555-2671", "1-415-555-2671"),
    ("us, extension", "(415) 555-2671 ext. 12", "(415) 555-2671 ext. 12"),
    ("two in a row", "415-555-2671 415-555-2672", "415-555-2671"),
    ("br", "ligue (11) 98765-4321", "(11) 98765-4321"),
    ("br, one gap", "o (11) 987654321 dela", "(11) 987654321"),
    ("br, word and no gap", "meu celular 11987654321", "11987654321"),
    ("br, whatsapp without plus", "whatsapp 5511987654321", "5511987654321"),
    ("br, the nine apart", "11 9 8765-4321", "11 9 8765-4321"),
    ("us, of a neighbour", "(416) 555-0123", "(416) 555-0123"),
    ("br, no area code", "telefone 98765-4321", "98765-4321"),
    ("fr", "Appelez le 06 12 34 56 78", "06 12 34 56 78"),
    ("international", "+351 912 345 678, obrigado", "+351 912 345 678"),
    ("trunk in parentheses", "+44 (0)20 7946 0958", "+44 (0)20 7946 0958"),
    ("japan", "+81-3-1234-5678", "+81-3-1234-5678"),
    ("italy, leading zero", "+39 06 6982", "+39 06 6982"),
    ("dialled abroad", "00 351 912 345 678", "00 351 912 345 678"),
    ("as a link", "tel:+1-415-555-2671", "+1-415-555-2671"),
    ("no-break spaces", "+55\u00a011\u00a098765\u20114321", "+55\u00a011\u00a098765\u20114321"),
    ("arabic-indic digits", eastern("+55 11 98765-4321"), eastern("+55 11 98765-4321")),
]
CARDS = [
    ("grouped", "visa 4111 1111 1111 1111 exp 12/29", "4111 1111 1111 1111"),
    ("bare", "card 5555555555554444 declined", "5555555555554444"),
    ("amex", "3782-822463-10005", "3782-822463-10005"),
    ("diners", "3056 930902 5904", "3056 930902 5904"),
    ("jcb", "3530111333300000", "3530111333300000"),
    ("discover", "6011-1111-1111-1117", "6011-1111-1111-1117"),
    ("mastercard, second series", "2223003122003222", "2223003122003222"),
    ("no-break spaces", "4111\u00a01111\u00a01111\u00a01111", "4111\u00a01111\u00a01111\u00a01111"),
    ("zero-width", "4111\u200b1111\u200b1111\u200b1111", "4111\u200b1111\u200b1111\u200b1111"),
    ("full width", wide("4111 1111 1111 1111"), wide("4111 1111 1111 1111")),
    ("dots", "4111.1111.1111.1111", "4111.1111.1111.1111"),
    ("one by one", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
    ("odd groups, with a word", "card: 4111 11 1111 1111 11", "4111 11 1111 1111 11"),
    ("before the year", "4111 1111 1111 1111 2027", "4111 1111 1111 1111"),
    ("glued to a word", "card4111111111111111", "4111111111111111"),
    ("among other writing", "我的卡4111111111111111是", "4111111111111111"),
    ("two in a row", "4111111111111111 5555555555554444", "4111111111111111"),
]
GOV_IDS = [
    ("cpf", "CPF 529.982.247-25", "529.982.247-25"),
    ("cpf, bare", "documento 52998224725 confere", "52998224725"),
    ("cpf, spaces", "529 982 247 25", "529 982 247 25"),
    ("cnpj", "CNPJ 11.222.333/0001-81", "11.222.333/0001-81"),
    ("cnpj, bare", "cnpj 11222333000181", "11222333000181"),
    ("cnpj with letters", "CNPJ 12.ABC.345/01DE-35", "12.ABC.345/01DE-35"),
    ("cnpj with letters, bare", "cnpj 12ABC34501DE35", "12ABC34501DE35"),
    ("ssn", "SSN: 536-22-8726", "536-22-8726"),
    ("ssn, spaces and a word", "social security number is 536 22 8726", "536 22 8726"),
    ("ssn, bare and a word", "ssn 536228726", "536228726"),
    ("ssn, word behind", "Applicant 536 22 8726 (SSN)", "536 22 8726"),
    ("ein", "EIN 12-3456789", "12-3456789"),
    ("siret", "SIRET 732 829 320 00074", "732 829 320 00074"),
    ("siren", "SIREN 732829320", "732829320"),
    ("nir", "2 55 08 14 168 025 38", "2 55 08 14 168 025 38"),
]
IBANS = [
    ("grouped", "to DE89 3704 0044 0532 0130 00 now", "DE89 3704 0044 0532 0130 00"),
    ("bare", "iban GB29NWBK60161331926819", "GB29NWBK60161331926819"),
    ("letters in it", "FR14 2004 1010 0505 0001 3M02 606.", "FR14 2004 1010 0505 0001 3M02 606"),
    ("small letters", "de89370400440532013000", "de89370400440532013000"),
]
ADDRESSES = [
    ("v4", "from 203.0.113.57 failed", "203.0.113.57"),
    ("v4 with a port", "198.51.100.7:8080", "198.51.100.7"),
    ("v4 in an address", "http://198.51.100.7/x", "198.51.100.7"),
    ("v6", "peer 2001:db8:85a3::8a2e:370:7334 out", "2001:db8:85a3::8a2e:370:7334"),
    ("v6, whole", "2001:0db8:0000:0000:0000:8a2e:0370:7334", "2001:0db8:0000:0000:0000:8a2e:0370:7334"),
    ("v6 in brackets", "[2001:db8::1]:443", "2001:db8::1"),
    ("v6 link-local", "fe80::1ff:fe23:4567:890a%eth0", "fe80::1ff:fe23:4567:890a"),
    ("v4 in v6", "::ffff:192.0.2.128", "::ffff:192.0.2.128"),
]
ALNUM = "1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u2V3w4X5y6Z"
SECRETS = [
    *(
        (name, f"use {token} please", token)
        for name, token in (
            ("github", "ghp" + "_" + ALNUM[:36]),
            ("github, fine grained", "github" + "_pat_" + ALNUM[:22] + "_" + ALNUM),
            ("gitlab", "glpat" + "-" + ALNUM[:20]),
            ("stripe", "sk" + "_live_" + ALNUM[:24]),
            ("aws", "AK" + "IA" + "QYLPMN5HXZ3TRW7D"),
            ("slack", "xo" + "xb-123456789012-1234567890123-" + ALNUM[:24]),
            ("google", "AI" + "za" + ALNUM[:35]),
            ("openai", "sk" + "-proj-" + ALNUM[:32]),
            ("anthropic", "sk" + "-ant-api03-" + ALNUM + "-AA"),
            ("sendgrid", "SG" + "." + ALNUM[:22] + "." + ALNUM[:43]),
            ("npm", "npm" + "_" + ALNUM[:36]),
            ("ours, of a source", "lst" + "_live_" + ALNUM[:43]),
            ("ours, of a person", "lsp" + "_" + ALNUM[:43]),
            ("bot", "110201543:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"),
            ("web token", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiJ1c2VyLTEifQ." + ALNUM[:43]),
            ("private key", "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"),
        )
    ),
    (
        "private key without end",
        "x -----BEGIN " + "PRIVATE KEY-----\nMIIE",
        "-----BEGIN " + "PRIVATE KEY-----\nMIIE",
    ),
    ("bearer", "curl -H 'X: Bearer " + ALNUM[:20] + "'", ALNUM[:20]),
    ("authorization", "Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("query", "?api_key=abc123&user=bob", "abc123"),
    ("environment", "AWS_SECRET_ACCESS_KEY=wJalrXUt/bPxRf", "wJalrXUt/bPxRf"),
    ("camel case", "clientSecret: abcdef", "abcdef"),
    ("json in a string", '{"refresh_token": "a b\\"c", "n": 1}', 'a b\\"c'),
    ("escaped json", '{\\"api_key\\": \\"abc def\\"}', "abc def"),
    ("said", "the api key is abc123def456", "abc123def456"),
    ("portuguese", "chave de API: " + ALNUM[:24], ALNUM[:24]),
    ("french", "clé API : " + ALNUM[:24], ALNUM[:24]),
    ("french token", "jeton d'accès : " + ALNUM[:24], ALNUM[:24]),
    ("weak name", "signing key: " + ALNUM[:32], ALNUM[:32]),
    ("storage", "AccountKey=" + ALNUM + "==;", ALNUM + "=="),
    ("signed address", "?sv=2026&sig=" + ALNUM[:43] + "%3D&x", ALNUM[:43] + "%3D"),
    ("mailing list", "0123456789abcdef" * 2 + "-us4", "0123456789abcdef" * 2 + "-us4"),
    (
        "bot of three parts",
        "MT" + ALNUM[:24] + "." + ALNUM[:6] + "." + ALNUM[:38],
        "MT" + ALNUM[:24] + "." + ALNUM[:6] + "." + ALNUM[:38],
    ),
]
PASSWORDS = [
    ("colon", "password: sunshine", "sunshine"),
    ("portuguese", "minha senha: Corint@2024 ok?", "Corint@2024"),
    ("sentence", "my password is Hunter2!xyz and it fails", "Hunter2!xyz"),
    ("sentence with a purpose", "password for the wifi is Sunshine99", "Sunshine99"),
    ("portuguese sentence", "a senha do app é Gato#2024", "Gato#2024"),
    ("digits", "senha 123456 ok", "123456"),
    ("spanish", "contraseña: hola", "hola"),
    ("german", "Passwort lautet Geheim!23", "Geheim!23"),
    ("french", "mot de passe : Soleil2024", "Soleil2024"),
    ("environment", "DB_PASSWORD=hunter2 DB_USER=x", "hunter2"),
    ("quoted", 'password="two words" x', "two words"),
    ("with an ampersand", "password: a&b", "a&b"),
    ("weak name, assigned", "pass=hunter2;", "hunter2"),
    ("weak name after a user", "user admin / pass Rio#2024", "Rio#2024"),
    ("short name", "mdp : soleil", "soleil"),
    ("provisional", "Senha provisória: Gato#2024", "Gato#2024"),
    ("changed to", "I changed the password to Sunshine99!", "Sunshine99!"),
    ("said before", "Hunter2!xyz is my password", "Hunter2!xyz"),
    ("connection string", "Server=db;User Id=sa;Password=Rio#2024;", "Rio#2024"),
    ("address", "postgres://app:s3cr3t@db.internal:5432/app", "s3cr3t"),
    ("address, raw signs", "mysql://root:p@ss/w0rd@db:3306/x", "p@ss/w0rd"),
    ("address without user", "redis://:s3cret@cache:6379/0", "s3cret"),
]
CARD_CODES = [
    ("colon", "cvv: 123", "123"),
    ("bare", "cvc 4567, exp 12/29", "4567"),
    ("said", "the CVV is 123", "123"),
    ("portuguese", "código de segurança do cartão: 987", "987"),
    ("abbreviated", "cod. de segurança 987", "987"),
    ("french", "cryptogramme visuel : 987", "987"),
    ("on the back", "the 3 digits on the back are 987", "987"),
    ("said before", "987 is the CVV", "987"),
    ("in brackets", "987 (cvv)", "987"),
]
FOUND = [
    (kind, *row)
    for kind, rows in (
        ("email", EMAILS),
        ("phone", PHONES),
        ("card", CARDS),
        ("gov_id", GOV_IDS),
        ("iban", IBANS),
        ("ip", ADDRESSES),
        ("secret", SECRETS),
        ("password", PASSWORDS),
        ("cvv", CARD_CODES),
    )
    for row in rows
]

OTHER_REGIONS = [
    ("AR", "20-05536168-2"),
    ("CA", "123-456-782"),
    ("CH", "756.9217.0769.85"),
    ("CL", "12.531.909-2"),
    ("DE", "36 574 261 809"),
    ("ES", "54362315K"),
    ("ES", "X2482300W"),
    ("FI", "131052-308T"),
    ("GB", "NHS 943 476 5870"),
    ("IN", "2341 2341 2346"),
    ("IT", "RCCMNL83S18D969H"),
    ("MX", "BOXW310820HNERXN09"),
    ("NL", "BSN 111222333"),
    ("PL", "PESEL 44051401359"),
    ("PT", "NIF 501964843"),
    ("AU", "TFN 123 456 782"),
    ("IT", "P.IVA 00743110157"),
    ("PL", "NIP 856-734-62-15"),
    ("RO", "CNP 1630615123457"),
    ("HR", "OIB 33392005961"),
    ("TR", "17291716060"),
]

LEFT_ALONE = [
    ("order number", "Order #4839201746 shipped, tracking 1Z999AA10123456784"),
    ("order number beside a phone word", "call about order number 4155552671"),
    ("ten digits", "reference 4155552671"),
    ("wrong checksum", "4111 1111 1111 1112 is not a card"),
    ("longer number", "order 41111111111111112222"),
    ("tracking in groups of four", "9400 1118 9922 3197 4284 90"),
    ("fraction", "score 0.4539578763621486 and 4539578763621486.5"),
    ("uuid", "trace 550e8400-e29b-41d4-a716-446655440000"),
    ("uuid with a long tail of digits", "id=110bcd25-a55d-4111-8046-411111111111"),
    ("inside an identifier", "sku a1b4111111111111111"),
    ("dates", "2026-11-03 10:15:30 until 04/11/2026"),
    ("versions", "v1.2.3.4, Chrome/119.0.0.0, version 1.2.3.4"),
    ("section", "see section 2.3.4.5"),
    ("epoch", "1767225600 and 1767225600123 and 1767225600123456789"),
    ("hash", "commit 9fceb02d0ae598e95dc970b74767f19372d61af8"),
    ("amounts", "total R$ 1.234.567,89 or 1,234,567.89 USD, 2 450 320 000"),
    ("isbn and ean", "ISBN 978-3-16-148410-0, EAN 4006381333931"),
    ("imei", "IMEI 490154203237518"),
    ("part number", "SKU 123-45-6789-X and part 00-11-22"),
    ("postal code", "CEP 01310-100, ZIP 94105-1234"),
    ("cpf with a wrong digit", "protocolo 123.456.789-00"),
    ("small numbers", "10 20 30 40 50 60 70 80"),
    ("coordinates", "40.712776, -74.005974"),
    ("time and hardware address", "10:15:30 and aa:bb:cc:dd:ee:ff"),
    ("scopes", "std::vector and a::b"),
    ("local addresses", "127.0.0.1 and 0.0.0.0 and ::1"),
    ("handle and schedule", "ping @carol in #ops, cron is 0 5 * * 1"),
    ("packages", "vue@3.4.1 and @types/node@20.1.0"),
    ("repository and image", "git@github.com:org/repo.git and logo@2x.png"),
    ("words about secrets", "INTRODUCTORY password reset was requested; the token expired"),
    (
        "more words about secrets",
        "the password is required; the secret is out; tokens: 512; token count: 512",
    ),
    (
        "code",
        "password: None, token = null, password: ${DB_PASSWORD}, secret: <your secret>, token: {{token}}",
    ),
    ("pass as a verb", "please pass the salt, boarding pass AB1234, pass by gate 12B"),
    (
        "keys that are none",
        "the key is under the mat; key: order-17; key: 550e8400-e29b-41d4-a716-446655440000",
    ),
    ("card numbers of nobody", "on the back of the page 123; verso 404; security code review 2026"),
    ("nine digits", "reference 732829320, pedido 536228726"),
    ("languages and regions", "en-us, us-east-1, pt-br, a1b2c3-us1"),
    ("password link", "password reset link: https://example.com/r"),
    ("another word", "ela desenha: casas"),
    ("bearer", "the bearer of bad news"),
    ("class name", "sk-learn-something-very-long-class-name"),
    ("port", "http://host:8080/path@x"),
    ("no bank there", "XX12 3456 7890 1234 5678"),
    ("wrong iban", "DE88 3704 0044 0532 0130 00"),
]


def find(text: str, *, regions: tuple[str, ...] = ("BR", "US", "FR")) -> list[tuple[str, str]]:
    """Answer kind and text of all that every detector finds."""
    chosen = policy(regions=regions)
    spans = look(text, search=search_for(kinds_in_declared(chosen)), policy=chosen).spans
    return [(span.kind, text[span.start : span.end]) for span in spans]


@pytest.mark.parametrize(("kind", "why", "text", "value"), FOUND)
def test_detector_finds(kind: str, why: str, text: str, value: str) -> None:
    """PR-5, PR-7, PR-7b, PR-8: the value is found whole, and nothing more than it."""
    assert (kind, value) in find(text)


@pytest.mark.parametrize(("why", "text"), LEFT_ALONE)
def test_detectors_leave_alone(why: str, text: str) -> None:
    """PR-7b, PR-8: what only looks like personal data is left alone."""
    assert find(text) == []


@pytest.mark.parametrize(("region", "text"), OTHER_REGIONS)
def test_identity_numbers_belong_to_a_region(region: str, text: str) -> None:
    """PR-5, PR-8: an identity number is looked for where the workspace's regions are, and only there."""
    assert [kind for kind, _ in find(text, regions=(region,))] == ["gov_id"]
    assert "gov_id" not in [kind for kind, _ in find(text, regions=())]


def test_national_phones_belong_to_a_region() -> None:
    """PR-7b: a national number is one only in the workspace's regions, an international one everywhere."""
    assert find("06 12 34 56 78", regions=("BR",)) == []
    assert find("+33 6 12 34 56 78", regions=()) == [("phone", "+33 6 12 34 56 78")]


@pytest.mark.parametrize(("kind", "why", "text", "value"), FOUND)
def test_the_question_before_the_look_is_never_wrong(kind: str, why: str, text: str, value: str) -> None:
    """PR-7, PR-7b: a detector that is spared a look at many texts would have found nothing in any of them."""
    declared = search_for(kinds_in_declared(POLICY))
    alone = look(text, search=declared, policy=POLICY)
    for values in (["a word", text, "7"], [{"n": 1, "list": [text]}], [{text: None}]):
        seen = glance_at(values, search=declared, regions=POLICY.regions)
        assert look(text, search=seen.search, policy=POLICY).spans == alone.spans


OVERLAPPING = [
    ("a key without end over an address", "-----BEGIN " + "PRIVATE KEY-----postgres://app:pw1@db/x"),
    ("an assignment inside an address", "x://a:password=abc1@db.internal"),
    ("a card in a password", "password: 4111111111111111"),
    ("a card in an address", "4111111111111111@example.com"),
]


@pytest.mark.parametrize(("why", "text"), OVERLAPPING)
def test_spans_that_overlap_become_one(why: str, text: str) -> None:
    """PR-6, PR-7: of two detectors that lay claim to the same characters, nothing is left of either."""
    spans = look(text, search=search_for(kinds_in_declared(POLICY)), policy=POLICY).spans
    assert all(left.end <= right.start for left, right in pairwise(spans))
    masked, _ = mask_text(text, policy=POLICY)
    assert not any(part in masked for part in ("pw1", "abc1", "4111"))
    assert mask_text(masked, policy=POLICY) == (masked, {})
