"""Migrations go forward and back, in both databases, by one command (PL-17, PL-14)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connections
from psycopg import sql

from tests.database import ALIASES, logged_in
from tests.server import database_url_of_tests

PROJECT = Path(__file__).resolve().parents[2]
LEFT = """
SELECT relname::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname ~ '^(workspaces|agentstate)_'
UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT polname FROM pg_policy
"""
NAMES = {"default": "DATABASE", "keys": "KEYS_DATABASE"}


def name_of(alias: str) -> str:
    return f"{connections[alias].settings_dict['NAME']}_scratch"


def as_owner(alias: str, url: str) -> str:
    owner = settings.LASTRO_DATABASE_OWNERS[alias]
    assert owner is not None
    _, _, place = url.rpartition("@")
    return f"postgres://{quote(owner['USER'])}:{quote(owner['PASSWORD'])}@{place}"


@pytest.fixture
def scratch(committed: None) -> Iterator[dict[str, str]]:
    """Two empty databases, as the variables that lead to them."""
    variables = {}
    with logged_in("default", owner=True) as owner:
        for alias in ALIASES:
            name = sql.Identifier(name_of(alias))
            owner.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
            owner.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
            url = database_url_of_tests(alias).replace(
                connections[alias].settings_dict["NAME"], name_of(alias)
            )
            variables[f"{NAMES[alias]}_URL"] = url
            variables[f"{NAMES[alias]}_OWNER_URL"] = as_owner(alias, url)
        yield variables
        for alias in ALIASES:
            owner.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name_of(alias))))


def migrate(variables: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", "migrate", "--no-input", *arguments]
    done = subprocess.run(
        command, cwd=PROJECT, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


def left(alias: str) -> list[str]:
    with logged_in(alias, owner=True, dbname=name_of(alias)) as owner:
        return [row[0] for row in owner.execute(LEFT).fetchall()]


@pytest.mark.long
def test_migrations_go_back_to_nothing_and_forward_again(scratch: dict[str, str]) -> None:
    """PL-17: both databases are migrated, taken back to nothing of ours, and migrated again."""
    migrate(scratch)
    first = {alias: sorted(left(alias)) for alias in ALIASES}
    assert "workspaces_wrappedkey" in first["keys"]
    assert "workspaces_wrappedkey" not in first["default"]
    for app in ("agentstate", "guardian", "workspaces"):
        migrate(scratch, app, "zero")
    assert [left(alias) for alias in ALIASES] == [[], []]
    migrate(scratch)
    assert {alias: sorted(left(alias)) for alias in ALIASES} == first


def test_a_role_that_owns_its_tables_is_warned_of(scratch: dict[str, str]) -> None:
    """PL-1: a role that migrates by itself owns the tables: the command says that nothing is refused then."""
    owner = {f"{name}_URL": scratch[f"{name}_OWNER_URL"] for name in NAMES.values()}
    alone = owner | {f"{name}_OWNER_URL": "" for name in NAMES.values()}
    said = migrate(alone)
    assert said.count("row-level security does not hold") == 2
    assert "DATABASE_OWNER_URL" in said
