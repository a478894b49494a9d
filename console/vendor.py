"""Rebuild what the console vendors, from npm packages: `python -m console.vendor` (CO-1).

Needs npm on the machine of whoever updates a version; nothing that runs or builds the project does.
"""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import msgspec

STATIC = Path(__file__).parent / "static" / "console"
MANIFEST = STATIC / "vendor.json"
SPRITE = "icons.svg"


class Package(msgspec.Struct, frozen=True):
    """One npm package: where its files come from and where they go, below the static folder."""

    name: str
    version: str
    licence: str
    files: dict[str, str]


class Vendored(msgspec.Struct, frozen=True):
    """One row of the manifest."""

    name: str
    version: str
    licence: str
    file: str
    sha256: str


HTMX = Package(
    name="htmx.org",
    version="2.0.11",
    licence="0BSD",
    files={"dist/htmx.min.js": "vendor/htmx/htmx.min.js", "LICENSE": "vendor/htmx/LICENSE"},
)
INTER = Package(
    name="@fontsource-variable/inter",
    version="5.3.0",
    licence="OFL-1.1",
    files={
        "files/inter-latin-wght-normal.woff2": "vendor/inter/inter-latin-wght-normal.woff2",
        "LICENSE": "vendor/inter/LICENSE",
    },
)
LUCIDE = Package(
    name="lucide-static",
    version="1.62.0",
    licence="ISC",
    files={"LICENSE": "vendor/lucide/LICENSE"},
)
UPLOT = Package(
    name="uplot",
    version="1.6.32",
    licence="MIT",
    files={
        "dist/uPlot.iife.min.js": "vendor/uplot/uplot.min.js",
        "dist/uPlot.min.css": "vendor/uplot/uplot.min.css",
        "LICENSE": "vendor/uplot/LICENSE",
    },
)
PACKAGES = (HTMX, INTER, LUCIDE, UPLOT)

ICONS = (
    "activity",
    "braces",
    "chart-line",
    "check",
    "chevron-down",
    "chevron-right",
    "circle-user-round",
    "clock",
    "copy",
    "file-text",
    "gauge",
    "inbox",
    "info",
    "key-round",
    "layers",
    "list-checks",
    "loader-circle",
    "lock",
    "menu",
    "moon",
    "plus",
    "power-off",
    "scroll-text",
    "search",
    "search-x",
    "sun",
    "sun-moon",
    "toggle-right",
    "triangle-alert",
    "users",
    "user-cog",
    "x",
)
# The product's own mark, a hull with its ballast; it is not part of Lucide.
MARK = (
    '<symbol id="lastro" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"'
    ' stroke-linecap="round" stroke-linejoin="round">'
    '<path d="M12 9V2.5l5.5 6.5"/><path d="M2.5 9h19c-.6 5-4.6 8.5-9.5 8.5S3.1 14 2.5 9z"/>'
    '<path d="M9.5 17.5h5l-1 4h-3z" fill="currentColor"/></symbol>'
)


def unpack(package: Package, folder: Path) -> Path:
    """Fetch a package with npm and give the folder it was unpacked to."""
    spec = f"{package.name}@{package.version}"
    packed = subprocess.run(  # noqa: S603
        ["npm", "pack", "--silent", spec],  # noqa: S607
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    target = folder / package.name.replace("/", "-")
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        archive.extractall(target, filter="data")
    return target / "package"


def symbol(name: str, svg: str) -> str:
    """Turn one icon file into a symbol of the sprite."""
    body = re.search(r"<svg[^>]*>(.*)</svg>", svg, re.DOTALL)
    if body is None:
        raise ValueError(f"{name} is not an icon")
    shapes = re.sub(r">\s+<", "><", body.group(1).strip())
    return (
        f'<symbol id="{name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"'
        f' stroke-linecap="round" stroke-linejoin="round">{shapes}</symbol>'
    )


def sprite(icons: Path) -> str:
    """Build the sprite of the icons that the console uses."""
    symbols = [symbol(name, (icons / f"{name}.svg").read_text()) for name in ICONS]
    return '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join([MARK, *symbols]) + "\n</svg>\n"


def digest(path: Path) -> str:
    """Name a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def row(package: Package, file: str) -> Vendored:
    """Describe one vendored file as it lies in the static folder."""
    return Vendored(
        name=package.name,
        version=package.version,
        licence=package.licence,
        file=file,
        sha256=digest(STATIC / file),
    )


def copy_files(package: Package, unpacked: Path) -> list[Vendored]:
    """Copy a package's files to where the pages look for them."""
    for source, target in package.files.items():
        (STATIC / target).parent.mkdir(parents=True, exist_ok=True)
        (STATIC / target).write_bytes((unpacked / source).read_bytes())
    return [row(package, target) for target in package.files.values()]


def rebuild() -> list[Vendored]:
    """Fetch, copy, build the sprite and write the manifest."""
    rows: list[Vendored] = []
    with tempfile.TemporaryDirectory() as name:
        for package in PACKAGES:
            unpacked = unpack(package, Path(name))
            rows += copy_files(package, unpacked)
            if package is LUCIDE:
                (STATIC / SPRITE).write_text(sprite(unpacked / "icons"))
                rows.append(row(package, SPRITE))
    MANIFEST.write_text(json.dumps(msgspec.to_builtins(rows), indent=2) + "\n")
    return rows


def manifest() -> list[Vendored]:
    """Read the manifest."""
    return msgspec.json.decode(MANIFEST.read_bytes(), type=list[Vendored])


if __name__ == "__main__":
    for vendored in rebuild():
        sys.stdout.write(f"{vendored.name} {vendored.version} {vendored.file}\n")
