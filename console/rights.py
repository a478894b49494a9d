"""Roles, permissions and scopes in the reader's words: the rules name them in English, and know no language (CO-11)."""

from collections.abc import Container, Iterable

from django.utils.translation import gettext as _

from workspaces.rules.rights import KEY_SCOPES, PERMISSIONS, ROLE_TITLES


def permission_title(name: str) -> str:
    """Say what a permission allows."""
    return _(PERMISSIONS[name])


def permission_titles(names: Container[str]) -> list[str]:
    """Say what some permissions allow, in the order of the rules."""
    return [_(title) for name, title in PERMISSIONS.items() if name in names]


def role_title(role: str) -> str:
    """Name a role; one that is no more keeps its code."""
    return _(ROLE_TITLES[role]) if role in ROLE_TITLES else role


def role_titles(roles: Iterable[str]) -> list[str]:
    """Name some roles."""
    return [role_title(role) for role in roles]


def permission_choices(held: Container[str]) -> list[tuple[str, str]]:
    """List the permissions of a form: those that may be chosen."""
    return [(name, _(title)) for name, title in PERMISSIONS.items() if name in held]


def role_choices() -> list[tuple[str, str]]:
    """List the roles of a form."""
    return [(role, _(title)) for role, title in ROLE_TITLES.items()]


def scope_choices() -> list[tuple[str, str]]:
    """List the scopes of a key, each with its effect."""
    return [(scope, f"{scope}: {_(effect)}") for scope, effect in KEY_SCOPES.items()]
