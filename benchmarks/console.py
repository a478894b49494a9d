"""`python -m benchmarks.console [--profiles N] [--document] [--queries]`: the time of every console page (CO-13).

It makes a workspace with everything in it once, copies its rows by SQL until the tables are large, and asks for each
page and each filtered list as somebody with every role. Without a number it makes what the clause names: 1,000,000
profiles and 2,000,000 states, with audit entries, assemblies and counted hours beside them.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from benchmarks.database import owner_url, postgres_version
from console.embedded.services import PROJECT

PROFILES = 1_000_000
ROUNDS = 7
LIMIT_MS = 150
DOCUMENT = PROJECT / "docs" / "performance.md"
BEGIN, END = "<!-- console: begin -->", "<!-- console: end -->"

PROFILE_ID, HANDLE_ID = "md5('profile ' || {n})::uuid", "md5('handle ' || {n})::uuid"
NOW, RANDOM_BYTES = "statement_timestamp()", "sha256(convert_to('{word} ' || n, 'UTF8'))"
AGO = NOW + " - n * interval '{step}'"


class Copies(msgspec.Struct, frozen=True):
    """Rows that are copied from one of the workspace, and what differs in each by its number `n`."""

    table: str
    rows: int
    values: Mapping[str, str]
    sample: str = "true"


class Took(msgspec.Struct, frozen=True):
    """How many milliseconds the server took for a page: at the median and at the worst; and the process itself."""

    page: str
    median: float
    worst: float
    own: float
    queries: int


def main() -> int:
    """Make the rows, measure every page, print the table, and fail when a page takes too long."""
    arguments = _parser().parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    import django
    from django.core.management import call_command

    django.setup()
    logging.disable(logging.CRITICAL)
    call_command("migrate", "--no-input", verbosity=0)
    house = _house()
    counts = fill(owner_url(os.environ), workspace=str(house.workspace.id), profiles=arguments.profiles)
    took = sorted(_measured(house), key=lambda page: -page.median)
    report = "\n".join(_lines(took, counts)) + "\n"
    print(report)
    if arguments.queries:
        _print_queries(house, [page.page for page in took if page.median > LIMIT_MS] or [took[0].page])
    if arguments.document:
        DOCUMENT.write_text(documented(DOCUMENT.read_text(), report))
    return int(any(page.median > LIMIT_MS for page in took))


def documented(text: str, report: str) -> str:
    """Put the table into the document, between its marks."""
    before, rest = text.split(BEGIN, maxsplit=1)
    return before + BEGIN + "\n\n" + report + "\n" + END + rest.split(END, maxsplit=1)[1]


def copies(profiles: int) -> list[Copies]:
    """Tell how many rows each table gets, in the order in which they depend on each other."""
    person = f"(n % {profiles}) + 1"
    return [
        Copies(
            "workspaces_profile",
            profiles,
            {
                "id": PROFILE_ID.format(n="n"),
                "pseudonym": "'p_' || substr(md5('pseudonym ' || n), 1, 20)",
                "created_at": AGO.format(step="2 seconds"),
                "last_seen_at": AGO.format(step="1 second"),
            },
        ),
        Copies(
            "workspaces_handle",
            profiles,
            {
                "id": HANDLE_ID.format(n="n"),
                "profile_id": PROFILE_ID.format(n="n"),
                "hash": RANDOM_BYTES.format(word="handle"),
            },
        ),
        Copies(
            "agentstate_state",
            2 * profiles,
            {
                "id": "gen_random_uuid()",
                "scope_hash": RANDOM_BYTES.format(word="scope"),
                "handle_id": HANDLE_ID.format(n=person),
                "updated_at": AGO.format(step="1 second"),
            },
            sample="life = 'live' AND handle_id IS NOT NULL",
        ),
        Copies(
            "assembly_contextassembly",
            profiles // 5,
            {"id": "gen_random_uuid()", "created_at": AGO.format(step="5 seconds")},
        ),
        Copies(
            "workspaces_usagehour",
            min(profiles // 5, 100_000),
            {
                "hour": f"date_trunc('hour', {NOW}) - (n % 720) * interval '1 hour'",
                "name": "'agent ' || (n / 720)",
            },
            sample="kind = 'agent'",
        ),
        Copies(
            "workspaces_auditentry",
            profiles // 2,
            {
                "id": "gen_random_uuid()",
                "seq": "sample.seq + n",
                "at": f"{NOW} - ({profiles // 2} - n) * interval '1 second'",
                "object_id": PROFILE_ID.format(n=person),
                "hash": RANDOM_BYTES.format(word="entry"),
            },
        ),
    ]


def fill(url: str, *, workspace: str, profiles: int) -> dict[str, int]:
    """Copy rows of a workspace as the owner of the tables; give how many each table has then."""
    counts = {}
    with psycopg.connect(url, autocommit=True) as connection:
        for wanted in copies(profiles):
            _copy(connection, wanted, workspace)
            connection.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(wanted.table)))
            counts[wanted.table] = wanted.rows
        connection.execute(
            "UPDATE workspaces_audithead SET seq = (SELECT max(seq) FROM workspaces_auditentry"
            " WHERE workspace_id = %(id)s) WHERE workspace_id = %(id)s",
            {"id": workspace},
        )
    return counts


def _copy(connection: psycopg.Connection, wanted: Copies, workspace: str) -> None:
    found = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_generated = 'NEVER'"
        " AND is_identity = 'NO' AND NOT (column_default LIKE 'nextval%%' AND column_default IS NOT NULL)",
        (wanted.table,),
    ).fetchall()
    names = [str(row[0]) for row in found]
    values = [wanted.values.get(name, f'sample."{name}"') for name in names]
    order = "seq DESC" if "seq" in names else "1"
    connection.execute(
        sql.SQL(
            "INSERT INTO {table} ({names}) SELECT {values} FROM generate_series(1, {rows}) AS n,"
            " (SELECT * FROM {table} WHERE workspace_id = {workspace} AND {sample}"
            " ORDER BY {order} LIMIT 1) AS sample"
        ).format(
            table=sql.Identifier(wanted.table),
            names=sql.SQL(", ").join(map(sql.Identifier, names)),
            values=sql.SQL(", ".join(values)),
            rows=sql.Literal(wanted.rows),
            workspace=sql.Literal(workspace),
            sample=sql.SQL(wanted.sample),
            order=sql.SQL(order),
        )
    )


def _house() -> Any:
    from django.test import override_settings

    from tests.console.house import build_house

    with override_settings(EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend"):
        return build_house()


def _addresses(house: Any) -> dict[str, str]:
    """Give every page and every state of one that has an address, as the browser tests know them."""
    from tests.console.house import EVERY_ROLE
    from tests.console.sights import sights

    seen = (sight for sight in sights() if sight.who == EVERY_ROLE and sight.act is None)
    return {sight.name: sight.address(house) for sight in seen}


def _client(house: Any) -> Any:
    from django.conf import settings
    from django.test import Client

    from tests.console.house import EVERY_ROLE

    host = next((name for name in settings.ALLOWED_HOSTS if not name.startswith((".", "*"))), "localhost")
    client = Client(raise_request_exception=True, SERVER_NAME=host)
    client.force_login(house.people[EVERY_ROLE])
    return client


def _measured(house: Any) -> Iterator[Took]:
    """Ask for each page several times, after once that fills what a process keeps."""
    client = _client(house)
    for name, address in _addresses(house).items():
        queries = len(_queries(client, address))
        times = [_milliseconds(client, address) for _ in range(ROUNDS)]
        walls, own = zip(*times, strict=True)
        yield Took(name, median(walls), max(walls), median(own), queries)


def _milliseconds(client: Any, address: str) -> tuple[float, float]:
    """Give how long a page took, and how long the process itself had a core for it: what is not the database's."""
    began, own = time.perf_counter(), time.process_time()
    client.get(address)
    return (time.perf_counter() - began) * 1000, (time.process_time() - own) * 1000


def _queries(client: Any, address: str) -> list[dict[str, str]]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        client.get(address)
    return list(captured)


def _print_queries(house: Any, names: Sequence[str]) -> None:
    """Print the three queries of each of these pages that take the longest."""
    client, addresses = _client(house), _addresses(house)
    for name in names:
        slowest = sorted(_queries(client, addresses[name]), key=lambda query: -float(query["time"]))[:3]
        print(f"{name}: {addresses[name]}")
        for query in slowest:
            print(f"  {query['time']} s  {query['sql'][:600]}")


def _lines(took: Sequence[Took], counts: Mapping[str, int]) -> Iterator[str]:
    held = ", ".join(f"{rows:,} of `{table}`" for table, rows in counts.items())
    yield (
        f"`make bench-console`: {len(took)} pages, each {ROUNDS} times in one process without the network, beside"
        f" {held}, on PostgreSQL {postgres_version(owner_url(os.environ))}. The limit is {LIMIT_MS} ms at the"
        " median; own is how long the process itself had a core."
    )
    yield from ("", "| page | median ms | worst ms | own ms | queries |", "|---|---:|---:|---:|---:|")
    yield from (
        f"| {page.page} | {page.median:.1f} | {page.worst:.1f} | {page.own:.1f} | {page.queries} |"
        for page in took
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__)
    parser.add_argument("--profiles", type=int, default=PROFILES, help="how many; of states twice as many")
    parser.add_argument("--document", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument(
        "--queries", action="store_true", help="print the longest queries of the slowest pages"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
