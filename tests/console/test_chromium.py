"""The browser tests' Chromium: the one that is there, or one that is installed, or a clear word."""

from pathlib import Path

import pytest

from console.embedded import chromium
from tests.console import browser

APT_GET = """#!/bin/sh
case "$1" in
  update) ;;
  install) printf '#!/bin/sh\\n' > {folder}/chromium && chmod +x {folder}/chromium ;;
esac
"""


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CONSOLE_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_a_named_one_wins(empty_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-13: CONSOLE_CHROMIUM is used before one on the PATH."""
    program(empty_path / "google-chrome", "#!/bin/sh\n")
    assert chromium.find() == str(empty_path / "google-chrome")
    monkeypatch.setenv("CONSOLE_CHROMIUM", "/opt/chrome")
    assert chromium.find() == "/opt/chrome"


def test_root_on_debian_installs_one(
    empty_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """PL-13: where none is there, it comes from Debian's packages."""
    monkeypatch.setenv("PATH", f"{empty_path}:/bin")
    monkeypatch.setattr(chromium, "may_install", lambda: True)
    monkeypatch.setattr(chromium, "which", lambda name: found_in(empty_path, name))
    program(empty_path / "apt-get", APT_GET.format(folder=empty_path))
    assert chromium.provide() == 0
    assert str(empty_path / "chromium") in capsys.readouterr().out


def found_in(folder: Path, name: str) -> str | None:
    return str(folder / name) if (folder / name).exists() else None


@pytest.mark.parametrize(("ci", "fate"), [("", "are skipped"), ("true", "fail, as CI=true asks")])
def test_without_one_it_says_so(
    empty_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ci: str,
    fate: str,
) -> None:
    """PL-13: without a Chromium the run goes on and says what becomes of the browser tests."""
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(chromium, "may_install", lambda: False)
    assert chromium.provide() == 0
    assert f"browser tests {fate}" in capsys.readouterr().out


@pytest.mark.parametrize(("ci", "fate"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_browser_tests_without_one_are_skipped_on_a_desk_and_fail_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str, fate: type[BaseException]
) -> None:
    """CO-14, PL-13: where CI=true asks for every test, a missing Chromium is a failure."""
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(browser, "find", lambda: None)
    with pytest.raises(fate), browser.running_chromium():
        pass
