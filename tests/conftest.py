"""What every test may ask for. Things are made by tests/factories.py; the cast is small and named."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import connections
from django.test.utils import setup_databases, teardown_databases

from privacy.selectors import packages
from tests import factories
from tests.api import InProcess, OverHttp
from tests.server import Server
from workspaces import deployment, encryption, grants, rehashing
from workspaces.postgresql.roles import owning
from workspaces.services.credentials import forget_noted_uses
from workspaces.types import WorkspaceRef

_as_owner = pytest.StashKey[ExitStack]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every test that takes a database take both."""
    for item in items:
        if {"db", "transactional_db"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.django_db(databases=["default", "keys"]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Become the owner before any fixture of a test that is marked so begins its transaction."""
    if item.get_closest_marker("owner"):
        item.stash[_as_owner] = ExitStack()
        item.stash[_as_owner].enter_context(_owning_both())


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Be the application again after the last of its fixtures."""
    if _as_owner in item.stash:
        item.stash[_as_owner].close()


@contextmanager
def _owning_both() -> Iterator[None]:
    with ExitStack() as stack:
        for alias in connections:
            stack.enter_context(owning(connections[alias]))
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: Any, django_db_modify_db_settings: None
) -> Iterator[None]:
    """Make both test databases as their owner, whichever tests run; the tests are the application's roles there.

    pytest-django makes it only where a test asks for `db`: a run of tests over HTTP would write into the real one.
    """
    with django_db_blocker.unblock(), _owning_both():
        made = setup_databases(verbosity=0, interactive=False)
    yield
    with django_db_blocker.unblock(), _owning_both():
        teardown_databases(made, verbosity=0)


@pytest.fixture(scope="session")
def _deployment_key(django_db_setup: None, django_db_blocker: Any) -> None:
    """Make the deployment's own key once and for all: a transaction that is rolled back must not own it."""
    with django_db_blocker.unblock():
        deployment.hashed("tests", "first use")


@pytest.fixture(scope="session", autouse=True)
def _own_blobs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the blobs of each test process, and of the servers that it starts, apart from those of the others."""
    folder = tmp_path_factory.mktemp("payloads")
    os.environ["PAYLOADS_URL"] = folder.as_uri()
    settings.STORAGES["payloads"]["OPTIONS"]["location"] = str(folder)


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> Iterator[None]:
    """Hash passwords with little work: as in life each takes most of a second where several tests share a core."""
    with pytest.MonkeyPatch.context() as patch:
        for cost, value in {"time_cost": 1, "memory_cost": 64, "parallelism": 1}.items():
            patch.setattr(Argon2PasswordHasher, cost, value)
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_names_in_the_hot_store() -> None:
    """Keep the workers of a parallel run apart in the hot store, as their databases are."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    settings.HOT_STORE_GENERATION = int(worker) + 2


@pytest.fixture(autouse=True)
def _fresh_process() -> None:
    """Forget what a process keeps, as a new one would."""
    encryption.forget_unwrapped_keys()
    grants.forget()
    forget_noted_uses()
    rehashing.forget()


@pytest.fixture(autouse=True)
def _nobody_waits_for_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer at once where no worker runs beside the test."""
    monkeypatch.setattr(packages, "WAIT_SECONDS", 0.0)


@pytest.fixture
def aurora(db: None, _deployment_key: None) -> WorkspaceRef:
    """A workspace in which working memory is on, with the type `order`."""
    return factories.make_ready_workspace("Aurora")


@pytest.fixture
def boreal(db: None, _deployment_key: None) -> WorkspaceRef:
    """Another workspace, ready too."""
    return factories.make_ready_workspace("Boreal")


@pytest.fixture
def agent(aurora: WorkspaceRef) -> InProcess:
    """An agent's code in Aurora."""
    return InProcess(factories.make_key(aurora))


@pytest.fixture
def admin(aurora: WorkspaceRef) -> InProcess:
    """A back office in Aurora, whose key has the scope `admin` too."""
    return InProcess(factories.make_key(aurora, "agent_state", "admin", source="back office"))


@pytest.fixture
def stranger(boreal: WorkspaceRef) -> InProcess:
    """An agent's code in Boreal."""
    return InProcess(factories.make_key(boreal, "agent_state", "admin"))


@pytest.fixture
def committed(django_db_setup: None, django_db_blocker: Any, _deployment_key: None) -> Iterator[None]:
    """The database as other processes see it: what a test writes stays, in a workspace of its own."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: Any,
    _deployment_key: None,
) -> Iterator[Server]:
    """A real server over this worker's database."""
    with django_db_blocker.unblock():
        running = Server(tmp_path_factory.mktemp("server")).start()
    yield running
    running.stop()


@pytest.fixture
def over_http(committed: None, server: Server) -> Callable[..., OverHttp]:
    """Make a client of the real server with a key of a new scope set: `over_http(workspace, "agent_state")`."""

    def connect(workspace: WorkspaceRef, *scopes: str, **wish: Any) -> OverHttp:
        return OverHttp(server.url, factories.make_key(workspace, *scopes, **wish))

    return connect
