"""Everything that reads the ground floor, one file per noun."""

from workspaces.selectors import audit, credentials, documents, people, profiles

__all__ = ["audit", "credentials", "documents", "people", "profiles"]
