"""The hot store made to forget, for tests that change behind it what it keeps."""

import valkey
from django.conf import settings


def forget_hot_store() -> None:
    """Take away all that this worker's tests, and the servers that they started, keep in the hot store."""
    with valkey.Valkey.from_url(settings.HOT_STORE_URL) as store:
        ours = store.scan_iter(match=f"[emtr]{{{settings.HOT_STORE_GENERATION}[a-z]*", count=1000)
        for name in list(ours):
            store.delete(name)
