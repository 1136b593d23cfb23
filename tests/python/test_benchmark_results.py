"""Results of benchmarks are kept by file; one file measured again leaves the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from math import isnan, nan
from pathlib import Path

import msgspec
import pytest
from patience import patience

from benchmarks import Row, __main__, history, make_row, results
from benchmarks.busy_core import busy_core
from benchmarks.kept import Kept
from benchmarks.plan import (
    QUICK_ROUNDS,
    QUICK_S,
    WHOLE_S,
    RowFile,
    expected_s,
    row_files,
    wall_seconds,
)

ROWS_OF_A_FILE = """
from benchmarks import make_row

SECONDS = {seconds}
QUICK = True


def rows():
    yield make_row("{name}", {value}, "s", bar=2.0, peer="a clock", command="true")
    {after}
"""


class RowFolder:
    """A package of two row files that yield what they are told; NaN fails after one row."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.write(first=1.0, second=1.5)

    def write(self, **values: float) -> None:
        for name, value in values.items():
            after = 'raise RuntimeError("a probe died")' if isnan(value) else ""
            text = ROWS_OF_A_FILE.format(
                name=name, value=1.0 if isnan(value) else value, after=after, seconds=20
            )
            (self.folder / f"{name}.py").write_text(text)


@pytest.fixture
def two_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RowFolder:
    """Let two row files, in a package of their own, be all there are."""
    made = RowFolder(tmp_path / "made_rows")
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{root}")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    monkeypatch.setattr(__main__, "ROWS", made.folder)
    monkeypatch.setattr(__main__, "PACKAGE", "made_rows")
    _at_commit(monkeypatch, "abc")
    monkeypatch.chdir(tmp_path)
    return made


def _at_commit(monkeypatch: pytest.MonkeyPatch, commit: str) -> None:
    for module in (results, __main__):
        monkeypatch.setattr(module, "commit_of", lambda checkout: commit)


def _measured() -> dict[str, float]:
    written = msgspec.json.decode(Path("build/benchmarks.json").read_bytes())
    return {row["name"]: row["value"] for row in written["rows"]}


def test_a_run_goes_on_and_only_replaces_its_own_rows(
    two_files: RowFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert __main__.main() == 0
    two_files.write(first=1.25, second=1.75)
    assert __main__.main() == 0
    assert _measured() == {"first": 1.0, "second": 1.5}
    monkeypatch.setenv("ONLY", "second")
    assert __main__.main() == 0
    assert _measured() == {"first": 1.0, "second": 1.75}
    monkeypatch.delenv("ONLY")
    _at_commit(monkeypatch, "def")
    monkeypatch.setenv("RESULTS", "results.md")
    assert __main__.main() == 0
    assert _measured() == {"first": 1.25, "second": 1.75}
    assert "From commit abc to " in Path("results.md").read_text()


def test_rows_beside_a_busy_core_are_kept_beside_the_quiet_ones(
    two_files: RowFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_files.folder.joinpath("first.py").write_text(
        ROWS_OF_A_FILE.format(name="first", value=1.0, after="", seconds=20) + "COMPUTES = True\n"
    )
    assert __main__.main() == 0
    monkeypatch.setenv("BUSY", "1")
    monkeypatch.setenv("RESULTS", "results.md")
    two_files.write(second=1.75)
    assert __main__.main() == 0
    second = "second, beside one busy core"
    assert _measured() == {"first": 1.0, "second": 1.5, second: 1.75}  # counts need no busy core
    assert f"## {second}" in Path("results.md").read_text()
    monkeypatch.delenv("BUSY")
    two_files.write(second=1.25)
    monkeypatch.setenv("ONLY", "second")
    assert __main__.main() == 0
    assert _measured() == {"first": 1.0, "second": 1.25, second: 1.75}


def test_a_core_is_busy_until_the_rows_are_measured() -> None:
    last = max(os.sched_getaffinity(0))
    end = time.monotonic() + patience(60)
    with busy_core() as process:
        while os.sched_getaffinity(process.pid) != {last} or _cpu_seconds(process.pid) < 0.2:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
    assert process.returncode == -signal.SIGKILL


def _cpu_seconds(pid: int) -> float:
    behind_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(behind_name[11]) / os.sysconf("SC_CLK_TCK")


def test_a_row_that_fails_leaves_the_others(
    two_files: RowFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two_files.write(first=nan)
    monkeypatch.setenv("RESULTS", "results.md")
    assert __main__.main() == 1
    assert _measured() == {"first": 1.0, "second": 1.5}
    assert "first: RuntimeError: a probe died" in capsys.readouterr().out
    assert "It ended early: RuntimeError: a probe died." in Path("results.md").read_text()
    two_files.write(first=3.0)
    assert __main__.main() == 1  # measured again, above its bar
    assert _measured()["first"] == 3.0


def test_a_row_that_hangs_is_stopped_and_what_it_measured_is_kept(
    two_files: RowFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hangs = "import subprocess; subprocess.run(['sleep', '1000'])"
    two_files.folder.joinpath("first.py").write_text(
        ROWS_OF_A_FILE.format(name="first", value=1.0, after=hangs, seconds=patience(1.0))
    )
    assert __main__.main() == 1
    assert "first: stopped after its limit" in capsys.readouterr().out
    assert _measured() == {"first": 1.0, "second": 1.5}


def test_quick_rows_raise_an_alarm_where_they_became_worse(
    two_files: RowFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUICK", "1")
    assert __main__.main() == 0
    assert "no earlier commit is known" in capsys.readouterr().out
    assert len(list(history.folder("abc").iterdir())) == QUICK_ROUNDS
    two_files.write(second=1.6)
    _at_commit(monkeypatch, "def")
    assert __main__.main() == 1
    assert "worse than abc: second: 1.5 -> 1.6 s" in " ".join(capsys.readouterr().out.split())


def test_an_unknown_name_is_refused(two_files: RowFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLY", "third")
    assert __main__.main() == 2
    assert not Path("build").exists()


def test_what_row_files_declare_fits_in_the_time_of_a_run() -> None:
    files = row_files(Path(__main__.__file__).parent / "rows")
    assert wall_seconds([file for file in files if not file.long], {}) <= WHOLE_S
    both_checkouts = 2 * QUICK_ROUNDS * sum(file.seconds for file in files if file.quick)
    assert 0 < both_checkouts <= QUICK_S


def test_a_file_is_expected_to_take_its_limit_unless_it_runs_by_name() -> None:
    file = RowFile("slow", seconds=60)
    assert expected_s(file, {"slow": 1500}) == 180
    assert expected_s(file, {"slow": 1500}, limited=False) == 1500
    assert expected_s(file, {"slow": 20}) == 20
    assert expected_s(file, {}) == 60


def test_the_plan_runs_nothing(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PLAN": "1", "ONLY": "thesis", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "thesis: 3 s" in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_part_that_was_measured_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "source"
    source.write_text("measured")
    parts = Kept("row", [source])
    assert not parts.has("first")
    assert parts.get("first", int, lambda: 1) == 1
    assert parts.has("first") and parts.get("first", int, lambda: 2) == 1


def test_a_note_is_shown_and_is_no_part_of_the_name() -> None:
    row = make_row("time", 1.0, "s", bar=2.0, peer="a clock", command="true", note="0.9 to 1.1")
    assert (row.name, row.text) == ("time", "time (0.9 to 1.1)")
    assert "| time (0.9 to 1.1) | 1 s | a clock |" in results.page([_result("abc", 1, [row])])


def test_the_page_marks_results_of_another_commit_than_the_latest() -> None:
    page = results.page([_result("newer", 2), _result("older", 1), _result("newer", 3)])
    assert "commit older (old), EPYC." in page
    assert page.count("commit newer, EPYC.") == 2


def test_the_page_says_how_to_learn_why_a_file_has_no_rows() -> None:
    page = results.page([_result("abc", 1)])
    assert "make benchmarks ONLY=clock" in page
    assert "| what |" not in page


def _result(commit: str, minute: int, rows: Sequence[Row] = ()) -> results.Result:
    return results.Result(
        module="clock",
        rows=list(rows),
        seconds=1.0,
        waiting_share=0.0,
        noise_floor=0.0,
        commit=commit,
        processor="EPYC",
        time_utc=f"2026-11-30T10:{minute:02}:00+00:00",
        error="",
        busy=False,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("declared", ["", "COMPUTES = True\n"])
def test_a_killed_run_leaves_nothing_running(
    two_files: RowFolder, declared: str, number: signal.Signals
) -> None:
    hangs = (
        "import pathlib, subprocess; process = subprocess.Popen(['sleep', '1000']);"
        "pathlib.Path('sleeping').write_text(str(process.pid)); process.wait()"
    )
    text = ROWS_OF_A_FILE.format(name="first", value=1.0, after="", seconds=20)
    two_files.folder.joinpath("first.py").write_text(text.rstrip() + f"\n    {hangs}\n{declared}")
    run = (
        "import sys; from pathlib import Path; from benchmarks import __main__;"
        "sys.argv = ['benchmarks']; __main__.PACKAGE = 'made_rows';"
        f"__main__.ROWS = Path('{two_files.folder}'); sys.exit(__main__.main())"
    )
    with subprocess.Popen([sys.executable, "-c", run], stdout=subprocess.DEVNULL) as process:
        try:
            _until(lambda: Path("sleeping").exists() and Path("sleeping").read_text() != "")
            process.send_signal(number)
            process.wait(patience(60))
        finally:
            process.kill()
    sleeping = Path("/proc") / Path("sleeping").read_text() / "exe"
    _until(lambda: not sleeping.exists())


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + patience(60)
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)
