"""Every table says what becomes of it: in which file of a package it stands and which step erases it (PR-10, PR-18)."""

from django.apps import apps

from privacy.inventory import TABLES
from privacy.rules.erasures import STEPS
from privacy.selectors.packages import FILES

APPS = ("workspaces", "agentstate", "history", "assembly", "privacy")


def test_every_table_is_in_it() -> None:
    """PR-10, PR-18: no table of the project is forgotten, and none is in it that is not there."""
    tables = {model._meta.label for app in APPS for model in apps.get_app_config(app).get_models()}
    assert set(TABLES) == tables


def test_it_names_what_is_there() -> None:
    """PR-10, PR-18: each file and each step that it names exists, and each that is needed is named."""
    files = {file.name for file in FILES}
    assert {kept.exported for kept in TABLES.values()} - {""} == files
    assert {kept.erased for kept in TABLES.values()} - {""} == {
        *STEPS[1:-2],
    }


def test_what_is_missing_has_a_reason() -> None:
    """PR-10, PR-18: what is not exported, or not erased, says why."""
    for name, kept in TABLES.items():
        assert kept.why or (kept.exported and kept.erased), name
