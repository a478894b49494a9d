"""A state's write beside two million others (PF-4)."""

from collections.abc import Mapping

import msgspec
import psycopg
from psycopg import sql

from benchmarks.database import KEYS, STATES, owner_url, urls
from benchmarks.floors import RawWrites
from benchmarks.ours import Ours
from benchmarks.plan import CLIENTS, Plan
from benchmarks.rounds import Contender, Slice, Spread, play, spread
from benchmarks.scripts import small_body

BYTES = 200
RANDOM_BYTES = "decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')"
OTHERS = {
    STATES: {"id": "gen_random_uuid()", "scope_hash": RANDOM_BYTES, "data_key_id": "gen_random_uuid()"},
    KEYS: {"id": "gen_random_uuid()"},
}
"""What differs between the copies of one row: the rest of it stands as it was."""


class ManyRows(msgspec.Struct, frozen=True):
    """Writes in the large table, of those in the small one, both in raw writes of the same moment."""

    few: int
    many: int
    warm: int
    ratio: Spread


def many_rows(ours: Ours, variables: Mapping[str, str], raw: RawWrites, plan: Plan) -> ManyRows:
    """Write among a thousand rows, fill the tables, and write among all of them."""
    assert plan.many_rows is not None  # noqa: S101  (asked for by the full run only)
    floor = raw.contender(clients=CLIENTS, size=BYTES)
    few = _in_raw_writes(ours.fleet(states=plan.few_rows, body=small_body(BYTES)), floor, plan)
    warm = ours.fleet(states=plan.warm_set, body=small_body(BYTES))
    fill(variables, rows=plan.many_rows)
    many = _in_raw_writes(warm, floor, plan)
    values = [after / before for before, after in zip(few, many, strict=True)]
    return ManyRows(few=plan.few_rows, many=plan.many_rows, warm=plan.warm_set, ratio=spread(values))


def fill(variables: Mapping[str, str], *, rows: int) -> None:
    """Copy one state, and one key, until each table has so many rows; as their owner."""
    owner = owner_url(variables)
    for table in OTHERS:
        home = next((url for url in reversed(urls(variables)) if _has(url, table)), owner)
        with psycopg.connect(home, autocommit=True) as connection:
            _copy_rows(connection, table, rows)
            connection.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table)))


def _copy_rows(connection: psycopg.Connection, table: str, rows: int) -> None:
    columns = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_generated = 'NEVER'",
        (table,),
    ).fetchall()
    names = [str(row[0]) for row in columns]
    values = [OTHERS[table].get(name, f'sample."{name}"') for name in names]
    count = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    missing = max(0, rows - (count[0] if count else 0))
    connection.execute(
        sql.SQL(
            "INSERT INTO {table} ({names}) SELECT {values} FROM generate_series(1, {missing}),"
            " (SELECT * FROM {table} ORDER BY created_at DESC LIMIT 1) AS sample"
        ).format(
            table=sql.Identifier(table),
            names=sql.SQL(", ").join(map(sql.Identifier, names)),
            values=sql.SQL(", ".join(values)),
            missing=sql.Literal(missing),
        )
    )


def _in_raw_writes(ours: Contender, floor: Contender, plan: Plan) -> list[float]:
    played: dict[str, list[Slice]] = play(
        {"ours": ours, "raw": floor}, rounds=plan.rounds, seconds=plan.slice_seconds
    )
    return [a.rate / b.rate for a, b in zip(played["ours"], played["raw"], strict=True)]


def _has(url: str, table: str) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone()
        return bool(row and row[0])
