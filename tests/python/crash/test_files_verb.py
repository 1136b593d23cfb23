"""The verb on programs that keep their data in files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from patience import patience

from nearfar.__main__ import main
from nearfar.documents.crash_report import CrashReport, CrashState
from nearfar.documents.header import load

REPLACE = """
import os, sys
folder, mode = sys.argv[1:]
for number in range(2):
    with open(folder + "/tmp", "w") as file:
        file.write(f"value {number} " * 300)
        file.flush()
        if mode != "file":
            os.fsync(file.fileno())
    os.rename(folder + "/tmp", folder + "/conf")
    if mode != "folder":
        entries = os.open(folder, os.O_RDONLY)
        os.fsync(entries)
    print("acknowledged", number, flush=True)
"""
CHECK = """
import os, sys
folder, printed = sys.argv[1:]
assert os.environ["NEARFAR_CRASH_PRINTED"] == printed
lines = open(printed).read().split("\\n")[:-1]
path = folder + "/conf"
text = open(path).read() if os.path.exists(path) else ""
last = len(lines) - 1
allowed = [f"value {number} " * 300 for number in (last, last + 1) if number >= 0]
sys.exit(text not in (allowed if lines else ["", *allowed]))
"""


def explore(tmp_path: Path, mode: str, *options: str, program: str = REPLACE) -> CrashReport:
    output = tmp_path / "crash.json"
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "check.py").write_text(CHECK)
    python = f"{sys.executable} -I -S"
    judge = (
        []
        if "--adapter" in options
        else ["--check", f"{python} {tmp_path}/check.py {{files}} {{printed}}"]
    )
    limits = ["--seconds", f"{patience(300):.0f}", "--timeout", f"{patience(60):.0f}s"]
    words = ["crash", "-q", "--files", str(tmp_path / "none"), *judge, *limits, *options]
    words += ["-o", str(output), "--", sys.executable, "-I", "-S", str(tmp_path / "program.py")]
    code = main([*words, "{files}", mode])
    report = load(output, CrashReport)
    assert code == bool(report.bugs)
    assert report.complete
    assert report.points_explored == report.points
    return report


def test_a_right_replacement_is_clean_under_all_models(tmp_path: Path) -> None:
    report = explore(tmp_path, "right")
    assert not report.bugs
    assert not report.warnings
    assert report.files is not None
    assert report.files.models == ["journal", "ordered", "posix", "writeback"]
    assert (report.files.operations, report.files.syncs, report.files.outputs) == (6, 4, 2)


@pytest.mark.parametrize(("mode", "lost"), [("file", "write of 2400 bytes"), ("folder", "rename")])
def test_a_missing_sync_is_reported_with_its_call_and_replayed(
    mode: str, lost: str, tmp_path: Path
) -> None:
    report = explore(tmp_path, mode)
    assert any(line.what.startswith(lost) for bug in report.bugs for line in bug.lost)
    for bug in report.bugs:
        assert main(["crash", "replay", "-q", bug.replay]) == 1
        state = load(Path(bug.replay), CrashState)
        assert state.files is not None
    keep = tmp_path / "kept"
    always = f"{sys.executable} -c 'import sys' {{files}}"
    words = ["crash", "replay", "-q", report.bugs[0].replay, "--keep", str(keep)]
    assert main([*words, "--check", always]) == 0
    assert keep.is_dir()
    assert main([*words, "--check", always]) == 2


def test_a_bug_names_the_models_that_allow_it(tmp_path: Path) -> None:
    report = explore(tmp_path, "file", "--file-system", "journal,writeback")
    assert {name for bug in report.bugs for name in bug.models} >= {"writeback"}
    clean = explore(tmp_path, "right", "--file-system", "journal")
    assert not clean.bugs


def test_forms_of_the_report_show_operations_on_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, sarif, junit = (tmp_path / name for name in ("p.html", "s.json", "j.xml"))
    files = ["--page", str(page), "--sarif", str(sarif), "--junit", str(junit)]
    explore(tmp_path, "folder", *files)
    text = "rename tmp to conf"
    assert text in page.read_text()
    assert text in junit.read_text()
    (result, *_) = json.loads(sarif.read_text())["runs"][0]["results"]
    assert result["level"] == "error"


def test_what_the_lines_adapter_is_told_must_survive(tmp_path: Path) -> None:
    program = """
import os, sys
folder, mode = sys.argv[1:]
log = os.open(folder + "/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
os.fsync(os.open(folder, os.O_RDONLY))
for number in range(4):
    os.write(log, f"entry {number}\\n".encode())
    if mode == "sync":
        os.fdatasync(log)
    print("acknowledged entry", number, flush=True)
"""
    assert not explore(tmp_path, "sync", "--adapter", "lines", program=program).bugs
    bugs = explore(tmp_path, "none", "--adapter", "lines", program=program).bugs
    assert [bug.said.splitlines()[-1][:21] for bug in bugs] == ["acknowledged and lost"]
    assert set(bugs[0].models) == {"journal", "ordered", "posix", "writeback"}


def test_the_keys_adapter_compares_a_dump_with_the_operations(tmp_path: Path) -> None:
    program = """
import os, sys
folder, mode = sys.argv[1:]
log = os.open(folder + "/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
os.fsync(os.open(folder, os.O_RDONLY))
for line in ("put a 1", "put b 2", "put a 3", "remove b"):
    print(line, flush=True)
    os.write(log, f"{line}\\n".encode())
    if mode == "sync":
        os.fdatasync(log)
    print("acknowledged", line, flush=True)
"""
    dump = tmp_path / "dump.py"
    dump.write_text("""
import os, sys
keys, path = {}, sys.argv[1] + "/log"
text = open(path, errors="replace").read() if os.path.exists(path) else ""
for line in text.split("\\n")[:-1]:
    kind, key, *value = line.split() or [""] * 2
    keys.update({key: value[0]} if kind == "put" else {key: None})
print("\\n".join(f"{key} {value}" for key, value in keys.items() if value))
""")
    judge = ["--adapter", "keys", "--dump", f"{sys.executable} -I -S {dump} {{files}}"]
    judge += ["--file-system", "ordered,journal"]
    assert not explore(tmp_path, "sync", *judge, program=program).bugs
    bugs = explore(tmp_path, "none", *judge, program=program).bugs
    assert bugs[0].said == "acknowledged and lost: key a, which holds 1"
    assert main(["crash", "replay", "-q", bugs[0].replay]) == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--adapter", "keys"], "--dump 'DUMP {files}' belong together"),
        (["--adapter", "lines", "--dump", "cat {files}"], "belong together"),
        (["--dump", "cat {files}"], "needs --adapter keys"),
        (["--adapter", "keys", "--dump", "cat"], "where the folder's path goes"),
        (["--adapter", "lines", "--eadr"], "--eadr applies only to pools"),
        (["--adapter", "line"], "did you mean 'lines'"),
        (["--adapter", "lines", "--check", "true {files}"], "--check 'CHECK {files}' or --adapter"),
        (["--check", "true"], "where the folder's path goes"),
        (["--adapter", "lines", "--file-system", "ext"], "--file-system takes"),
    ],
)
def test_a_wrong_command_line_is_refused_in_a_sentence(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["crash", "--files", str(tmp_path), *options, "--", "/bin/true", "{files}"]
    assert main(words) == 2
    assert sentence in capsys.readouterr().err


def test_a_program_that_changes_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["crash", "--files", str(tmp_path / "none"), "--adapter", "lines", "--"]
    assert main([*words, "/bin/true", "{files}"]) == 4
    assert "changed nothing" in capsys.readouterr().err


def test_a_checker_that_refuses_the_uncrashed_files_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["crash", "--files", str(tmp_path / "none"), "--check", "sh -c 'exit 3' {files}", "--"]
    assert main([*words, "/bin/sh", "-c", "echo 1 > {files}/x"]) == 2
    assert "without any crash (exit 3)" in capsys.readouterr().err
