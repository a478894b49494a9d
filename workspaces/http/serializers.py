"""Shapes that more than one app has on the wire."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from workspaces.errors import InvalidInput
from workspaces.rules import handles
from workspaces.types import FieldProblem

# For texts that are kept in clear: line breaks and tabs, but no other control character, since no text of the
# database holds a NUL.
PRINTABLE = r"^(?![\s\S]*[\x00-\x08\x0b\x0c\x0e-\x1f\x7f])"

HandleType = Literal[
    "phone_e164",
    "wa_id",
    "wa_jid",
    "wa_lid",
    "wa_bsuid",
    "email",
    "gov_id_hmac",
    "app_user_id",
    "system_id",
    "org_registry_hmac",
    "email_domain",
    "anon_id",
]


class HandleShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A handle: its type, its value in any spelling, and for some types a namespace (`scope`)."""

    type: HandleType
    value: Annotated[
        str,
        Meta(min_length=1, max_length=320, description="The identifier; it is kept only as a keyed hash."),
    ]
    scope: Annotated[
        Annotated[str, Meta(min_length=1, max_length=256)] | None,
        Meta(description="The namespace, for the types that have one: a country, a system, a business."),
    ] = None
    subject_kind: Annotated[
        Annotated[str, Meta(max_length=64)] | None, Meta(description="Accepted and not kept.")
    ] = None


def handle_value(shape: HandleShape, pointer: str) -> handles.Handle:
    """Bring a handle to its canonical form, or refuse it with pointers below `pointer`."""
    try:
        return handles.canonical(shape.type, shape.value, shape.scope or "")
    except InvalidInput as error:
        moved = tuple(
            FieldProblem(pointer + problem.pointer, problem.code, problem.detail) for problem in error.errors
        )
        raise InvalidInput(errors=moved) from error
