"""What the benchmark asks PostgreSQL and Valkey itself, as their owner."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import psycopg
import valkey
from psycopg import sql

STATES, KEYS = "agentstate_state", "workspaces_wrappedkey"


def owner_url(variables: Mapping[str, str]) -> str:
    """Give the URL of the account that owns the tables."""
    return variables.get("DATABASE_OWNER_URL") or variables["DATABASE_URL"]


def urls(variables: Mapping[str, str]) -> list[str]:
    """Give the databases in which tables of ours may lie."""
    keys = variables.get("KEYS_DATABASE_OWNER_URL") or variables.get("KEYS_DATABASE_URL")
    return [owner_url(variables), *([keys] if keys else [])]


def own_database(url: str, name: str) -> str:
    """Make an empty database beside the one of a URL; give its URL."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(url)._replace(scheme="postgresql", path=f"/{name}"))


def total_bytes(variables: Mapping[str, str], table: str) -> int:
    """Give the size of a table with its indexes and what is stored beside it, wherever it lies."""
    total = 0
    for url in urls(variables):
        with psycopg.connect(url, autocommit=True) as connection:
            row = connection.execute("SELECT pg_total_relation_size(to_regclass(%s))", (table,)).fetchone()
            total += (row[0] or 0) if row else 0
    return total


def hot_bytes(variables: Mapping[str, str]) -> int:
    """Give what Valkey uses."""
    info: Any = valkey.Valkey.from_url(variables["HOT_STORE_URL"]).info("memory")
    return int(info["used_memory"])


def postgres_version(url: str) -> str:
    """Give the version of the database."""
    with psycopg.connect(url) as connection:
        return str(connection.info.server_version // 10_000) + f".{connection.info.server_version % 10_000}"


def valkey_version(url: str) -> str:
    """Give the version of the hot store."""
    info: Any = valkey.Valkey.from_url(url).info("server")
    return str(info.get("valkey_version") or info.get("redis_version"))


def folder_of(url: str) -> str | None:
    """Give the folder of the database's Unix socket, where the embedded cluster lies too."""
    hosts = parse_qs(urlsplit(url).query).get("host", [""])
    return hosts[0] if hosts[0].startswith("/") else None
