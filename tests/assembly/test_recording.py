"""Recording what happened (CA-1 to CA-5, CA-13)."""

from tests.assembly.graphs import Story


def test_a_run_is_recorded_in_its_order(story: Story) -> None:
    """CA-3: each record answers its position, and the graph's own is that of the last."""
    answer = story.stored(*story.whole())
    assert [item["position"] for item in answer["records"]] == list(range(1, 9))
    assert {item["outcome"] for item in answer["records"]} == {"stored"}
    assert answer["positions"] == {story.chat: 8}


def test_the_same_batch_again_changes_nothing(story: Story) -> None:
    """CA-3: a record that is there with the same content is `unchanged`, and answers where it stands."""
    first, again = (story.stored(*story.whole()) for _ in range(2))
    assert {item["outcome"] for item in again["records"]} == {"unchanged"}
    stored = [{**item, "outcome": "stored"} for item in again["records"]]
    assert (stored, again["positions"]) == (first["records"], first["positions"])
