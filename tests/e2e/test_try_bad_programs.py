"""`nearfar try` on programs that it cannot follow: what it saw, in time, and nothing left over."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from patience import patience

from nearfar.base.errors import ExitCode

from .first_answers import (
    Refused,
    attempt,
    attempt_in_short,
    build,
    left_running,
    needs_qemu,
    start,
)

WORK = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void work(int rounds) {
  volatile char* table = malloc(1 << 22);
  while (rounds--) for (int at = 0; at < 1 << 22; at += 64) table[at]++;
}
"""

PROGRAMS = {
    "ends": "int main(void) { return 0; }",
    "aborts": "int main(void) { abort(); }",
    "daemon": """int main(void) {
      if (daemon(1, 0)) return 1;
      for (;;) { work(1); usleep(1000); } }""",
    "idle_daemon": "int main(void) { if (daemon(1, 0)) return 1; for (;;) pause(); }",
    "forks": """int main(void) {
      for (int i = 0; i < 100; i++) if (!fork()) { work(20); _exit(0); }
      while (wait(0) > 0) {} return 0; }""",
    "terminal": """int main(void) {
      if (open("/dev/tty", O_RDWR) < 0) { fprintf(stderr, "no terminal\\n"); return 2; }
      return 0; }""",
    "writes": """int main(int count, char** words) {
      char* block = malloc(1 << 20);
      memset(block, 'x', 1 << 20);
      for (int i = 0; i < atoi(words[1]); i++)
        if (fwrite(block, 1, 1 << 20, stdout) != 1 << 20) return 1;
      return 0; }""",
    "ignores": "int main(void) { signal(SIGTERM, SIG_IGN); for (volatile long i = 0;; i++) {} }",
    "never": "int main(void) { for (;;) pause(); }",
}
"""Programs with `work` before them."""

SERVER = WORK + "int main(void) { for (;;) { work(1); usleep(1000); } }"

REFUSED = ExitCode.MACHINE_LACKS


def _check(cache: Path, folder: Path, words: list[str], code: int, sentence: str) -> None:
    done = attempt(cache, folder, "try", "--time", "30s", "--", *words)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not left_running(folder)


@needs_qemu
@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["./ends"], ExitCode.DONE, "ran for less than 20 ms"),
        (["./aborts"], ExitCode.PROGRAM_FAILED, "was killed by SIGABRT"),
        (["./daemon"], REFUSED, "the program went on in the background"),
        (["./idle_daemon"], REFUSED, "the program went on in the background"),
        (["./forks"], REFUSED, "its own children do the work"),
        (["./terminal"], ExitCode.PROGRAM_FAILED, "exited 2"),
        (["./writes", "20"], ExitCode.DONE, "writes"),
        pytest.param(["./writes", "1000"], ExitCode.DONE, "writes", marks=pytest.mark.long),
        pytest.param(["./ignores"], ExitCode.DONE, "ignores had not ended", marks=pytest.mark.long),
    ],
    ids=lambda value: "-".join(value)[2:] if isinstance(value, list) else None,
)
def test_it_says_what_it_saw(
    cache: Path, tmp_path: Path, words: list[str], code: int, sentence: str
) -> None:
    name = words[0].removeprefix("./")
    build(tmp_path, name, WORK + PROGRAMS[name])
    _check(cache, tmp_path, words, code, sentence)


SCRIPTS = {
    "bare": (b"echo hello\n", "name the program that runs it, as in `sh bare`"),
    "script": (b"#!/usr/bin/env python3\nprint(1)\n", "as in `python3 script`"),
    "plain_sh": (b"#!/bin/sh -e\n", "as in `sh plain_sh`"),
    "empty": (b"", "is not a program of this system"),
    "cut": (b"\x7fELF\2\1\1" + bytes(9) + b"\2\0\x3e\0", "64-bit x86 program"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_no_program_is_refused_before_anything_is_measured(
    tmp_path: Path, refusal: Refused, name: str
) -> None:
    content, sentence = SCRIPTS[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / name).chmod(0o755)
    assert sentence in refusal("--", f"./{name}", beside=[name])


def test_data_are_no_program_that_a_mode_would_make_one(tmp_path: Path, refusal: Refused) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n")
    assert "it is not a program of this system" in refusal("--", "./a.png", beside=["a.png"])


@needs_qemu
def test_a_program_that_ends_before_it_is_counted_is_refused(cache: Path, tmp_path: Path) -> None:
    build(tmp_path, "ends", WORK + PROGRAMS["ends"])
    done = attempt(cache, tmp_path, "try", "--after", "5s", "--", "./ends")
    assert done.returncode == ExitCode.WRONG_USE, done.stderr
    assert "ends ended before --after 5s" in done.stderr


@needs_qemu
def test_a_program_that_computes_without_an_end_gets_all_that_is_possible(
    cache: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build(tmp_path, "ignores", WORK + PROGRAMS["ignores"])
    code = attempt_in_short(monkeypatch, cache, tmp_path, "--", "./ignores")
    stderr = capfd.readouterr().err
    assert code == ExitCode.DONE, stderr
    assert "ignores had not ended after" in stderr and "all that is possible" in stderr
    assert not left_running(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file to another user")
def test_a_program_with_other_rights_is_refused(tmp_path: Path, refusal: Refused) -> None:
    program = tmp_path / "becomes"
    shutil.copy(shutil.which("true") or "/bin/true", program)
    os.chown(program, 1, 1)
    program.chmod(0o4755)
    assert "set-user-id" in refusal("--", "./becomes", beside=["becomes"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--duration", "1s", "--driver", "true"), "give --driver or --duration, not both"),
        (("--driver", " "), "--driver is empty"),
        (
            ("--time", "60s", "--after", "10s", "--duration", "30s"),
            "give --time 110s or more",
        ),
    ],
)
def test_times_that_do_not_fit_are_refused_at_once(
    refusal: Refused, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refusal(*words, "--", "sleep", "100")


@needs_qemu
@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--duration", "1s"), ExitCode.DONE, "Slowdown of CPU time"),
        (("--after", "200ms", "--driver", "sleep 1"), ExitCode.DONE, "Slowdown of CPU time"),
        (("--driver", "exit 3"), ExitCode.PROGRAM_FAILED, "the driver 'exit 3' failed: exited 3"),
    ],
)
def test_a_server_is_observed_while_it_serves(
    cache: Path, tmp_path: Path, words: tuple[str, ...], code: int, sentence: str
) -> None:
    build(tmp_path, "server", SERVER)
    done = attempt(cache, tmp_path, "try", *words, "--", "./server")
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert not left_running(tmp_path)


@needs_qemu
def test_a_driver_that_does_not_end_is_refused(
    cache: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build(tmp_path, "server", SERVER)
    words = ("--driver", "sleep 1000", "--", "./server")
    code = attempt_in_short(monkeypatch, cache, tmp_path, *words)
    stderr = capfd.readouterr().err
    assert code == REFUSED, stderr
    assert "the driver 'sleep 1000' had not ended" in stderr
    assert not left_running(tmp_path)


def _run_folder(pid: int) -> Path | None:
    """Return the folder of the run that started process `pid`; None before its exec."""
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(b"NEARFAR_RUN_DIR="):
                return Path(os.fsdecode(entry.partition(b"=")[2]))
    return None


def _wait_for_two(folder: Path) -> Path:
    """Wait until the program and its child work in `folder`; return the folder of their run."""
    until_s = time.monotonic() + patience(120)
    while True:
        runs = [path for pid in left_running(folder) if (path := _run_folder(pid))]
        if len(runs) == 2:
            return runs[0]
        assert time.monotonic() < until_s
        time.sleep(0.05)


@needs_qemu
@pytest.mark.parametrize("verb", ["try", "profile"])
def test_a_killed_run_leaves_nothing_beyond_the_next_start(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    build(tmp_path, "never", WORK + "int main(void) { if (!fork()) setsid(); for (;;) pause(); }")
    process = start(cache, tmp_path, verb, "--", "./never")
    run = _wait_for_two(tmp_path)
    assert run.exists()
    assert list(temporary.iterdir())
    process.send_signal(signal.SIGKILL)
    process.wait()  # not until its output ends, which the program's child holds open
    again = attempt(cache, tmp_path, "profile", "--sample", "1s", "--", "true")
    assert again.returncode == ExitCode.DONE, again.stderr
    until_s = time.monotonic() + patience(60)
    while left_running(tmp_path):  # a killed process ends when the kernel gets to it
        assert time.monotonic() < until_s
        time.sleep(0.05)
    assert not run.exists()
    assert not list(temporary.iterdir())
