"""Keys of sources and tokens of people: their text, their life, their end (PL-3)."""

import hashlib
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from tests import factories
from tests.api import InProcess, OverHttp
from tests.stores import forget_hot_store
from tests.workspaces.cast import row_id, with_secret_of
from workspaces import access, deployment, encryption, grants, selectors
from workspaces.errors import InvalidInput, NotFound, Unauthenticated
from workspaces.models import ApiKey, AuditEntry, Source
from workspaces.rules.credentials import PERSONAL_TOKEN, SOURCE_KEY, KeyText, key_text, parse_key
from workspaces.services import credentials
from workspaces.types import Key, Origin, WorkspaceRef

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
entropy = st.tuples(st.binary(min_size=10, max_size=10), st.binary(min_size=32, max_size=32))


@given(entropy, st.sampled_from([SOURCE_KEY, PERSONAL_TOKEN]))
def test_the_text_of_a_key_says_what_it_is_made_of(randomness: tuple[bytes, bytes], prefix: str) -> None:
    """PL-3: prefix, key id, secret and checksum stand in the text, and are read back."""
    parts, text = key_text(prefix, key_id_entropy=randomness[0], secret=randomness[1])
    assert text.startswith(f"{prefix}_{parts.key_id}_")
    assert len(text) == 4 + 12 + 1 + 43 + 6
    assert parse_key(text) == parts


def test_the_secret_keeps_all_of_its_256_bits() -> None:
    """PL-3: two secrets that differ in any bit have different texts."""
    assert 43 * math.log2(62) >= 256
    texts = {
        key_text(SOURCE_KEY, key_id_entropy=bytes(10), secret=(1 << bit).to_bytes(32))[1]
        for bit in range(256)
    }
    assert len(texts) == 256


@given(entropy, st.integers(0, 65), st.sampled_from(BASE62))
def test_a_mistyped_key_is_known_by_its_checksum(
    randomness: tuple[bytes, bytes], place: int, character: str
) -> None:
    """PL-3: a key with any one character changed is none, before any store is asked."""
    _, text = key_text(SOURCE_KEY, key_id_entropy=randomness[0], secret=randomness[1])
    mistyped = text[:place] + character + text[place + 1 :]
    assert (parse_key(mistyped) is None) == (mistyped != text)


@pytest.mark.parametrize(
    "text", ["", "lst_", "lst", "secret", "lsx_" + "a" * 62, "lst_" + "a" * 500, "lst_é" + "a" * 61, "\x00"]
)
def test_what_is_no_key_is_none(text: str) -> None:
    """PL-3: a text of another form is none."""
    assert parse_key(text) is None
    assert parse_key(text + "\n") is None


def test_no_secret_is_shown_by_accident() -> None:
    """PL-3, WM-24: what carries a secret does not tell it when it is printed or logged."""
    parts, text = key_text(SOURCE_KEY, key_id_entropy=bytes(10), secret=bytes(range(32)))
    for value in (parts, credentials.Made(UUID(int=1), text)):
        assert parts.secret not in f"{value} {value!r} {[value]}"


def made_key(workspace: WorkspaceRef, **wish: Any) -> tuple[ApiKey, str]:
    text = factories.make_key(workspace, **wish)
    with access.bound(workspace.id):
        return ApiKey.objects.get(id=row_id(text)), text


def refresh(key: ApiKey) -> None:
    workspace_id: Any = key.workspace_id
    with access.bound(workspace_id):
        key.refresh()


def test_a_key_is_stored_as_a_keyed_hash(aurora: WorkspaceRef) -> None:
    """PL-3: the row holds the key id and an HMAC-SHA-256 of the secret: not the secret, and no plain hash of it."""
    key, text = made_key(aurora)
    parts = parse_key(text)
    assert parts is not None
    assert (key.key_id, bytes(key.secret_hash)) == (
        parts.key_id,
        selectors.credentials.secret_hash(parts, key.secret_generation),
    )
    with access.bound(aurora.id), connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM workspaces_apikey t WHERE key_id = %s", [key.key_id])
        row = cursor.fetchone()[0]
    assert parts.key_id in row
    plain = [hashlib.sha256(secret.encode()).hexdigest() for secret in (parts.secret, text)]
    assert not [found for found in (parts.secret, parts.secret[:20], *plain) if found in row]


def test_the_hash_of_a_secret_needs_the_deployments_key(aurora: WorkspaceRef) -> None:
    """PL-3, PL-12: two deployments hash one secret differently, so that a stolen table verifies no guess."""
    parts = parse_key(factories.make_key(aurora))
    assert parts is not None
    ours = selectors.credentials.secret_hash(parts, deployment.generation())
    (key, *_), until = encryption._unwrapped[deployment.HASH_KEY]
    other = Key(id=key.id, secret=bytes(32))
    encryption._unwrapped[deployment.HASH_KEY] = ([other], until)
    assert selectors.credentials.secret_hash(parts, deployment.generation()) != ours


def test_the_text_of_a_key_is_in_the_answer_only(aurora: WorkspaceRef) -> None:
    """PL-3, PR-21: no list, no log entry and no audit entry gives a key a second time."""
    key, text = made_key(aurora)
    parts = parse_key(text)
    assert parts is not None
    with access.bound(aurora.id):
        listed = [vars(found) for found in selectors.credentials.api_keys()]
        entries = [vars(entry) for entry in AuditEntry.objects.all()]
    assert listed
    assert parts.secret not in f"{listed}{entries}"
    assert [entry["act"] for entry in entries if entry["object_id"] == str(key.id)] == ["key.create"]


BAD_WISHES: list[tuple[str, dict[str, Any], str]] = [
    ("no scope", {"scopes": ()}, "/scopes"),
    ("an unknown scope", {"scopes": ("agent_state", "everything")}, "/scopes"),
    ("a permission is no scope", {"scopes": ("manage_keys",)}, "/scopes"),
    ("a network that is none", {"networks": ("10.0.0.0/33",)}, "/networks"),
    ("a host inside a network", {"networks": ("10.0.0.1/8",)}, "/networks"),
    ("a name", {"networks": ("office.example.com",)}, "/networks"),
    ("an end that is past", {"expires_at": factories.LATELY - timedelta(days=3650)}, "/expires_at"),
]


@pytest.mark.parametrize(("why", "wish", "pointer"), BAD_WISHES, ids=[row[0] for row in BAD_WISHES])
def test_a_key_that_cannot_be(aurora: WorkspaceRef, why: str, wish: dict[str, Any], pointer: str) -> None:
    """PL-3: unknown scopes and networks are refused with their place, and nothing is made."""
    parts = {"source": "new one", "name": "n", "scopes": ("agent_state",), **wish}
    with access.bound(aurora.id):
        before = ApiKey.objects.count(), AuditEntry.objects.count()
        with pytest.raises(InvalidInput) as refused:
            credentials.make_api_key(
                wish=credentials.KeyWish(**parts), maker=None, actor=factories.SYSTEM, now=timezone.now()
            )
        assert [problem.pointer for problem in refused.value.errors] == [pointer]
        assert (ApiKey.objects.count(), AuditEntry.objects.count()) == before
        assert not Source.objects.filter(name="new one").exists()


def works(text: str, path: str = "/v1/sources/me", **defaults: str) -> int:
    api = InProcess(text)
    api._client.defaults.update(defaults)
    return api.get(path).status


def test_keys_of_one_source_share_it(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-3: a source is made once by its name, in its own workspace."""
    keys = [made_key(workspace, source="voice bot")[0] for workspace in (aurora, aurora, boreal)]
    assert keys[0].source_id == keys[1].source_id != keys[2].source_id


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("10.1.2.3", 200),
        ("::ffff:10.1.2.3", 200),
        ("2001:db8::1", 200),
        ("2001:DB8:0::1", 200),
        ("11.1.2.3", 403),
        ("::1", 403),
        ("::ffff:11.1.2.3", 403),
        ("", 403),
        ("unix:", 403),
    ],
)
def test_a_key_works_in_its_networks_only(aurora: WorkspaceRef, address: str, status: int) -> None:
    """PL-3: a key with networks is refused from elsewhere, and where the address is not known."""
    text = factories.make_key(aurora, networks=("10.0.0.0/8", "2001:db8::/32"))
    assert works(text, REMOTE_ADDR=address) == status
    assert works(factories.make_key(aurora), REMOTE_ADDR=address) == 200


def test_a_key_ends_at_its_expiry(aurora: WorkspaceRef) -> None:
    """PL-3: a key works until the moment it expires."""
    key, text = made_key(aurora, expires_at=timezone.now() + timedelta(days=1))
    assert key.expires_at is not None
    for now, is_live in ((key.expires_at - timedelta(microseconds=1), True), (key.expires_at, False)):
        assert key.is_live(now) is is_live
        if is_live:
            assert selectors.credentials.caller_of(text, origin=Origin(), now=now).credential_id == key.id
        else:
            with pytest.raises(Unauthenticated):
                selectors.credentials.caller_of(text, origin=Origin(), now=now)


def revoke(workspace: WorkspaceRef, text: str, *, reason: str = "It was lost") -> None:
    with access.bound(workspace.id):
        credentials.revoke_api_key(
            key_id=row_id(text), reason=reason, actor=factories.SYSTEM, now=timezone.now()
        )


def test_a_revoked_key_stops_at_once(aurora: WorkspaceRef) -> None:
    """PL-3: revocation holds from the next request on; revoking again changes nothing of when."""
    key, text = made_key(aurora)
    assert works(text) == 200
    revoke(aurora, text)
    assert works(text) == 401
    refresh(key)
    first = key.revoked_at
    revoke(aurora, text)
    refresh(key)
    assert key.revoked_at == first is not None


def test_revocation_bites_on_every_process(committed: None, over_http: Callable[..., OverHttp]) -> None:
    """PL-3: on a server with two workers, a key that both know is dead on both within one second."""
    workspace = factories.make_ready_workspace()
    api = over_http(workspace, "agent_state")
    text = api.http.headers["Authorization"].removeprefix("Bearer ")
    fresh = [OverHttp(str(api.http.base_url), text) for _ in range(12)]
    assert {client.get("/v1/sources/me").status for client in fresh} == {200}
    revoke(workspace, text)
    assert {OverHttp(str(api.http.base_url), text).get("/v1/sources/me").status for _ in range(12)} == {401}
    assert {client.get("/v1/sources/me").status for client in fresh} == {401}


def rotate(workspace: WorkspaceRef, text: str, *, overlap: timedelta, now: datetime | None = None) -> str:
    with access.bound(workspace.id):
        return credentials.rotate_api_key(
            key_id=row_id(text),
            overlap=overlap,
            maker=None,
            actor=factories.SYSTEM,
            now=now or timezone.now(),
        ).text


def test_a_rotated_key_and_its_successor_overlap(aurora: WorkspaceRef) -> None:
    """PL-3: both work during the overlap, then only the new one, which has the same rights and a life as long."""
    now = timezone.now()
    wish = {"agents": ("order-taker",), "networks": ("127.0.0.0/8",), "resend": True}
    old, text = made_key(aurora, expires_at=now + timedelta(days=30), **wish)
    fresh = rotate(aurora, text, overlap=timedelta(hours=2), now=now)
    assert works(text) == works(fresh) == 200
    with access.bound(aurora.id):
        new = ApiKey.objects.get(id=row_id(fresh))
    refresh(old)
    assert old.expires_at == now + timedelta(hours=2)
    assert not old.is_live(old.expires_at)
    assert (new.scopes, new.agents, new.networks, new.resend, new.source_id, new.name) == (
        old.scopes,
        old.agents,
        old.networks,
        old.resend,
        old.source_id,
        old.name,
    )
    assert new.replaces_id == old.id
    assert new.expires_at is not None
    assert abs(new.expires_at - now - timedelta(days=30)) < timedelta(minutes=1)
    parts = parse_key(text), parse_key(fresh)
    assert parts[0] is not None
    assert parts[1] is not None
    assert parts[0].secret != parts[1].secret


def test_an_overlap_never_makes_a_key_live_longer(aurora: WorkspaceRef) -> None:
    """PL-3: a key that ends before the overlap does still ends then; one without an end gets one."""
    now = timezone.now()
    short, text = made_key(aurora, expires_at=now + timedelta(hours=1))
    rotate(aurora, text, overlap=timedelta(days=1), now=now)
    endless, other = made_key(aurora)
    fresh = rotate(aurora, other, overlap=timedelta(0), now=now)
    assert works(other) == 401
    assert works(fresh) == 200
    refresh(short)
    refresh(endless)
    assert (short.expires_at, endless.expires_at) == (now + timedelta(hours=1), now)
    with access.bound(aurora.id):
        assert ApiKey.objects.get(id=row_id(fresh)).expires_at is None


def test_a_dead_key_is_not_rotated_back_to_life(aurora: WorkspaceRef) -> None:
    """PL-3: rotation gives no successor to a key that is revoked or has expired."""
    _, revoked = made_key(aurora)
    revoke(aurora, revoked)
    key, expired = made_key(aurora)
    with access.bound(aurora.id):
        ApiKey.objects.filter(id=key.id).update(expires_at=timezone.now())
    for text in (revoked, expired):
        with pytest.raises(NotFound):
            rotate(aurora, text, overlap=timedelta(hours=1))


def test_the_last_use_is_kept_as_a_day_and_written_once_a_day(aurora: WorkspaceRef) -> None:
    """PL-3: a key knows the day of its last use, for one write a day."""
    key, text = made_key(aurora)
    assert key.last_used_on is None
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            works(text)
        counts.append(sum('UPDATE "workspaces_apikey"' in query["sql"] for query in queries))
    refresh(key)
    assert counts == [1, 0]
    assert key.last_used_on == timezone.now().date()
    with access.bound(aurora.id):
        ApiKey.objects.update(last_used_on=date(2020, 1, 1))
    credentials.forget_noted_uses()
    works(text)
    refresh(key)
    assert key.last_used_on == timezone.now().date()


def test_a_wrong_key_costs_no_more_than_a_right_one(
    aurora: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-3: a wrong secret and an unknown id take one look and one hash, like a right one that nobody remembers."""
    right, other = factories.make_key(aurora), factories.make_key(aurora)
    unknown = key_text(SOURCE_KEY, key_id_entropy=b"z" * 10, secret=bytes(32))[1]
    works(right)  # which notes its use
    hashed: list[str] = []
    plain = selectors.credentials.secret_hash

    def counted(parts: KeyText, generation: int) -> bytes:
        hashed.append(parts.key_id)
        return plain(parts, generation)

    monkeypatch.setattr(selectors.credentials, "secret_hash", counted)
    costs = {}
    for name, text in {"right": right, "wrong": with_secret_of(right, other), "unknown": unknown}.items():
        hashed.clear()
        forget_hot_store()
        grants.forget()
        with CaptureQueriesContext(connection) as queries:
            works(text)
        costs[name] = sum("lastro_api_key" in query["sql"] for query in queries), len(hashed)
        assert name == "right" or len(queries) == 1
    assert costs["right"] == costs["wrong"] == costs["unknown"] == (1, 1)


def test_a_wrong_secret_of_a_known_key_asks_no_database(aurora: WorkspaceRef) -> None:
    """PL-3, WM-19: what the hot store knows of a key is enough to refuse it."""
    right, other = factories.make_key(aurora), factories.make_key(aurora)
    assert works(right) == 200
    with CaptureQueriesContext(connection) as queries:
        assert works(with_secret_of(right, other)) == 401
    assert len(queries) == 0


def test_a_mistyped_key_asks_no_store(aurora: WorkspaceRef) -> None:
    """PL-3: a wrong checksum is refused without a query."""
    text = factories.make_key(aurora)
    with CaptureQueriesContext(connection) as queries:
        assert works(text[:-1] + ("a" if text[-1] != "a" else "b")) == 401
    assert len(queries) == 0


HEADERS = [
    ("nothing", None, 401),
    ("another scheme", "Basic {key}", 401),
    ("no scheme", "{key}", 401),
    ("only a scheme", "Bearer", 401),
    ("an empty key", "Bearer ", 401),
    ("two keys", "Bearer {key} {key}", 401),
    ("quotes", 'Bearer "{key}"', 401),
    ("not ASCII", "Bearer ключ", 401),
    ("another case", "bEARER {key}", 200),
    ("spaces around", "Bearer   {key} ", 200),
]


@pytest.mark.parametrize(("why", "header", "status"), HEADERS, ids=[row[0] for row in HEADERS])
def test_the_authorization_header(aurora: WorkspaceRef, why: str, header: str | None, status: int) -> None:
    """PL-3: the key comes as `Authorization: Bearer`, the scheme in any case (RFC 9110)."""
    headers = {"Authorization": header.format(key=factories.make_key(aurora))} if header else {}
    answer = InProcess(None).get("/v1/sources/me", **headers)
    assert answer.status == status
    assert status == 200 or answer.headers["www-authenticate"] == "Bearer"


def test_a_key_in_the_address_or_a_cookie_opens_nothing(aurora: WorkspaceRef) -> None:
    """PL-10: a key counts in its header alone, so that no log of addresses holds one."""
    key = factories.make_key(aurora)
    api = InProcess(None)
    assert api.get(f"/v1/sources/me?key={key}&access_token={key}").status == 401
    assert api.get("/v1/sources/me", Cookie=f"key={key}").status == 401


def created(*arguments: str) -> str:
    out = StringIO()
    call_command("create_key", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_a_key_that_works(aurora: WorkspaceRef) -> None:
    """PL-3: `create_key` prints the key, and nothing else, so that a script can keep it."""
    text = created(
        aurora.slug, "--source", "voice bot", "--scopes", "agent_state", "admin", "--agents", "a", "b"
    )
    assert text == text.strip() + "\n"
    answer = InProcess(text.strip()).get("/v1/sources/me")
    assert (answer.status, answer.body["scopes"]) == (200, ["admin", "agent_state"])
    with access.bound(aurora.id):
        key = ApiKey.objects.select_related("source").get(id=row_id(text.strip()))
    assert (key.agents, key.resend, key.source.name) == (["a", "b"], False, "voice bot")
    assert key.expires_at is not None
    assert key.expires_at - key.created_at == timedelta(days=90)


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-workspace", "--source", "s", "--scopes", "agent_state"),
        ("{slug}", "--source", "s", "--scopes", "everything"),
        ("{slug}", "--source", "s"),
        ("{slug}", "--scopes", "agent_state"),
        ("{slug}", "--source", "s", "--scopes", "agent_state", "--days", "many"),
        ("{slug}", "--source", "s", "--scopes", "agent_state", "--days", "0"),
    ],
    ids=["workspace", "scope", "no scope", "no source", "days", "no day"],
)
def test_the_command_refuses_in_one_sentence(aurora: WorkspaceRef, arguments: tuple[str, ...]) -> None:
    """PL-3: what cannot be made is refused without a traceback, and nothing is made."""
    with pytest.raises(CommandError):
        created(*(argument.format(slug=aurora.slug) for argument in arguments))
    with access.bound(aurora.id):
        assert not ApiKey.objects.exists()


def test_the_expiry_is_in_utc(aurora: WorkspaceRef) -> None:
    """PL-10: times are kept in UTC, whatever zone they came in."""
    key, _ = made_key(aurora, expires_at=datetime.fromisoformat("2030-01-01T00:00:00+03:00"))
    refresh(key)
    assert key.expires_at == datetime(2029, 12, 31, 21, tzinfo=UTC)
