"""What a run measures, and for how long."""

import msgspec


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of a run. All contenders of a table take turns: one short slice each per round."""

    is_quick: bool
    rounds: int
    slice_seconds: float
    clients: tuple[int, ...]
    sizes: tuple[int, ...]
    peer_clients: tuple[int, ...]
    stall_rounds: int
    stall_seconds: float
    growth_states: int
    many_rows: int | None
    warm_set: int
    few_rows: int
    graph_sizes: tuple[int, ...]
    assemblies: int
    variables: dict[str, str] = {}
    """More environment for our server, such as limits that a load would meet."""


SIZE = 2048
CLIENTS = 8
CONTENDING = 16


def quick(variables: dict[str, str]) -> Plan:
    """Every goal within 8 minutes on two cores; of PF-4 what grows with a session, not with the table of states."""
    return Plan(
        is_quick=True,
        rounds=5,
        slice_seconds=0.8,
        clients=(1, CLIENTS, 32),
        sizes=(SIZE,),
        peer_clients=(CLIENTS,),
        stall_rounds=3,
        stall_seconds=2.0,
        growth_states=2_000,
        many_rows=None,
        warm_set=0,
        few_rows=0,
        graph_sizes=(100, 1_000, 10_000),
        assemblies=15,
        variables=variables,
    )


def full(variables: dict[str, str]) -> Plan:
    """All of it: other sizes, peers at every number of clients, and the table of two million rows."""
    return Plan(
        is_quick=False,
        rounds=9,
        slice_seconds=1.5,
        clients=(1, CLIENTS, 32),
        sizes=(1024, SIZE, 4096, 16_384),
        peer_clients=(1, CLIENTS, 32),
        stall_rounds=5,
        stall_seconds=4.0,
        growth_states=20_000,
        many_rows=2_000_000,
        warm_set=100_000,
        few_rows=1_000,
        graph_sizes=(100, 1_000, 10_000, 100_000),
        assemblies=31,
        variables=variables,
    )
