"""The names whose value is a secret whatever it looks like (PR-7b)."""

from workspaces.masking.folding import fold

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


def secret_kind(name: str) -> str | None:
    """Answer the kind of a secret member by its name: an exact list, case, `_` and `-` folded (PR-7b)."""
    plain = fold(name).text.lower().replace("_", "").replace("-", "")
    return _KINDS.get(plain)
