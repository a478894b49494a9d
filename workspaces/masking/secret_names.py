"""The names whose value is a secret whatever it looks like (PR-7b)."""

from workspaces.masking.folding import fold, lowered

_KINDS = {
    "password": "password",
    "passwd": "password",
    "senha": "password",
    "cvv": "cvv",
    "cvc": "cvv",
    "secret": "secret",
    "token": "secret",
    "accesstoken": "secret",
    "refreshtoken": "secret",
    "apikey": "secret",
    "authorization": "secret",
    "privatekey": "secret",
}
_MEMBERS = tuple(f'"{name}":' for name in _KINDS)


def secret_kind(name: str) -> str | None:
    """Answer the kind of a secret member by its name: an exact list, case, `_` and `-` folded (PR-7b)."""
    return _KINDS.get(_without_dashes(lowered(fold(name).text)))


def names_a_secret(lower: str) -> bool:
    """Tell whether a member is secret by its name in a compact JSON text without escapes, folded and in lower case."""
    plain = _without_dashes(lower)
    return any(member in plain for member in _MEMBERS)


def _without_dashes(text: str) -> str:
    return text.replace("_", "").replace("-", "")
