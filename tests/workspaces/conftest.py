"""What the tests of the ground floor share."""

from typing import Any

import pytest

from tests.workspaces.cast import Cast, make_cast


@pytest.fixture(scope="module")
def cast(django_db_setup: None, django_db_blocker: Any, _deployment_key: None) -> Cast:
    """A workspace with people of every role, keys of every scope, and one row of every kind; it stays."""
    with django_db_blocker.unblock():
        return make_cast()
