"""The hot store: what a warm read is answered from (WM-18 to WM-20). Valkey, or another server of its protocol.

It keeps nothing that PostgreSQL does not have, and may be emptied at any moment.
"""

from workspaces.hotstore.connection import HotStoreDown
from workspaces.hotstore.entries import (
    COMMIT_WITHIN_SECONDS,
    Bucket,
    Mark,
    Seen,
    Spent,
    discard,
    drop,
    fill,
    lift,
    look,
    mark,
    publish,
    repair,
    token,
)
from workspaces.hotstore.names import Name, bucket_of, name_of

__all__ = [
    "COMMIT_WITHIN_SECONDS",
    "Bucket",
    "HotStoreDown",
    "Mark",
    "Name",
    "Seen",
    "Spent",
    "bucket_of",
    "discard",
    "drop",
    "fill",
    "lift",
    "look",
    "mark",
    "name_of",
    "publish",
    "repair",
    "token",
]
