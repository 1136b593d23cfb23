"""The verb on the pitfalls: correct programs are clean, each seeded bug is found and replayed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from crash.crash_programs import built, compiled, explore

from nearfar.__main__ import main
from nearfar.documents.crash_report import CrashReport


def log_report(name: str, folder: Path, *options: str) -> CrashReport:
    check = f"{compiled('log_check')} {{pool}}"
    return explore(folder, check, [str(compiled(name)), "{pool}", "3"], *options)


def test_the_correct_log_has_no_findings(tmp_path: Path) -> None:
    report = log_report("log_right", tmp_path)
    assert not report.bugs
    assert not report.lints
    assert report.complete
    assert report.fences == 6
    assert report.points == report.points_explored == 7
    assert not report.warnings


@pytest.mark.parametrize(
    ("name", "lost_at"),
    [
        ("log_entry_not_flushed", "log.h"),
        ("log_one_fence", "log.h"),
        ("log_torn_pair", "log_torn_pair.c"),
    ],
)
def test_each_seeded_bug_is_found_once_and_replayed(
    name: str, lost_at: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = log_report(name, tmp_path)
    (bug,) = report.bugs
    assert bug.symptom == "exit 1"
    assert bug.lost
    assert Path(bug.lost[0].frames[0].file).name == lost_at
    assert len(bug.survived) == 1
    if name == "log_torn_pair":
        assert (bug.survived[0].survived, bug.survived[0].stores) == (1, 2)
    never = [lint for lint in report.lints if lint.kind == "never flushed"]
    assert bool(never) == (name == "log_entry_not_flushed")
    replays = []
    for _ in range(3):
        capsys.readouterr()
        assert main(["crash", "replay", bug.replay, "--json"]) == 1
        replays.append(json.loads(capsys.readouterr().out))
    assert replays == [{"symptom": bug.symptom, "said": bug.said, "before": bug.symptom}] * 3


def test_a_report_replaces_an_earlier_report_and_its_bugs(tmp_path: Path) -> None:
    bug = Path(log_report("log_torn_pair", tmp_path).bugs[0].replay)
    content = bug.read_bytes()
    for name in ("bug-9.json", "bug-mine.json"):
        bug.with_name(name).write_bytes(content)
    bug.with_name("bug-8.json").write_text("{}")
    log_report("log_torn_pair", tmp_path, "--seed", str((1 << 64) - 1))
    left = ["bug-1.json", "bug-8.json", "bug-mine.json"]
    assert sorted(path.name for path in bug.parent.iterdir()) == left
    for name in left[1:]:
        bug.with_name(name).unlink()
    assert not log_report("log_right", tmp_path).bugs
    assert not bug.parent.exists()


def test_the_first_bug_ends_it_and_a_baseline_leaves_it_out(tmp_path: Path) -> None:
    (first,) = log_report("log_one_fence", tmp_path, "--first").bugs
    assert 0 < first.found_states <= 100
    known = tmp_path / "known.json"
    (tmp_path / "crash.json").rename(known)
    report = log_report("log_one_fence", tmp_path, "--first", "--baseline", str(known))
    assert not report.bugs
    assert report.known == 1
    assert report.complete


def test_a_refused_pool_still_shows_the_lints(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = str(compiled("log_entry_not_flushed"))
    check = "echo first; echo second; false {pool}"
    assert main(["crash", "--check", check, "--", program, "{pool}", "3"]) == 2
    errors = capfd.readouterr().err
    assert "lint: never flushed" in errors
    assert "first; second" in errors


def test_persistent_caches_hide_a_missing_flush_but_no_torn_write(tmp_path: Path) -> None:
    assert not log_report("log_entry_not_flushed", tmp_path, "--eadr").bugs
    assert log_report("log_torn_pair", tmp_path, "--eadr").bugs


@pytest.mark.parametrize(("name", "bugs"), [("list_right", 0), ("list_no_snapshot", 1)])
def test_a_missing_snapshot_shows_after_recovery_by_libpmemobj(
    name: str, bugs: int, tmp_path: Path
) -> None:
    right = compiled("list_right")
    pool = tmp_path / "list.pool"
    subprocess.run([right, pool, "0"], check=True)
    before = pool.read_bytes()
    program = str(compiled(name))
    check = f"{right} {{pool}} check"
    report = explore(tmp_path, check, [program, "{pool}", "1"], "--pool", str(pool))
    assert len(report.bugs) == bugs
    assert [lint.kind for lint in report.lints] == ["store without snapshot"] * bugs
    assert pool.read_bytes() == before
    if bugs:
        (line,) = report.bugs[0].survived
        assert line.frames[0].function == "push"
        assert line.object is not None
        assert line.object.what in ("root", "allocation")
        # Points near what a lint suspects come first.
        assert report.bugs[0].found_states <= 100


def test_msync_counts_as_flush_and_fence(tmp_path: Path) -> None:
    program = str(compiled("msync_right"))
    report = explore(tmp_path, f"{program} {{pool}} check", [program, "{pool}"])
    assert not report.bugs
    assert report.fences == 16


@pytest.mark.parametrize(("name", "bugs"), [("bare_right", 0), ("bare_no_fence", 1)])
def test_flush_instructions_of_programs_compiled_by_nearfar_cc_are_traced(
    name: str, bugs: int, tmp_path: Path
) -> None:
    program = compiled(name, compiler=(str(_nearfar()), "cc"))
    checker = compiled("msync_right")
    report = explore(tmp_path, f"{checker} {{pool}} check", [str(program), "{pool}"])
    assert len(report.bugs) == bugs
    assert report.flushes == 16


_SEEN = [
    (("-DFLUSH=_mm_clwb",), 0),
    (("-DFLUSH=_mm_clwb", "-O0"), 0),
    (("-DFLUSH=_mm_clwb", "-s", "-fno-asynchronous-unwind-tables"), 0),
    (("-DFLUSH=_mm_clflushopt", "-DFENCE=__builtin_ia32_mfence()"), 0),
    (("-DFLUSH=_mm_clwb", "-DLOCKED"), 0),
    (("-DFLUSH=_mm_clflush", "-DFENCE="), 0),
    (("-DSTREAM=_mm_stream_si64",), 0),
    (("-DSTREAM=_mm_stream_si64", "-DFENCE="), 1),
    (("-DFLUSH=_mm_clwb", "-DFENCE="), 1),
    (("-DFLUSH=",), 1),
]
"""Flags of crash_bare.c, and whether it is wrong with them."""


@pytest.mark.parametrize(("flags", "bugs"), _SEEN)
def test_bare_instructions_of_any_program_are_seen(
    flags: tuple[str, ...], bugs: int, tmp_path: Path
) -> None:
    program = str(built("crash_bare", "-O2", "-mclwb", "-mclflushopt", *flags))
    report = explore(tmp_path, f"{program} {{pool}} check", [program, "{pool}"])
    assert len(report.bugs) == bugs
    assert not report.undecided


def test_code_made_at_run_time_makes_failures_undecided(tmp_path: Path) -> None:
    program = str(built("crash_bare", "-DMADE"))
    report = explore(tmp_path, f"{program} {{pool}} check", [program, "{pool}"])
    assert not report.bugs
    assert len(report.undecided) == 1
    assert "made at run time" in report.unseen


def _nearfar() -> Path:
    program = Path(sys.executable).parent / "nearfar"
    if not program.exists():
        pytest.skip("nearfar is not installed as a program beside this Python")
    return program


@pytest.mark.parametrize(
    ("check", "program", "refusal"),
    [
        ("true", ["{prog}", "{pool}"], ("does not say where the pool's path goes", 2)),
        ("true {pool}", ["{prog}"], ("does not get the pool's path", 2)),
        ("true {pool}", ["true", "{pool}"], ("never mapped the pool", 4)),
        ("true {pool}", ["false", "{pool}"], ("before it mapped the pool", 4)),
        ("echo no; false {pool}", ["{prog}", "{pool}"], ("without any crash (exit 1: no)", 2)),
        ("sleep 9 # {pool}", ["{prog}", "{pool}"], ("without any crash (hang)", 2)),
        ("absent-checker {pool}", ["{prog}", "{pool}"], ("cannot run the checker", 3)),
    ],
)
def test_wrong_use_is_refused(
    check: str,
    program: list[str],
    refusal: tuple[str, int],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    sentence, code = refusal
    path = str(compiled("msync_right"))
    words = [word.replace("{prog}", path) for word in program]
    output = tmp_path / "crash.json"
    timeout = "300ms" if "sleep" in check else "100s"
    arguments = ["crash", "--check", check, "--timeout", timeout, "-o", str(output)]
    assert main([*arguments, "--", *words]) == code
    assert sentence in capfd.readouterr().err
    assert not output.exists()


def test_a_checker_may_change_and_remove_the_image_and_print(tmp_path: Path) -> None:
    program = str(compiled("msync_right"))
    check = f"{program} {{pool}} check && yes | head -c 300000 && rm {{pool}}"
    report = explore(tmp_path, check, [program, "{pool}"], "--states", "12")
    assert not report.bugs
    assert report.states == 12
    assert not report.complete
