"""What there is to see in the console: every page, and the states of each that look different (CO-8)."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Any

import msgspec
from playwright.sync_api import Page

from tests.console.assembled import CONVERSATION
from tests.console.house import EVERY_ROLE, NOBODY, WITHOUT_ROLE, House, page_names
from tests.factories import PASSWORD

ONLY_POSTED = {
    "sign_out",
    "theme",
    "language",
    "find",
    "masking_preview",
    "stay",
    "session_end",
    "sessions_end",
}
# These show a page after something that test_browser_sign_in.py does.
LEADS_ON = {"workspace", "sign_in_code", "openid", "openid_done", "second_factor_off", "second_factor_codes"}
# What the browser keeps as a file, and shows no page of.
FILES = {"erasure_receipt", "audit_export", "usage_export", "home_export"}


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """Something to look at: an address (or the name of a page), as whom, and what is done there first."""

    name: str
    who: str = EVERY_ROLE
    address: Callable[[House], str]
    act: Callable[[Page], Any] | None = None

    def show(self, page: Page, house: House) -> None:
        """Go there and do it."""
        page.goto(self.address(house))
        if self.act is not None:
            self.act(page)


def pages() -> Iterator[Sight]:
    """List every page that can be opened by its address."""
    for name in page_names():
        if name not in ONLY_POSTED | LEADS_ON | FILES:
            yield Sight(name=name, who=_viewer(name), address=_at(name))


def sights() -> Iterator[Sight]:
    """List every page, and then the states."""
    yield from pages()
    yield from STATES


def groups(seen: Iterable[Sight], size: int = 8) -> Iterator[tuple[str, list[Sight]]]:
    """List sights by who looks, a few at a time, so that one browser page shows several."""
    everything = sorted(seen, key=lambda sight: sight.who)
    for who, own in groupby(everything, key=lambda sight: sight.who):
        for part in batched(own, size):
            yield who, part


def batched(items: Iterable[Sight], size: int) -> Iterator[list[Sight]]:
    """Cut a list into parts; itertools has this from Python 3.12 on."""
    left = iter(items)
    while part := list(islice(left, size)):
        yield part


def _viewer(name: str) -> str:
    signed_out = ("sign_in", "invitation", "password")
    return NOBODY if name.startswith(signed_out) else EVERY_ROLE


def _at(name: str, query: str = "") -> Callable[[House], str]:
    return lambda house: house.address(name, EVERY_ROLE) + query


def _fixed(path: str) -> Callable[[House], str]:
    return lambda _: path


def _quiet(name: str, query: str = "") -> Callable[[House], str]:
    return lambda house: (
        house.address(name, EVERY_ROLE).replace(house.workspace.slug, house.quiet.slug) + query
    )


def _request(status: str, *rest: str) -> Callable[[House], str]:
    """Lead to the request for erasure that is in a status."""

    def address(house: House) -> str:
        received, wanted = str(house.requests["received"]), str(house.requests[status])
        return "/".join(
            [house.address("erasure", EVERY_ROLE).replace(received, wanted).rstrip("/"), *rest, ""]
        )

    return address


def _job(status: str) -> Callable[[House], str]:
    """Lead to the job of the request for erasure that is in a status."""
    return lambda house: house.address("job", EVERY_ROLE).replace(
        house.job, f"erasure-{house.requests[status]}"
    )


def _of_kind(kind: str) -> Callable[[House], str]:
    """Lead to the draft of another document."""
    return lambda house: house.address("document_draft", EVERY_ROLE).replace("masking", kind)


def _compared(name: str) -> Callable[[House], str]:
    """Lead to the other assembly."""
    return lambda house: house.address(name, EVERY_ROLE).replace(str(house.assembly), str(house.compared))


def _why(record: str) -> Callable[[House], str]:
    return _at("assembly_why", f"?type=tool_memory&id={record}.{CONVERSATION}")


def _scope(target: str, scope: str = "") -> Callable[[House], str]:
    """Lead to the erasure of another kind of scope, or of another one."""
    return lambda house: (
        house.address("scope_erase", EVERY_ROLE)
        .replace("conversation", target)
        .replace(house.scope, scope or house.scope)
    )


def _held(name: str) -> Callable[[House], str]:
    return lambda house: house.address(name, EVERY_ROLE).replace(str(house.profile), str(house.held))


def _press(name: str) -> Callable[[Page], Any]:
    return lambda page: page.get_by_role("main").get_by_role("button", name=name, exact=True).click()


def _open_dialog(selector: str) -> Callable[[Page], Any]:
    def act(page: Page) -> None:
        page.locator(selector).first.click()
        page.locator("dialog[open] form").wait_for()

    return act


def _opened_tables(page: Page) -> None:
    for summary in page.locator("details.numbers summary").all():
        summary.click()


def _refused_dialog(page: Page) -> None:
    _open_dialog("#switch-agent_state")(page)
    page.locator("dialog textarea").fill(" ")
    page.locator("dialog form").evaluate("form => form.noValidate = true")
    page.locator("dialog footer button").click()
    page.locator("dialog .error").wait_for()


def _sent_empty(button: str) -> Callable[[Page], Any]:
    def act(page: Page) -> None:
        page.locator("main form").last.evaluate("form => form.noValidate = true")
        page.get_by_role("button", name=button, exact=True).click()
        page.locator("main .error").first.wait_for()

    return act


def _checked_draft(change: Callable[[str], str]) -> Callable[[Page], Any]:
    def act(page: Page) -> None:
        box = page.locator("textarea[name=document]")
        box.fill(change(box.input_value()))
        _press("Check")(page)
        page.locator("#problems, #changed").wait_for()

    return act


def _opened_policy(page: Page) -> None:
    _checked_draft(lambda text: text.replace('"oauth": "never"', '"oauth": "raw"'))(page)


def _tried_masking(page: Page) -> None:
    page.get_by_label("The field is declared").select_option("true")
    page.get_by_label("Value").fill("ask ana@example.com, card 4111 1111 1111 1111")
    _press("Show what is kept")(page)
    page.get_by_text("[redacted:card]").wait_for()


def _made_token(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("nightly report")
    page.get_by_label("Read the audit log").check()
    page.get_by_label("Your password").fill(PASSWORD)
    _press("Make the token")(page)
    page.locator("#secret").wait_for()


def _made_key(page: Page) -> None:
    page.get_by_label("Source").fill("kiosk")
    page.get_by_label("Name", exact=True).fill("agents")
    page.get_by_label("agent_state").check()
    page.get_by_label("Reason").fill("A new kiosk")
    _press("Make the key")(page)
    page.locator("#secret").wait_for()


def _made_link(page: Page) -> None:
    page.get_by_label("Reason").fill("For the person")
    _press("Make the link")(page)
    page.locator("#secret").wait_for()


def _chosen_roles(page: Page) -> None:
    page.get_by_role("checkbox", name="Privacy").check()
    page.get_by_role("checkbox", name="Support").uncheck()
    page.get_by_label("Reason").fill("Changes desks")
    _press("Show what changes")(page)
    # Four eyes hold for erasures in the house, so that a role that approves them takes an approval itself.
    page.get_by_role("button", name="Request approval").wait_for()


STATES = (
    Sight(name="unknown address", address=_fixed("/console/nowhere/")),
    Sight(name="unknown address, signed out", who=NOBODY, address=_fixed("/nowhere")),
    Sight(name="forbidden", who=WITHOUT_ROLE, address=_at("keys")),
    Sight(name="a torn cursor", address=_at("audit", "?older=x")),
    Sight(name="spent invitation", who=NOBODY, address=_fixed("/console/invitation/spent/")),
    Sight(name="spent link for a password", who=NOBODY, address=_fixed("/console/password/MQ/a-b/")),
    Sight(name="sign-in refused", who=NOBODY, address=_at("sign_in"), act=_sent_empty("Sign in")),
    Sight(name="features as a reader", who="support", address=_at("features")),
    Sight(name="home without a role", who=WITHOUT_ROLE, address=_at("home")),
    Sight(name="no profile yet", address=_quiet("profiles")),
    Sight(name="a search that found nobody", address=_at("profiles", "?found=none")),
    Sight(name="a search that was none", address=_at("profiles", "?found=invalid")),
    Sight(name="working memory, filtered away", address=_at("profile_working_memory", "?agent=nobody")),
    Sight(name="working memory, filtered", address=_at("profile_working_memory", "?agent=order-taker")),
    Sight(name="history, filtered away", address=_at("profile_history", "?provider=nobody")),
    Sight(name="history, filtered", address=_at("profile_history", "?provider=openai.chat")),
    Sight(name="history of a profile without any", address=_held("profile_history")),
    Sight(name="assemblies, filtered", address=_at("assemblies", "?omitted=stale&trace=full")),
    Sight(name="assemblies, filtered away", address=_at("assemblies", "?conversation=nothing")),
    Sight(name="context is off, assemblies", address=_quiet("assemblies")),
    Sight(name="an assembly without a trace", address=_compared("assembly")),
    Sight(name="why an assembly has a memory", address=_why("free-slots")),
    Sight(name="why an assembly has no memory", address=_why("unread")),
    Sight(name="why an assembly has not what is not there", address=_why("nothing")),
    Sight(name="assembly why, refused", address=_at("assembly_why"), act=_sent_empty("Say why")),
    Sight(
        name="draft of the assembly policies with changes",
        address=_of_kind("assembly-policy"),
        act=_opened_policy,
    ),
    Sight(name="assemblies of a profile without any", address=_held("profile_assemblies")),
    Sight(name="no package yet", address=_quiet("packages")),
    Sight(name="packages, filtered away", address=_at("packages", "?state=failed")),
    Sight(name="package dialog", address=_at("profile"), act=_open_dialog("#package-new")),
    Sight(name="package revoke dialog", address=_at("package"), act=_open_dialog("#revoke")),
    Sight(name="package link shown once", address=_at("package_link"), act=_made_link),
    Sight(name="no key yet", address=_quiet("keys")),
    Sight(name="keys, filtered away", address=_at("keys", "?state=revoked")),
    Sight(name="masking, tried", address=_at("document"), act=_tried_masking),
    Sight(name="no type yet", address=_quiet("types")),
    Sight(name="a type with long names", address=lambda house: _at("type")(house).replace("order", "a" * 40)),
    Sight(name="nothing changed yet", address=_quiet("features")),
    Sight(name="audit, filtered", address=_at("audit", "?action=feature.*&from=2026-01-01")),
    Sight(name="audit, filtered away", address=_at("audit", "?action=nothing")),
    Sight(name="feature dialog", address=_at("features"), act=_open_dialog("#switch-agent_state")),
    Sight(name="feature dialog, off", address=_quiet("features"), act=_open_dialog("#switch-context")),
    Sight(name="feature dialog, refused", address=_at("features"), act=_refused_dialog),
    Sight(name="rotate dialog", address=_at("keys"), act=_open_dialog("[id^=rotate-]")),
    Sight(name="revoke dialog", address=_at("keys"), act=_open_dialog("[id^=revoke-]")),
    Sight(name="new key, refused", address=_at("key_new"), act=_sent_empty("Make the key")),
    Sight(name="key shown once", address=_at("key_new"), act=_made_key),
    Sight(name="token shown once", address=_at("token_new"), act=_made_token),
    Sight(name="roles, second step", address=_at("person_roles"), act=_chosen_roles),
    Sight(
        name="draft with changes",
        address=_at("types_draft"),
        act=_checked_draft(lambda text: text.replace('"30d"', '"9d"')),
    ),
    Sight(
        name="draft with problems",
        address=_at("types_draft"),
        act=_checked_draft(lambda text: text.replace('"list"', '"lists"')),
    ),
    Sight(
        name="draft of the masking with changes",
        address=_at("document_draft"),
        act=_checked_draft(
            lambda text: text.replace('"iban": "redact"', '"iban": "hash"').replace('"US"', '"PT"')
        ),
    ),
    Sight(
        name="draft of the masking with problems",
        address=_at("document_draft"),
        act=_checked_draft(lambda text: text.replace('"US"', '"XX"')),
    ),
    Sight(
        name="draft of the retention with changes",
        address=_of_kind("retention"),
        act=_checked_draft(lambda text: text.replace('"LGPD"', '"GDPR"').replace('"7y"', '"5y"')),
    ),
    Sight(name="draft without changes", address=_at("types_draft"), act=_checked_draft(lambda text: text)),
    Sight(name="erasures, late", address=_at("erasures", "?due=late")),
    Sight(name="erasures, filtered away", address=_at("erasures", "?status=failed")),
    Sight(name="no erasure yet", address=_quiet("erasures")),
    Sight(name="no erasure ended yet", address=_quiet("erasures_ended")),
    Sight(name="an erasure that waits for a hold", address=_request("waiting")),
    Sight(name="an erasure of one's own, late", address=_request("own")),
    Sight(name="an erasure with its receipt", address=_request("completed")),
    Sight(name="an erasure that was refused", address=_request("refused")),
    Sight(name="approving an erasure of one's own", address=_request("own", "approve")),
    Sight(name="extending an erasure that has ended", address=_request("completed", "extend")),
    Sight(name="approve erasure dialog", address=_request("verified"), act=_open_dialog("#approve")),
    Sight(name="refuse erasure dialog", address=_at("erasure"), act=_open_dialog("#refuse")),
    Sight(name="erase dialog", address=_at("profile"), act=_open_dialog("#erase")),
    Sight(name="hold dialog", address=_at("profile"), act=_open_dialog("#hold")),
    Sight(name="erasure of a task without states", address=_scope("task", "0" * 64)),
    Sight(name="erasure of an object", address=_scope("object")),
    Sight(
        name="erasure of a conversation, refused",
        address=_at("scope_erase"),
        act=_sent_empty("Request the erasure"),
    ),
    Sight(name="erasure of a held profile", address=_held("profile_erase")),
    Sight(name="a profile with a hold", address=_held("profile")),
    Sight(name="working memory of a profile with a hold", address=_held("profile_working_memory")),
    Sight(name="decisions, filtered away", address=_at("reservations", "?provider=nobody")),
    Sight(name="history is off, decisions", address=_quiet("reservations")),
    Sight(name="free dialog", address=_at("reservations"), act=_open_dialog("[id^=recover-]")),
    Sight(
        name="free, refused",
        address=_at("reservation_recover"),
        act=_sent_empty("Free the session"),
    ),
    Sight(name="no hold yet", address=_quiet("holds")),
    Sight(name="holds, filtered away", address=_at("holds", "?state=ended")),
    Sight(name="lift hold dialog", address=_at("holds"), act=_open_dialog("[id^=lift-]")),
    Sight(name="new hold, refused", address=_at("hold_new"), act=_sent_empty("Place the hold")),
    Sight(
        name="new erasure request, refused",
        address=_at("erasure_new"),
        act=_sent_empty("Show what would go"),
    ),
    Sight(name="usage, 30 days", address=_at("usage", "?range=30d")),
    Sight(name="usage, tables open", address=_at("usage", "?range=7d"), act=_opened_tables),
    Sight(name="nothing counted yet, usage", address=_quiet("usage")),
    Sight(name="job of an erasure", address=_job("completed")),
    Sight(name="job of an erasure that waits", address=_job("waiting")),
    Sight(name="jobs, filtered away", address=_at("jobs", "?kind=graph")),
    Sight(name="no job yet", address=_quiet("jobs")),
    Sight(name="nothing swept yet, retention", address=_quiet("retention")),
    Sight(
        name="menu of the person",
        address=_at("home"),
        act=lambda page: page.locator("details.menu").last.locator("summary").click(),
    ),
    Sight(
        name="menu of workspaces",
        address=_at("home"),
        act=lambda page: page.locator(".switcher summary").click(),
    ),
)
