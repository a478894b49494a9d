"""What derives from a person's records goes with them, and nothing else (PR-10)."""

from hypothesis import given
from hypothesis import strategies as st

from assembly.rules.derivation import STAYS, Node, derived

KINDS = ("message", "model_run", "tool_call", "tool_artifact", "tool_memory", *sorted(STAYS))
OWNERS = ("", "ana", "bruno")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Node], list[tuple[int, int]]]:
    """Draw records of which each names some before it, and may be of a run before it."""
    nodes: list[Node] = []
    links: list[tuple[int, int]] = []
    for number in range(draw(st.integers(1, 14))):
        runs = ["", *(node.name for node in nodes if node.kind == "model_run")]
        owner, run, parent = (draw(st.sampled_from(of)) for of in (OWNERS, runs, runs))
        nodes.append(Node(number, draw(st.sampled_from(KINDS)), f"r{number}", owner, run, parent))
        before = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set[int]()
        links += [(number, other) for other in before]
    return nodes, links


def names(node: Node, other: Node, links: list[tuple[int, int]]) -> bool:
    is_run = other.kind == "model_run" and other.name in (node.run, node.parent_run)
    return (node.id, other.id) in links or is_run


@given(worlds())
def test_it_is_closed_and_no_larger(world: tuple[list[Node], list[tuple[int, int]]]) -> None:
    """PR-10: theirs, and what names one that goes; each that goes has such a reason; what all stand on stays."""
    nodes, links = world
    gone = derived(nodes, links, participants={"ana"})
    for node in nodes:
        reasons = [other.id for other in nodes if other.id in gone and names(node, other, links)]
        is_theirs = node.participant == "ana" or bool(reasons)
        assert (node.id in gone) == (node.kind not in STAYS and is_theirs)


def test_their_own_participant_goes() -> None:
    """PR-10: the participant as whom a graph names the person goes, and the others stay."""
    nodes = [Node(0, "participant", "ana", "", "", ""), Node(1, "participant", "bruno", "", "", "")]
    assert derived(nodes, [], participants={"ana"}) == {0}


def test_no_chain_is_too_long() -> None:
    """PR-10: each of 100,000 answers to the one before goes with the first."""
    nodes = [
        Node(number, "message", str(number), "" if number else "ana", "", "") for number in range(100_000)
    ]
    links = [(number, number - 1) for number in range(1, 100_000)]
    assert len(derived(nodes, links, participants={"ana"})) == 100_000
