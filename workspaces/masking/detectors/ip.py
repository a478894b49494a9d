"""IP addresses, version 4 and 6 (PR-5)."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from workspaces.masking.passage import Passage, Span

_V4 = re.compile(r"(?<![\w.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\w|\.[0-9]|-[0-9])")
_V6 = re.compile(r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:(?:\.[0-9]{1,3}){3})?(?![\w:])")
_LONG_GROUP = re.compile(r"[0-9a-fA-F]{3}")
_VERSION_BEFORE = re.compile(
    r"(?:\b(?:v|ver|version|vers[aã]o|versi[oó]n|release|build|rev|revision|firmware|kernel|driver|section|sec"
    r"|chapter|clause|se[cç][aã]o|cap[ií]tulo|item|rule|step|oid)[\s.:=]{0,3}|\b(?:android|ios|macos|windows|linux|ubuntu|debian"
    r"|alpine|chrome|chromium|firefox|safari|edge|node|python|java|php|ruby|golang|nginx|apache|postgres(?:ql)?"
    r"|mysql|redis|valkey|openssl|docker|kubernetes|django|rails)[\s:=-]|[a-z][\w.-]*/|[=~><]=|[\^~]|§\s?)\Z"
)
_REACH = 24
_EVERYBODY = ip_address("255.255.255.255")


def may_hold_addresses(passage: Passage) -> bool:
    """Tell whether there are the signs that divide an address."""
    return passage.has_digit and (passage.text.count(".") > 2 or passage.text.count(":") > 1)


def find_addresses(passage: Passage) -> Iterator[Span]:
    """Find IP addresses that may lead to a person: no version number, no loopback (PR-5)."""
    for found in _V4.finditer(passage.text):
        passage.budget.spend()
        if _is_of_somebody(found[0]) and not _is_version(passage, found.start()):
            yield Span(*found.span(), "ip")
    if passage.text.count(":") < 2:
        return
    for found in _V6.finditer(passage.text):
        passage.budget.spend()
        if _LONG_GROUP.search(found[0]) and _is_of_somebody(found[0]):
            yield Span(*found.span(), "ip")


def _is_of_somebody(text: str) -> bool:
    try:
        address: IPv4Address | IPv6Address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address == _EVERYBODY)


def _is_version(passage: Passage, start: int) -> bool:
    return _VERSION_BEFORE.search(passage.lower[max(0, start - _REACH) : start]) is not None
