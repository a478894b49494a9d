"""Signed documents: by a key that rotates, verified offline, and broken by any alteration (PR-20b)."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from tests.api import InProcess
from tests.parallel import at_once, raised
from workspaces import signing
from workspaces.errors import NotSigned
from workspaces.models import DeploymentAuditEntry, SigningKey

DOCUMENT: dict[str, Any] = {
    "kind": "test",
    "text": "ação 日本 \U0001f600",
    "n": 7,
    "tenth": 0.1,
    "deep": [{"a": None, "b": True}],
}


def keys() -> list[str]:
    return [key.public_key for key in signing.public_keys()]


def test_a_signed_document_verifies_after_a_round_trip(db: None) -> None:
    """PR-20b: a document verifies with the public key alone, however its JSON was written meanwhile."""
    signed = signing.sign(DOCUMENT)
    assert signed.keys() - DOCUMENT.keys() == {"key_id", "signature"}
    signing.verify(json.loads(json.dumps(signed, indent=3, sort_keys=True)), keys())


ALTERED: dict[str, dict[str, Any]] = {
    "a value": {"n": 8},
    "a type": {"n": "7"},
    "an inner value": {"deep": [{"a": 0, "b": True}]},
    "a new member": {"more": 1},
    "the key": {"key_id": "0" * 32},
    "the signature": {"signature": "A" * 86 + "=="},
    "a signature that is none": {"signature": "?"},
    "no signature": {"signature": None},
    "what has no canonical form": {"n": 2**60},
}


@pytest.mark.parametrize("change", ALTERED.values(), ids=ALTERED.keys())
def test_any_alteration_is_refused(db: None, change: dict[str, Any]) -> None:
    """PR-20b: whatever is altered, added or taken away, the signature does not hold."""
    with pytest.raises(NotSigned):
        signing.verify(signing.sign(DOCUMENT) | change, keys())


def test_a_member_that_is_gone_is_refused(db: None) -> None:
    """PR-20b: each member is under the signature."""
    signed = signing.sign(DOCUMENT)
    for name in signed:
        with pytest.raises(NotSigned):
            signing.verify({key: value for key, value in signed.items() if key != name}, keys())


def test_another_key_does_not_verify(db: None) -> None:
    """PR-20b: only the key that signed verifies, and without any key nothing does."""
    signed = signing.sign(DOCUMENT)
    other = signing.rotate(now=timezone.now()).key
    for given in ([], [other.public_key]):
        with pytest.raises(NotSigned, match="not among"):
            signing.verify(signed, given)
    signing.verify(signed, keys())


def test_the_secret_is_sealed(db: None) -> None:
    """PR-20b: the stored secret is no Ed25519 key but a ciphertext, bound to the key's own id."""
    signing.sign(DOCUMENT)
    row = SigningKey.objects.get(retired_at=None)
    assert len(row.wrapped) == 12 + 32 + 16
    SigningKey.objects.filter(id=row.id).update(id="f" * 32)
    with pytest.raises(Exception, match="damaged"):
        signing.sign(DOCUMENT)


def test_rotation_keeps_what_was_signed(db: None) -> None:
    """PR-20b: a rotated key signs no more and still verifies; the rotation stands in the deployment's audit."""
    before = signing.sign(DOCUMENT)
    out = StringIO()
    call_command("rotate_signing_key", stdout=out)
    after = signing.sign(DOCUMENT)
    assert before["key_id"] != after["key_id"]
    assert out.getvalue().split()[0] == after["key_id"]
    for signed in (before, after):
        signing.verify(signed, keys())
    validity = {key.id: key.valid_to for key in signing.public_keys()}
    assert validity[after["key_id"]] is None
    assert validity[before["key_id"]] is not None
    entry = DeploymentAuditEntry.objects.latest("seq")
    assert (entry.act, entry.object_id) == ("signing_key.rotate", after["key_id"])


def test_two_keys_never_sign_at_once(db: None) -> None:
    """PR-20b: the database refuses a second key that is not retired."""
    signing.sign(DOCUMENT)
    with pytest.raises(IntegrityError), transaction.atomic():
        SigningKey.objects.create(
            id="0" * 32, public_key=bytes(32), wrapped=bytes(60), created_at=timezone.now()
        )


def test_processes_that_begin_at_once_make_one_key(committed: None) -> None:
    """PR-20b: eight processes that sign at once sign with one key, also while another rotates it."""
    SigningKey.objects.all().delete()

    def act(number: int) -> str:
        signed = signing.sign(DOCUMENT)
        if number == 0:
            signing.rotate(now=timezone.now())
        connection.close()
        return str(signed["key_id"])

    found = at_once(8, act)
    assert not raised(found)
    assert SigningKey.objects.filter(retired_at=None).count() == 1
    assert set(found) <= {key.id for key in signing.public_keys()}


def test_every_caller_may_read_the_public_keys(agent: InProcess) -> None:
    """PR-20b: the route lists retired keys too, with validity, and never a secret."""
    signing.sign(DOCUMENT)
    signing.rotate(now=timezone.now())
    answer = agent.get("/v1/signing-keys")
    assert answer.status == 200
    items = answer.body["items"]
    assert [item["public_key"] for item in items] == keys()
    assert [item["valid_to"] is None for item in items] == [False] * (len(items) - 1) + [True]
    assert {name for item in items for name in item} == {
        "id",
        "algorithm",
        "public_key",
        "valid_from",
        "valid_to",
    }
    assert Client().get("/v1/signing-keys").status_code == 401
