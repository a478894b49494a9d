"""Where a domain name begins and ends, and which may be shown."""

import re

import idna

_LONGEST_NAME = 253
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)+(?:xn--[a-zA-Z0-9-]{{2,59}}|[^\W\d_]{{2,63}})")
_MANY_DIGITS = re.compile(r"(?:[0-9][^0-9]*){8}")
_LONG_LABEL = re.compile(r"[^.]{21}")


def domain_end(text: str, start: int) -> int | None:
    """Answer where the domain name that starts here ends, or None where there is none."""
    found = _DOMAIN.match(text, start, start + _LONGEST_NAME + 1)
    if found is None or not _is_encodable(found[0]):
        return None
    return found.end()


def may_be_shown(domain: str) -> bool:
    """Tell whether a domain is in its canonical form and too plain to hide a number or a token (PR-7)."""
    return domain == domain.lower() and not _MANY_DIGITS.search(domain) and not _LONG_LABEL.search(domain)


def _is_encodable(domain: str) -> bool:
    if domain.isascii():
        return True
    try:
        for label in domain.lower().split("."):
            if not label.isascii():
                idna.check_label(label)
    except idna.IDNAError:
        return False
    return True
