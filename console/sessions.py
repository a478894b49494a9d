"""Django's sessions in a table that also says whose they are, so that people see and end their own (PL-4)."""

import hashlib
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.utils import timezone

from workspaces.models import StaffSession

BEGAN, ADDRESS, BROWSER = "began_at", "address", "browser"
_PERSON = "_auth_user_id"


class SessionStore(DatabaseSessions):
    """Keeps what `sign_ins.finish` notes in a session beside its data, where queries find it."""

    @classmethod
    def get_model_class(cls) -> type[StaffSession]:
        return StaffSession

    def create_model_instance(self, data: dict[str, Any]) -> StaffSession:
        """Fill the columns from the session's data; each request saves it, and so moves `seen_at`."""
        row: Any = super().create_model_instance(data)
        now = timezone.now()
        row.id = id_of(row.session_key)
        row.person_id = data.get(_PERSON)
        row.address, row.browser = data.get(ADDRESS, ""), data.get(BROWSER, "")
        row.began_at = datetime.fromisoformat(data[BEGAN]) if BEGAN in data else now
        row.seen_at = now
        return row  # type: ignore[no-any-return]


def id_of(session_key: str) -> UUID:
    """Name a session by a hash of its key, which stays the same and opens nothing."""
    return UUID(bytes=hashlib.sha256(session_key.encode()).digest()[:16])
