"""Every list as CSV and JSON Lines: exactly the rows and the columns of its page (CO-4)."""

import csv
import json
import re
from collections.abc import Iterator
from html import unescape
from io import StringIO
from typing import Any

import msgspec
import pytest
from django.test import Client
from django.urls import reverse

from console.presenters.exports import csv_lines
from console.templatetags.console import STATUSES
from tests import factories
from tests.console.house import EVERY_ROLE, WITHOUT_ROLE, House
from workspaces import access
from workspaces.models import AuditEntry, Profile
from workspaces.types import WorkspaceRef


class Listed(msgspec.Struct, frozen=True):
    """A list, by the name of its page, with the filters under which it is seen."""

    page: str
    query: str = ""


LISTS = (
    Listed("profiles"),
    Listed("profile_working_memory", "agent=order-taker"),
    Listed("profile_history", "provider=openai.chat"),
    Listed("profile_assemblies"),
    Listed("erasures", "status=verified"),
    Listed("erasures_ended"),
    Listed("packages"),
    Listed("holds", "state=standing"),
    Listed("retention"),
    Listed("reservations"),
    Listed("approvals"),
    Listed("features"),
    Listed("features_matrix"),
    Listed("types"),
    Listed("keys", "state=active"),
    Listed("people"),
    Listed("jobs", "kind=erasure"),
    Listed("audit", "action=feature.*"),
    Listed("assemblies", "trace=full"),
)
each_list = pytest.mark.parametrize("listed", LISTS, ids=lambda listed: listed.page)


@pytest.fixture
def client(house: House, committed: None) -> Client:
    """Somebody with every role in the house."""
    client = Client(raise_request_exception=False)
    client.force_login(house.people[EVERY_ROLE])
    return client


def address_of(house: House, listed: Listed) -> str:
    return f"{house.address(listed.page, EVERY_ROLE)}?{listed.query}"


def links(page: str) -> dict[str, str]:
    """Give the addresses of the files that a page offers, by the words on their buttons."""
    found = re.findall(r'<a class="btn btn-small" href="([^"]*)" download>([^<]*)<', page)
    return {label: unescape(url) for url, label in found}


def table_of(page: str) -> tuple[list[str], list[str]]:
    """Give the heads and the rows of the first table of a page, the column of buttons left out."""
    table = page.partition("<table")[2].partition("</table>")[0]
    head, _, body = table.partition("</thead>")
    heads = [
        cell for cell in re.findall(r"<th [^>]*>(.*?)</th>", head, re.DOTALL) if 'class="sr"' not in cell
    ]
    return heads, re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)


def said(row: str) -> str:
    """Give what a row shows: its words, and the moments, exact numbers and ids behind them."""
    behind = re.findall(r'(?:datetime|title|data-copy|href)="([^"]*)"', row)
    return unescape(" ".join([re.sub(r"<[^>]*>", " ", row), *behind]))


def is_shown(value: Any, row: str) -> bool:
    """Tell whether a row shows a value of the file: as it is, as a status in words, as a number, or as a moment."""
    match value:
        case None | bool() | "":
            return True
        case list():
            return all(is_shown(each, row) for each in value)
        case int():
            return f"{value:,}" in row
        case float():
            return f"{value:.1f}" in row
    word = str(STATUSES[value][2]) if value in STATUSES else value
    return word in row or value[:13] in row


@each_list
def test_the_files_of_a_list_are_what_its_page_shows(house: House, client: Client, listed: Listed) -> None:
    """CO-4: as many rows, as many columns at least, and no value that the page does not show."""
    page = client.get(address_of(house, listed)).content.decode()
    (heads, rows), files = table_of(page), links(page)
    assert rows
    lines = [json.loads(line) for line in client.get(files["JSON Lines"]).getvalue().splitlines()]
    assert len(lines) == len(rows)
    assert len(lines[0]) >= len(heads)
    for line, row in zip(lines, rows, strict=True):
        hidden = {name: value for name, value in line.items() if not is_shown(value, said(row))}
        assert hidden == {}, said(row)
    written = list(csv.reader(StringIO(client.get(files["CSV"]).getvalue().decode())))
    assert written[0] == list(lines[0])
    assert len(written) == 1 + len(rows)


@each_list
def test_the_files_take_the_rights_of_the_list(house: House, client: Client, listed: Listed) -> None:
    """CO-4, CO-8: who may not open a list gets no file of it."""
    address = f"{address_of(house, listed)}&file=csv"
    assert "attachment" in client.get(address)["Content-Disposition"]
    client.force_login(house.people[WITHOUT_ROLE])
    opens = client.get(address_of(house, listed)).status_code
    assert (client.get(address).status_code == 200) == (opens == 200)
    client.logout()
    assert client.get(address).status_code == 302


def views_of(house: House) -> int:
    with access.bound(house.workspace.id):
        return AuditEntry.objects.filter(act="profile.view").count()


def test_a_file_is_audited_where_its_list_is(house: House, client: Client) -> None:
    """CO-7, WM-23: a file of a person's states is a view of them, and the log says so."""
    before = views_of(house)
    client.get(f"{house.address('profile_working_memory', EVERY_ROLE)}?file=jsonl").getvalue()
    assert views_of(house) == before + 1


def test_a_file_holds_the_page_in_view(aurora: WorkspaceRef, signed_in: Any) -> None:
    """CO-4: the file of the second page holds the second page, and a form that is none shows the page."""
    with access.bound(aurora.id):
        Profile.objects.bulk_create(
            Profile(pseudonym=f"p_{n}", created_at=factories.LATELY, last_seen_at=factories.LATELY)
            for n in range(53)
        )
    client = signed_in(factories.make_person(aurora, "support"))
    address = reverse("console:profiles", args=[aurora.slug])
    older = client.get(address).context["page"].older
    second = client.get(address, {"older": older})
    files = links(second.content.decode())
    names = [row.pseudonym for row in second.context["profiles"]]
    assert len(names) == 3
    assert [row["pseudonym"] for row in rows_of(client.get(files["CSV"]))] == names
    assert client.get(address, {"file": "exe"}).context["profiles"]


def test_a_list_without_rows_offers_no_files(aurora: WorkspaceRef, signed_in: Any) -> None:
    """CO-8: there is nothing to take along."""
    client = signed_in(factories.make_person(aurora, "support"))
    assert links(client.get(reverse("console:profiles", args=[aurora.slug])).content.decode()) == {}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"])
def test_no_cell_is_a_formula(text: str) -> None:
    """CO-4: a word that a spreadsheet would run begins with an apostrophe, alone or in a list; a number stays one."""
    lines = b"".join(csv_lines(("a", "b", "c"), [(text, [text, "x"], -1)])).decode()
    (_, row) = csv.reader(StringIO(lines))
    assert row == [f"'{text}", f"'{text}, x", "-1"]


def rows_of(answer: Any) -> Iterator[dict[str, str]]:
    return csv.DictReader(StringIO(answer.getvalue().decode()))
