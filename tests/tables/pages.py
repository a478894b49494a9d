"""The forms of the console: what each takes, and what it refuses at which field.

`{...}` is filled from the house of tests/console/house.py; one test sends each refused form, sees its error beside the
field, and sends it again with that one thing mended.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tests.factories import PASSWORD

Fields = Mapping[str, Any]
LONG = "x" * 600


class Refused(msgspec.Struct, frozen=True):
    """One thing that is wrong with a form, and the field beside which the page says so."""

    why: str
    change: Fields
    field: str


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """A form of a page: who may send it, what is good, what follows, and what is refused."""

    page: str
    who: str
    good: Fields
    ok: int
    refused: tuple[Refused, ...]


NO_REASON = Refused("no reason is given", {"reason": " "}, "reason")
LONG_REASON = Refused("the reason is a story", {"reason": LONG}, "reason")

BAD_ENDS = (
    Refused("no end", {"ends_at": ""}, "ends_at"),
    Refused("the end has passed", {"ends_at": "2020-01-01"}, "ends_at"),
    Refused("the end is too far away", {"ends_at": "2199-12-31"}, "ends_at"),
    Refused("the end is beyond all calendars", {"ends_at": "9999-12-31"}, "ends_at"),
    Refused("the end is no day", {"ends_at": "soon"}, "ends_at"),
)

FORMS: tuple[Form, ...] = (
    Form(
        page="feature_change",
        who="security",
        good={"version": "{features_version}", "reason": "Go-live"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="profile_erase",
        who="privacy",
        good={"typed": "{pseudonym}", "verified": "on", "reason": "Asked by letter"},
        ok=303,
        refused=(
            Refused("another pseudonym", {"typed": "p_00000000000000000000"}, "typed"),
            Refused("nothing is typed", {"typed": ""}, "typed"),
            NO_REASON,
            LONG_REASON,
        ),
    ),
    Form(
        page="assembly_why",
        who="engineer",
        good={"type": "tool_memory", "id": "free-slots.ticket-4711"},
        ok=303,
        refused=(
            Refused("an id with a space", {"id": "free slots"}, "id"),
            Refused("an address", {"id": "ana@example.com"}, "id"),
            Refused("no id", {"id": ""}, "id"),
            Refused("a NUL", {"id": "a\x00b"}, "id"),
            Refused("an id that is too long", {"id": "x" * 65}, "id"),
            Refused("what no model is shown", {"type": "participant"}, "type"),
        ),
    ),
    Form(
        page="profile_hold",
        who="privacy",
        good={"ends_at": "2040-12-31", "reason": "Case 117"},
        ok=303,
        refused=(*BAD_ENDS, NO_REASON, LONG_REASON),
    ),
    Form(
        page="erasure_new",
        who="privacy",
        good={"kind": "", "handle": "+55 11 98765-0123", "namespace": "", "what": "handle"},
        ok=303,
        refused=(
            Refused("nobody has it", {"handle": "+55 11 90000-0000"}, "handle"),
            Refused("no handle", {"handle": ""}, "handle"),
            Refused("a NUL", {"handle": "a\x00b"}, "handle"),
            Refused("a handle of another kind", {"kind": "email"}, "handle"),
            Refused("a person by the pseudonym, for one handle", {"handle": "{pseudonym}"}, "handle"),
            Refused("a kind that does not exist", {"kind": "fax"}, "kind"),
            Refused("none of these", {"what": "everything"}, "what"),
            Refused("an object without a namespace", {"what": "object", "handle": "cart"}, "handle"),
        ),
    ),
    Form(
        page="scope_erase",
        who="privacy",
        good={"typed": "{scope_id}", "verified": "on", "reason": "Asked by letter"},
        ok=303,
        refused=(
            Refused("another id", {"typed": "c-another"}, "typed"),
            Refused("nothing is typed", {"typed": ""}, "typed"),
            Refused("a NUL", {"typed": "a\x00b"}, "typed"),
            NO_REASON,
            LONG_REASON,
        ),
    ),
    Form(
        page="erasure_verify",
        who="privacy",
        good={"reason": "Seen the passport"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="erasure_approve",
        who="privacy",
        good={"reason": "Nothing stands against it"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="erasure_refuse",
        who="privacy",
        good={"refusal": "identity_not_verified", "reason": "No answer to two letters"},
        ok=303,
        refused=(
            Refused("no word for it", {"refusal": ""}, "refusal"),
            Refused("a word of one's own", {"refusal": "because"}, "refusal"),
            NO_REASON,
            LONG_REASON,
        ),
    ),
    Form(
        page="erasure_extend",
        who="privacy",
        good={"reason": "Four systems to look through"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="hold_new",
        who="privacy",
        good={"target": "conversation", "named": "c-1", "ends_at": "2040-12-31", "reason": "Case 117"},
        ok=303,
        refused=(
            Refused("nothing is named", {"named": ""}, "named"),
            Refused("nobody has it", {"target": "profile", "named": "+55 11 90000-0000"}, "named"),
            Refused("holds are on nothing else", {"target": "object"}, "target"),
            *BAD_ENDS,
            NO_REASON,
            LONG_REASON,
        ),
    ),
    Form(
        page="hold_lift",
        who="privacy",
        good={"reason": "Case closed"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="reservation_recover",
        who="engineer",
        good={"reservation": "{reservation}", "stopped": "on", "reason": "Its pod was evicted"},
        ok=303,
        refused=(
            Refused("the worker may run", {"stopped": ""}, "stopped"),
            NO_REASON,
            LONG_REASON,
        ),
    ),
    Form(
        page="types_draft",
        who="security",
        good={
            "document": "{types}",
            "drop": "",
            "version": "{types_version}",
            "reason": "No longer used",
            "act": "check",
        },
        ok=200,
        refused=(
            Refused("it is no JSON", {"document": '{"types": ['}, "document"),
            Refused("a member stands twice", {"document": '{"types": [], "types": []}'}, "document"),
            Refused("nothing is in it", {"document": ""}, "document"),
            LONG_REASON,
        ),
    ),
    Form(
        page="document_draft",
        who="security",
        good={
            "document": "{masking}",
            "version": "{masking_version}",
            "reason": "A new country",
            "act": "check",
        },
        ok=200,
        refused=(
            Refused("it is no JSON", {"document": '{"regions": ['}, "document"),
            Refused("a member stands twice", {"document": '{"regions": [], "regions": []}'}, "document"),
            Refused("nothing is in it", {"document": ""}, "document"),
            LONG_REASON,
        ),
    ),
    Form(
        page="approval_act",
        who="security",
        good={"seen": "{seen}", "reason": "Not before the holidays"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="four_eyes",
        who="owner",
        good={"version": "{four_eyes_version}", "kinds": ["masking", "erasure"], "reason": "A new rule"},
        ok=303,
        refused=(
            Refused("a kind that does not exist", {"kinds": ["masking", "everything"]}, "kinds"),
            NO_REASON,
            LONG_REASON,
        ),
    ),
    Form(
        page="masking_preview",
        who="auditor",
        good={"value": "ana@example.com", "declared": "email"},
        ok=200,
        refused=(
            Refused("a kind that does not exist", {"declared": "shoe_size"}, "declared"),
            Refused("the value is a story", {"value": "x" * 2001}, "value"),
        ),
    ),
    Form(
        page="key_new",
        who="security",
        good={
            "source": "kiosk",
            "name": "agents",
            "scopes": ["agent_state"],
            "agents": "order-taker\n\n closing ",
            "networks": "10.0.0.0/8\n2001:db8::/32",
            "expires": 90,
            "reason": "A new kiosk",
        },
        ok=200,
        refused=(
            Refused("no source", {"source": ""}, "source"),
            Refused("the name is too long", {"name": "x" * 121}, "name"),
            Refused("no scope", {"scopes": []}, "scopes"),
            Refused("a scope that does not exist", {"scopes": ["everything"]}, "scopes"),
            Refused("a network that is none", {"networks": "10.0.0.0/8\n10.0.0.300"}, "networks"),
            Refused("it would never live", {"expires": 0}, "expires"),
            Refused("it would live too long", {"expires": 731}, "expires"),
            NO_REASON,
        ),
    ),
    Form(
        page="key_rotate",
        who="security",
        good={"overlap": 24, "reason": "Routine"},
        ok=200,
        refused=(
            Refused("no overlap is said", {"overlap": ""}, "overlap"),
            Refused("the overlap is a year", {"overlap": 24 * 365}, "overlap"),
            Refused("the overlap is in the past", {"overlap": -1}, "overlap"),
            NO_REASON,
        ),
    ),
    Form(
        page="key_revoke",
        who="security",
        good={"name": "of the house", "reason": "Leaked"},
        ok=303,
        refused=(
            Refused("the name of another key", {"name": "of the houses"}, "name"),
            Refused("no name", {"name": ""}, "name"),
            NO_REASON,
        ),
    ),
    Form(
        page="package_new",
        who="privacy",
        good={"reason": "Request 42"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="package_link",
        who="privacy",
        good={"reason": "For the person"},
        ok=200,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="package_revoke",
        who="privacy",
        good={"reason": "Built by mistake"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="invite",
        who="owner",
        good={"email": "new@example.com", "roles": ["support"], "reason": "A new colleague"},
        ok=303,
        refused=(
            Refused("no address", {"email": "new"}, "email"),
            Refused("a member already", {"email": "{member_email}"}, "email"),
            Refused("oneself", {"email": "{owner_email}"}, "email"),
            Refused("no role", {"roles": []}, "roles"),
            Refused("a role that does not exist", {"roles": ["root"]}, "roles"),
            NO_REASON,
        ),
    ),
    Form(
        page="invitation_withdraw",
        who="owner",
        good={"reason": "Sent to the wrong address"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="person_roles",
        who="owner",
        good={"roles": ["support", "privacy"], "reason": "Also privacy", "step": "choose"},
        ok=200,
        refused=(
            Refused("nothing changes", {"roles": ["support"]}, "roles"),
            Refused("a role that does not exist", {"roles": ["root"]}, "roles"),
            NO_REASON,
        ),
    ),
    Form(
        page="person_second_factor",
        who="owner",
        good={"reason": "Lost the phone"},
        ok=303,
        refused=(NO_REASON, LONG_REASON),
    ),
    Form(
        page="token_new",
        who="security",
        good={"name": "script", "permissions": ["view_audit"], "expires": 30, "password": PASSWORD},
        ok=200,
        refused=(
            Refused("no name", {"name": ""}, "name"),
            Refused("no permission", {"permissions": []}, "permissions"),
            Refused("a permission that the person lacks", {"permissions": ["place_hold"]}, "permissions"),
            Refused("it would live too long", {"expires": 91}, "expires"),
            Refused("another password", {"password": PASSWORD + "!"}, "password"),
        ),
    ),
    Form(
        page="me",
        who="support",
        good={"name": "Sofia Lima", "time_zone": "America/Sao_Paulo"},
        ok=303,
        refused=(
            Refused("no name", {"name": ""}, "name"),
            Refused("a zone that does not exist", {"time_zone": "America/Atlantis"}, "time_zone"),
        ),
    ),
    Form(
        page="sign_in",
        who="signed out",
        good={"username": "{member_email}", "password": PASSWORD},
        ok=303,
        refused=(
            Refused("no address", {"username": "support"}, "username"),
            Refused("no password", {"password": ""}, "password"),
        ),
    ),
    Form(
        page="invitation",
        who="signed out",
        good={
            "name": "Inga",
            "password1": "a long and quiet sentence",
            "password2": "a long and quiet sentence",
        },
        ok=303,
        refused=(
            Refused("no name", {"name": ""}, "name"),
            Refused("a short password", {"password1": "short", "password2": "short"}, "password1"),
            Refused(
                "one that all use", {"password1": "password1234", "password2": "password1234"}, "password1"
            ),
            Refused("two passwords", {"password2": "a long and loud sentence"}, "password2"),
        ),
    ),
    Form(
        page="password_reset",
        who="signed out",
        good={"email": "anybody@example.com"},
        ok=302,
        refused=(Refused("no address", {"email": "anybody"}, "email"),),
    ),
)


def refused_forms() -> Iterator[tuple[str, Form, Refused]]:
    """List each refused form with a title."""
    for form in FORMS:
        for refused in form.refused:
            yield f"{form.page}: {refused.why}", form, refused
