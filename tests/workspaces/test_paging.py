"""Lists go page by page by cursor, in both directions (PL-10)."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import factories
from workspaces import access
from workspaces.errors import InvalidInput
from workspaces.models import Profile
from workspaces.paging import Edge, Moment, Number, Page, _decode, page
from workspaces.types import WorkspaceRef


@pytest.fixture
def people(aurora: WorkspaceRef) -> list[UUID]:
    """Eleven profiles, newest first; several were seen at the same moment."""
    seen = [factories.LATELY - timedelta(minutes=minutes) for minutes in (0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 5)]
    with access.bound(aurora.id):
        Profile.objects.bulk_create(
            Profile(id=uuid4(), pseudonym=f"p_{number}", created_at=at, last_seen_at=at)
            for number, at in enumerate(seen)
        )
        return list(Profile.objects.order_by("-last_seen_at", "-id").values_list("id", flat=True))


def turned(*, older: str | None = None, newer: str | None = None) -> Page:
    return page(Profile.objects.all(), by="last_seen_at", size=3, older=older, newer=newer)


def ids(found: Page) -> list[UUID]:
    return [row.id for row in found.rows]


def test_every_row_comes_once_in_order(aurora: WorkspaceRef, people: list[UUID]) -> None:
    """PL-10: following the cursors gives each row once, newest first, ties too; the last page has no next."""
    with access.bound(aurora.id):
        found, cursor, pages = [], None, 0
        while True:
            current = turned(older=cursor)
            found += ids(current)
            cursor, pages = current.older, pages + 1
            if cursor is None:
                break
    assert found == people
    assert pages == 4


def test_pages_turn_back_the_way_they_came(aurora: WorkspaceRef, people: list[UUID]) -> None:
    """PL-10, CO-4: the page before a page is the one that was left, up to the first, which has none before."""
    with access.bound(aurora.id):
        first = turned()
        second = turned(older=first.older)
        third = turned(older=second.older)
        assert ids(turned(newer=third.newer)) == ids(second)
        back = turned(newer=second.newer)
        assert ids(back) == ids(first) == people[:3]
    assert first.newer is None
    assert back.newer is None


def test_a_row_that_comes_meanwhile_moves_nothing(aurora: WorkspaceRef, people: list[UUID]) -> None:
    """PL-10: a new row in front neither repeats nor hides a row of the pages that follow."""
    with access.bound(aurora.id):
        first = turned()
        at = factories.LATELY + timedelta(hours=1)
        Profile.objects.create(pseudonym="p_new", created_at=at, last_seen_at=at)
        assert ids(turned(older=first.older)) == people[3:6]


def test_a_row_that_goes_meanwhile_moves_nothing(aurora: WorkspaceRef, people: list[UUID]) -> None:
    """PL-10: a cursor outlives the row that it was made from."""
    with access.bound(aurora.id):
        first = turned()
        Profile.objects.filter(id=people[2]).delete()
        assert ids(turned(older=first.older)) == people[3:6]


def test_a_list_that_fits_has_no_cursors(aurora: WorkspaceRef, people: list[UUID]) -> None:
    """PL-10: where all rows fit, nothing leads on; an empty list is one too."""
    with access.bound(aurora.id):
        whole = page(Profile.objects.all(), by="last_seen_at", size=11)
        empty = page(Profile.objects.filter(pseudonym="p_x"), by="last_seen_at")
    assert (ids(whole), whole.newer, whole.older) == (people, None, None)
    assert empty == Page(rows=[])


@given(st.text(max_size=60), st.sampled_from([Moment, Number]))
def test_no_text_is_a_cursor_by_accident(text: str, kind: type[Edge]) -> None:
    """PL-10: whatever is sent as cursor is refused as input, and never fails otherwise."""
    with pytest.raises(InvalidInput):
        _decode(text, kind)


def test_soonest_first(aurora: WorkspaceRef, people: list[UUID]) -> None:
    """PL-10, CO-4: a list that begins with the soonest goes on and back over the same pages."""

    def soonest(*, older: str | None = None, newer: str | None = None) -> Page:
        rows = Profile.objects.all()
        return page(rows, by="last_seen_at", size=4, soonest_first=True, older=older, newer=newer)

    with access.bound(aurora.id):
        first = soonest()
        second = soonest(older=first.older)
        third = soonest(older=second.older)
        assert ids(first) + ids(second) + ids(third) == people[::-1]
        assert (first.newer, third.older) == (None, None)
        assert ids(soonest(newer=third.newer)) == ids(second)
        assert ids(soonest(newer=second.newer)) == ids(first)
