"""What the pages say, collected for translators, and the catalogues of each language (CO-11).

Babel reads and writes the catalogues, so that no tool beside Python's packages is needed.
"""

import io
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation import template

from privacy.errors import NotPossibleNow, OnHold
from workspaces import errors
from workspaces.rules.rights import KEY_SCOPES, PERMISSIONS, ROLE_TITLES

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "console" / "locale"
LANGUAGES = {"pt_BR": "Português (Brasil)", "fr": "Français"}
APPS = ("console", "workspaces", "privacy", "agentstate", "history", "assembly")
SHOWN: tuple[type[errors.Problem], ...] = (
    errors.ApprovalRequired,
    errors.Conflict,
    errors.FeatureOff,
    errors.HotStoreUnavailable,
    errors.InvalidDocument,
    errors.InvalidInput,
    errors.InvitationInvalid,
    errors.KeyDestroyed,
    errors.NotFound,
    errors.OutcomeUnknown,
    errors.OwnChange,
    errors.PermissionMissing,
    errors.Problem,
    errors.RoleNotAllowed,
    errors.SecondFactorStays,
    errors.SubjectErased,
    errors.Tampered,
    errors.Unavailable,
    errors.WorkspaceClosed,
    errors.WrongVersion,
    NotPossibleNow,
    OnHold,
)
"""Refusals that a person can meet; the others are met by clients of the API alone."""
KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "Word": None,
}
TABLES = {
    "workspaces/rules/rights.py": (*PERMISSIONS.values(), *ROLE_TITLES.values(), *KEY_SCOPES.values()),
    "workspaces/errors.py": tuple(refusal.title for refusal in SHOWN),
}
"""Words of the rules and refusals, which know nothing of languages: pages translate them where they show them."""
REFUSING = {refusal.__name__: None for refusal in SHOWN} | {"FieldProblem": (3,)}
"""What a service refuses with: its sentences are shown on pages too."""
REFUSED_IN = {("workspaces", "services"), ("privacy", "services")}

Text = tuple[str, ...] | str


def collected() -> Catalog:
    """Give every text of templates, pages and tables, with the places where it stands."""
    catalogue = Catalog(project="Lastro", charset="utf-8")
    for place, line, text, context in _texts():
        catalogue.add(text, locations=[(place, line)], context=context)
    return catalogue


def path_of(language: str, kind: str = "po") -> Path:
    """Give the file of a language's catalogue, `po` to read and `mo` to serve."""
    return FOLDER / language / "LC_MESSAGES" / f"django.{kind}"


def catalogue_of(language: str) -> Catalog:
    """Read a language's catalogue; an empty one where there is none yet."""
    path = path_of(language)
    if not path.exists():
        return Catalog(locale=language, project="Lastro", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=language)


def updated(language: str, found: Catalog) -> Catalog:
    """Give a catalogue with what the pages say now, and nothing else."""
    catalogue = catalogue_of(language)
    catalogue.update(found, no_fuzzy_matching=True, update_creation_date=False)
    catalogue.obsolete.clear()
    return catalogue


def update(language: str, found: Catalog) -> list[Message]:
    """Bring a catalogue up to date, compile it, and give what it does not translate.

    Nothing is written anew that says the same: no line numbers, and no date of this run.
    """
    catalogue = updated(language, found)
    path_of(language).parent.mkdir(parents=True, exist_ok=True)
    with path_of(language).open("wb") as file:
        write_po(file, catalogue, width=0, sort_output=True, include_lineno=False)
    path_of(language, "mo").write_bytes(compiled(catalogue))
    return untranslated(catalogue)


def compiled(catalogue: Catalog) -> bytes:
    """Give a catalogue as it is served."""
    written = io.BytesIO()
    write_mo(written, catalogue)
    return written.getvalue()


def untranslated(catalogue: Catalog) -> list[Message]:
    """List the texts without a translation, or with one that nobody has looked at."""
    return [message for message in catalogue if message.id and (message.fuzzy or not _is_translated(message))]


def _is_translated(message: Message) -> bool:
    texts = message.string if isinstance(message.string, list | tuple) else [message.string]
    return all(texts)


def _texts() -> Iterator[tuple[str, int, Text, str | None]]:
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            yield from _of_source(path, path.read_bytes())
    for path in sorted((ROOT / "templates").rglob("*.*")):
        yield from _of_source(path, _as_source(path))
    for place, texts in TABLES.items():
        yield from ((place, 0, text, None) for text in texts)


def _of_source(path: Path, source: bytes) -> Iterator[tuple[str, int, Text, str | None]]:
    place = path.relative_to(ROOT)
    keywords = KEYWORDS | REFUSING if place.parts[:2] in REFUSED_IN else KEYWORDS
    # Babel tells of each refusal that names a value: no text to translate, its page says what kind of refusal it is.
    with redirect_stderr(io.StringIO()):
        found = list(extract("python", io.BytesIO(source), keywords=keywords))
    for line, text, _comments, context in found:
        yield str(place), line, text, context


def _as_source(path: Path) -> bytes:
    """Turn a template into something whose calls a reader of Python finds; its indentation means nothing."""
    source = template.templatize(path.read_text())
    return "\n".join(line.strip() for line in source.splitlines()).encode()
