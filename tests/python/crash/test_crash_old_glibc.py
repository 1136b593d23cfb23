"""`crash` where glibc has no search for loaded files, as before 2.35: its own search is used."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from crash.crash_programs import compiled, explore

from nearfar.native_files import native_file

JUDGE = "nearfar_crash_judge"
Searchers = Callable[[str], Path]


@pytest.fixture
def searchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Searchers:
    """Return what starts programs with a glibc of a version: it returns the file of searchers."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    source, library = Path(__file__).with_name("old_glibc.c"), tmp_path / "old_glibc.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)

    def use(version: str) -> Path:
        file = tmp_path / f"searchers-{version}"
        file.touch()
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("GLIBC_VERSION", version)
        monkeypatch.setenv("SEARCHERS", str(file))
        return file

    return use


def test_programs_catch_their_exceptions(searchers: Searchers) -> None:
    words = [native_file(JUDGE), "/nonexistent"]
    said = []
    for version, searches in (("2.36", False), ("2.34", True)):
        file = searchers(version)
        done = subprocess.run(words, capture_output=True, check=False)
        assert done.returncode == 1
        assert b"cannot read /nonexistent" in done.stdout
        assert (JUDGE in file.read_text().split()) is searches, version
        said.append((done.stdout, done.stderr))
    assert said[0] == said[1]


def test_the_recorder_finds_the_same_stacks(searchers: Searchers, tmp_path: Path) -> None:
    program, checker = compiled("log_never_fenced"), compiled("log_check")
    found, searches = [], []
    for version in ("2.36", "2.34"):
        file = searchers(version)
        report = explore(tmp_path, f"{checker} {{pool}}", [str(program), "{pool}", "3"])
        # The recorder itself also searches, for files that were loaded.
        searches.append(file.read_text().split().count(program.name))
        assert report.lints
        assert all(lint.frames for lint in report.lints)
        found.append((report.lints, report.bugs))
    assert found[0] == found[1]
    assert searches[1] > searches[0]
