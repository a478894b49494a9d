"""Nothing crosses a workspace: not a query, not a row, not an id (PL-1)."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from agentstate.tasks import sweep_all
from privacy.models import PackageRun
from privacy.tasks import build_packages, sweep_all_packages
from tests import factories
from tests.privacy.packages import MARIA, build, request
from tests.tables.isolation import CONTEXT_GUESSES, GUESSES, HISTORY_GUESSES, NAMES_NOTHING, Guess
from tests.workspaces.cast import GRAPH_ID, SCOPE_ID, SESSION_ID, Cast
from workspaces import access
from workspaces.errors import NotFound
from workspaces.models import (
    AuditEntry,
    AuditHead,
    Handle,
    Profile,
    RememberedAnswer,
    RetiredKey,
    WorkspaceNotBound,
    WorkspaceRow,
)
from workspaces.tasks import destroy_retired_keys, forget_answers
from workspaces.types import WorkspaceRef

TENANT_MODELS = [model for model in apps.get_models() if issubclass(model, WorkspaceRow)]


def label(model: Any) -> str:
    return str(model.__name__)


each_model = pytest.mark.parametrize("model", TENANT_MODELS, ids=label)


UNBOUND: dict[str, Callable[[Any], Any]] = {
    "list": lambda model: list(model.objects.all()),
    "count": lambda model: model.objects.count(),
    "filter": lambda model: model.objects.filter(pk=uuid4()),
    "get": lambda model: model.objects.get(pk=uuid4()),
    "update": lambda model: model.objects.update(workspace_id=uuid4()),
    "delete": lambda model: model.objects.all().delete(),
    "construct": lambda model: model(),
    "create": lambda model: model.objects.create(),
    "bulk create": lambda model: model.objects.bulk_create([model(workspace_id=uuid4())]),
    "save": lambda model: model(workspace_id=uuid4()).save(),
    "delete a row": lambda model: model(workspace_id=uuid4()).delete(),
    "the door": lambda model: access.one(model, pk=uuid4()),
}


@each_model
@pytest.mark.parametrize("deed", UNBOUND.values(), ids=UNBOUND.keys())
def test_without_a_workspace_nothing_is_read_or_written(
    db: None, model: Any, deed: Callable[[Any], Any]
) -> None:
    """PL-1: tenant data that is asked for while no workspace is bound raises, before any query."""
    with pytest.raises(WorkspaceNotBound):
        deed(model)


@each_model
def test_another_workspace_sees_nothing(db: None, cast: Cast, boreal: WorkspaceRef, model: Any) -> None:
    """PL-1: each kind of row is there for its workspace and for no other."""
    with access.bound(cast.workspace.id):
        ours = set(model.objects.values_list("pk", flat=True))
    assert ours, "The cast has no row of this kind: the test could not fail."
    with access.bound(boreal.id):
        theirs = set(model.objects.values_list("pk", flat=True))
        assert ours.isdisjoint(theirs)
        assert not model.objects.filter(pk__in=ours).exists()
        if model is AuditEntry:
            return  # nobody changes an entry (PR-22)
        assert model.objects.filter(pk__in=ours).update(workspace_id=boreal.id) == 0
        if model is AuditHead:
            return  # nor removes a head
        assert model.objects.filter(pk__in=ours).delete()[0] == 0


@each_model
def test_a_row_of_another_workspace_is_not_written(
    db: None, cast: Cast, boreal: WorkspaceRef, model: Any
) -> None:
    """PL-1: saving, deleting and making rows of a workspace that is not the bound one raises, in bulk too."""
    with access.bound(cast.workspace.id):
        row = model.objects.first()
    assert row is not None
    refused: list[Callable[[], Any]] = [
        row.save,
        row.delete,
        lambda: model.objects.bulk_create([row]),
        lambda: model.objects.bulk_create(iter([row]), ignore_conflicts=True),
        lambda: model(workspace_id=cast.workspace.id).save(force_insert=True),
        lambda: model.objects.create(workspace_id=cast.workspace.id),
    ]
    with access.bound(boreal.id):
        for deed in refused:
            with pytest.raises(WorkspaceNotBound):
                deed()
    with access.bound(cast.workspace.id):
        assert model.objects.filter(pk=row.pk).exists()


@each_model
def test_a_row_does_not_move_to_another_workspace(
    db: None, cast: Cast, boreal: WorkspaceRef, model: Any
) -> None:
    """PL-1: a row that was read in one workspace is not saved into another by renaming its workspace."""
    with access.bound(cast.workspace.id):
        row = model.objects.first()
    assert row is not None
    row.workspace_id = boreal.id
    with access.bound(boreal.id), pytest.raises(WorkspaceNotBound):
        row.save()


def test_what_belongs_to_a_row_is_listed_in_its_workspace_only(
    db: None, cast: Cast, boreal: WorkspaceRef
) -> None:
    """PL-1: the rows that point at a row are scoped too, from whichever side they are asked for."""
    with access.bound(cast.workspace.id):
        profile = Profile.objects.get(id=cast.profile)
        assert profile.handles.count() == 1
    with access.bound(boreal.id):
        assert profile.handles.count() == 0
        assert not Handle.objects.filter(profile_id=cast.profile).exists()
    with pytest.raises(WorkspaceNotBound):
        profile.handles.count()


def test_absent_and_not_ours_are_one_answer(db: None, cast: Cast, boreal: WorkspaceRef) -> None:
    """PL-1: the door refuses another workspace's row with the very error of an absent one."""
    with access.bound(boreal.id):
        for model, pk in ((Profile, cast.profile), (Profile, uuid4())):
            with pytest.raises(NotFound) as refused:
                access.one(model, id=pk)
            assert (refused.value.detail, refused.value.errors) == ("", ())


def test_a_binding_ends_with_its_block_and_stays_in_its_thread(
    aurora: WorkspaceRef, boreal: WorkspaceRef
) -> None:
    """PL-1: a binding is restored after a nested one and after an error, and no thread inherits it."""
    seen: list[Any] = []

    def look() -> None:
        try:
            seen.append(Profile.objects.all())
        except WorkspaceNotBound:
            seen.append("not bound")

    with access.bound(aurora.id):
        with pytest.raises(ZeroDivisionError), access.bound(boreal.id):
            raise ZeroDivisionError
        assert str(aurora.id.hex) in str(Profile.objects.all().query).replace("-", "")
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == ["not bound"]
    with pytest.raises(WorkspaceNotBound):
        Profile.objects.all()


EVERY_GUESS = GUESSES + HISTORY_GUESSES + CONTEXT_GUESSES
# The feature, and the scope of a key, that something named by an id belongs to.
FEATURES = {"session": "history", "graph": "context", "payload": "context", "assembly": "context"}
TASKS = (sweep_all, forget_answers, destroy_retired_keys, build_packages, sweep_all_packages)


def give_work(workspace: WorkspaceRef) -> None:
    """Leave something for each of the tasks."""
    past = timezone.now() - timedelta(days=40)
    factories.make_state(workspace, now=past)
    factories.make_state(workspace, subject=MARIA)
    over = build(workspace)
    request(workspace)
    with access.bound(workspace.id):
        PackageRun.objects.filter(id=over.id).update(expires_at=past)
        RetiredKey.objects.create(key_id=uuid4())
        RememberedAnswer.objects.create(key_hash=uuid4().bytes, body_hash=b"", made_at=past)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: str(task.name))
def test_a_task_binds_each_workspace_and_leaves_none_bound(
    aurora: WorkspaceRef, boreal: WorkspaceRef, task: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-1: periodic work goes through the workspaces that have some, one by one, each bound for its own part alone."""
    seen: list[Any] = []
    idle = factories.make_workspace("Idle")
    for workspace in (aurora, boreal):
        give_work(workspace)
    plain = access.bound

    def noted(workspace_id: Any) -> Any:
        seen.append(workspace_id)
        return plain(workspace_id)

    monkeypatch.setattr(access, "bound", noted)
    task()
    assert {aurora.id, boreal.id} <= set(seen)
    assert len(seen) == len(set(seen))
    assert idle.id not in seen
    with pytest.raises(WorkspaceNotBound):
        Profile.objects.all()


def filled(template: Any, value: str) -> Any:
    """Put an id where a guess has `{id}`."""
    return json.loads(json.dumps(template).replace("{id}", value))


def raw_answer(key: str, guess: Guess, value: str) -> tuple[int, bytes]:
    """Send a guess; give the status and the very bytes of the answer."""
    answer = Client().generic(
        guess.method,
        guess.path.replace("{id}", value),
        b"" if guess.body is None else json.dumps(filled(guess.body, value)).encode(),
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}", "X-Request-Id": "the-same"},
    )
    return answer.status_code, answer.content


def ids_of(cast: Cast, kind: str) -> str:
    named = {
        "profile": str(cast.profile),
        "pseudonym": cast.pseudonym,
        "change": str(cast.changes["object-types"]),
        "hold": str(cast.hold),
        "scope": SCOPE_ID,
        "session": SESSION_ID,
        "graph": GRAPH_ID,
        "payload": str(cast.payload),
        "erasure": str(cast.erasure),
        "package": str(cast.package),
        "assembly": str(cast.assembly),
    }
    return named[kind]


def absent_id(kind: str) -> str:
    return {
        "pseudonym": f"p_{uuid4().hex[:20]}",
        "scope": f"absent-{uuid4()}",
        "session": f"absent-{uuid4()}",
        "graph": f"absent-{uuid4()}",
    }.get(kind, str(uuid4()))


def caller_of(workspace: WorkspaceRef, guess: Guess) -> str:
    """Make somebody in a workspace who may do what a guess asks."""
    if guess.route.startswith("legal-hold"):
        person = factories.make_person(workspace, "privacy")
        return factories.make_token(workspace, person, "place_hold", "lift_hold")
    if guess.kind in FEATURES:
        return factories.make_key(workspace, FEATURES[guess.kind])
    if guess.kind != "change":
        return factories.make_key(workspace, "agent_state", "admin")
    person = factories.make_person(workspace, "owner", "security")
    names = ("publish_documents", "change_features", "propose_documents", "approve_documents")
    return factories.make_token(workspace, person, *names)


@pytest.mark.parametrize("guess", EVERY_GUESS, ids=lambda guess: guess.route)
def test_an_id_of_another_workspace_answers_like_an_absent_one(
    db: None, cast: Cast, boreal: WorkspaceRef, guess: Guess
) -> None:
    """PL-1: no object is found by guessing its id; the answer has the same bytes as for an id of nothing."""
    if guess.kind in FEATURES:
        factories.switch(boreal, FEATURES[guess.kind], on=True)
    stranger = caller_of(boreal, guess)
    theirs = raw_answer(stranger, guess, ids_of(cast, guess.kind))
    assert theirs == raw_answer(stranger, guess, absent_id(guess.kind))
    assert theirs[0] < 500
    own = raw_answer(caller_of(cast.workspace, guess), guess, ids_of(cast, guess.kind))
    assert own[0] == guess.home
    assert own != theirs, "The same request must find something at home, or it proves nothing."


def test_every_route_is_guessed_at_or_names_nothing() -> None:
    """PL-1: a route of the API that takes an id and is not tried from outside fails here."""
    routes = {
        pattern.name
        for resolver in get_resolver().url_patterns
        for pattern in getattr(resolver, "url_patterns", [])
        if str(pattern.pattern).startswith("v1/")
    }
    assert routes == {guess.route for guess in EVERY_GUESS} | NAMES_NOTHING.keys()
