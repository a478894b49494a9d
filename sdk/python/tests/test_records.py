"""Who a session is (HI-1, HI-2)."""

import pytest

from lastro.history.errors import DecisionHistoryIdentityMissing
from lastro.history.records import SessionKey

RUN = {"run_id": "r", "invocation_id": "i", "agent_ref": "a"}


@pytest.mark.parametrize(
    ("why", "names"),
    [
        ("no id at all", {}),
        ("only a part of a run", {"run_id": "r", "agent_ref": "a"}),
        ("both ways at once", {**RUN, "session_id": "s"}),
        ("a session id and a part of a run", {"session_id": "s", "run_id": "r"}),
        ("no namespace", {"namespace": "", "session_id": "s"}),
    ],
)
def test_missing_id_is_an_error(why: str, names: dict[str, str]) -> None:
    """HI-1: a missing id is an error, never a default; HI-2: so is a missing namespace."""
    with pytest.raises(DecisionHistoryIdentityMissing):
        SessionKey(**{"namespace": "support", **names})


def test_sessions_differ_by_every_part() -> None:
    """HI-1: two invocations of one agent are two sessions; HI-2: two namespaces never meet."""
    keys = [
        SessionKey("support", **RUN),
        SessionKey("sales", **RUN),
        *(SessionKey("support", **{**RUN, name: "other"}) for name in RUN),
        SessionKey("support", session_id="r"),
        SessionKey("support", session_id="i"),
    ]
    assert len({key.digest for key in keys}) == len(keys)
