"""What the console vendors is what its manifest says (CO-1)."""

import re
from pathlib import Path

import pytest

from console import vendor

VENDORED = vendor.manifest()
FOREIGN = re.compile(rb"""(?:url\(|@import|src=|href=)\s*["']?(?:https?:)?//""")


@pytest.mark.parametrize("row", VENDORED, ids=lambda row: row.file)
def test_vendored_file_is_the_one_of_the_manifest(row: vendor.Vendored) -> None:
    """CO-1: each vendored file has the hash that the manifest gives."""
    assert vendor.digest(vendor.STATIC / row.file) == row.sha256


@pytest.mark.parametrize("row", VENDORED, ids=lambda row: row.file)
def test_vendored_file_has_name_version_and_licence(row: vendor.Vendored) -> None:
    """CO-1: the manifest gives name, version and licence, and the licence's text lies beside the package's files."""
    assert row.name
    assert row.licence
    assert re.fullmatch(r"\d+\.\d+\.\d+", row.version)
    assert any(other.name == row.name and other.file.endswith("LICENSE") for other in VENDORED)


def test_no_vendored_file_is_missing_from_the_manifest() -> None:
    """CO-1: nothing foreign lies in the static folder without a line in the manifest."""
    lying = {
        str(path.relative_to(vendor.STATIC))
        for path in (vendor.STATIC / "vendor").rglob("*")
        if path.is_file()
    }
    assert lying | {vendor.SPRITE} == {row.file for row in VENDORED}


def test_manifest_says_what_the_build_command_would_fetch() -> None:
    """CO-1: the versions in the manifest are those of `python -m console.vendor`."""
    assert {(row.name, row.version, row.licence) for row in VENDORED} == {
        (package.name, package.version, package.licence) for package in vendor.PACKAGES
    }


def test_htmx_is_the_version_that_was_measured() -> None:
    """CO-1: htmx 2.0.11, in the manifest and in the file itself."""
    script = (vendor.STATIC / "vendor/htmx/htmx.min.js").read_text()
    assert vendor.HTMX.version == "2.0.11"
    assert 'version:"2.0.11"' in script


def test_sprite_holds_exactly_the_icons_of_the_list() -> None:
    """CO-1: the sprite has the listed icons and the product's mark, and nothing else."""
    found = re.findall(r'<symbol id="([a-z0-9-]+)"', (vendor.STATIC / vendor.SPRITE).read_text())
    assert sorted(found) == sorted((*vendor.ICONS, "lastro"))


@pytest.mark.parametrize("name", ["app.css", "app.js", "plots.js", "favicon.svg", vendor.SPRITE])
def test_own_files_load_nothing_from_a_foreign_origin(name: str) -> None:
    """CO-2: style sheet, script and images refer to no other origin."""
    assert not FOREIGN.search((vendor.STATIC / name).read_bytes())


def test_every_file_that_the_style_sheet_names_is_there() -> None:
    """CO-1: the font of the style sheet lies where it says."""
    style = (vendor.STATIC / "app.css").read_text()
    named = re.findall(r'url\("([^"]+)"\)', style)
    assert named
    assert all((vendor.STATIC / Path(name)).is_file() for name in named)
