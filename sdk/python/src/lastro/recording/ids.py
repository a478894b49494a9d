"""Ids of records: made of names where these may stand in an id, so that every process gives a thing the same one."""

import hashlib
import re

_FITS = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def id_of(*names: str) -> str:
    """Join names to an id; their digest stands for names that do not fit (64 characters of A-Z a-z 0-9 _ . : -)."""
    joined = ".".join(names)
    if _FITS.fullmatch(joined):
        return joined
    return hashlib.sha256("\n".join(names).encode(errors="surrogatepass")).hexdigest()[:32]
