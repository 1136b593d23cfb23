"""Processes that end in any way, fork, exec, use threads and signals: their counts are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from by_hand import Build, Run

from nearfar.program.control import Control

LINES = (1 << 20) // 64
"""Lines of the array that every mode works on."""
LOST = 32 * 64
"""Accesses that a process may lose at a sudden end: those of the last list, not yet simulated."""


@pytest.mark.parametrize(
    ("mode", "code"),
    [("_exit", 3), ("abort", -signal.SIGABRT), ("kill", -signal.SIGKILL)],
)
def test_counts_survive_a_sudden_end(build: Build, run: Run, mode: str, code: int) -> None:
    result = run(build("lives.c"), mode)
    assert result.code == code
    assert LINES - LOST <= result.of("make").write_misses.stream <= LINES
    if mode == "_exit":
        assert result.of("make").write_misses.stream == LINES


def test_an_instrumented_program_without_a_run_behaves_normally(
    build: Build, tmp_path: Path
) -> None:
    answer = subprocess.run(
        [build("lives.c"), "threads"], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert answer.stdout == f"{sum(range(1 << 17))}\n"
    assert answer.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_forked_children_continue_in_their_own_files(build: Build, run: Run) -> None:
    result = run(build("lives.c"), "fork", llc=1 << 16)
    assert len(result.files) == 4
    assert [bool(file.header["forked"]) for file in result.files] == [False, True, True, True]
    # The parent fills and sweeps; each child sweeps its inherited memory and fills its own.
    traffic = result.of("make")
    assert traffic.read_misses.total() == (1 + 3) * LINES
    assert traffic.write_misses.stream == (1 + 3) * LINES
    # Inherited memory is not counted again for each child.
    parents, childrens = result.named("main lives.c:61"), result.named("main lives.c:73")
    assert (parents.allocations, childrens.allocations) == (1, 3)
    assert parents.peak_live_bytes < 2 << 20


def test_vfork_leaves_the_parent_counting(build: Build, run: Run) -> None:
    result = run(build("lives.c"), "vfork", llc=1 << 16)
    assert result.code == 0
    assert len(result.files) == 1
    assert result.of("make").read_misses.total() == 2 * LINES


@pytest.mark.parametrize("mode", ["exec", "spawn"])
def test_an_execed_program_is_counted_in_addition(build: Build, run: Run, mode: str) -> None:
    result = run(build("lives.c"), mode, llc=1 << 16)
    assert len(result.files) == 2
    # The first process loses its last accesses when it becomes the other.
    assert 2 * LINES - LOST <= result.of("make").write_misses.stream <= 2 * LINES


def test_threads_share_the_cache_and_their_stacks_are_stacks(build: Build, run: Run) -> None:
    result = run(build("lives.c"), "threads", llc=64 << 20)
    # Main and at least one of 8 at once.
    assert 2 <= int(result.files[0].header["threads"]) <= 9
    assert result.named("< main").allocations == 1
    assert result.named("< thread").allocations == 8
    # With a cache that holds everything each line misses once, or less: memory freed by one thread
    # may be the next one's.
    assert LINES <= result.of("make").misses() <= 9 * LINES
    assert result.of("stacks").accesses == pytest.approx(8 * 1024, rel=0.5)


def test_a_cancelled_thread_leaves_no_lock(build: Build, run: Run) -> None:
    result = run(build("lives.c"), "cancel")
    assert result.code == 0
    assert result.of("make").accesses > 0


def test_signal_handlers_may_touch_any_memory(build: Build, run: Run) -> None:
    result = run(build("lives.c"), "signals")
    assert result.code == 0
    assert result.output == f"{sum(range(1 << 17))}\n"
    assert result.of("make").accesses > 300 << 17


def test_counting_continues_after_longjmp_out_of_handlers(build: Build, run: Run) -> None:
    result = run(build("lives.c"), "longjmp")
    assert result.code == 0
    assert result.of("make", "after").accesses == pytest.approx(1 << 17, rel=0.01)


def test_marks(build: Build, run: Run) -> None:
    result = run(build("lives.c"), "marks")
    names = [name for name, _, _ in result.phases]
    assert names[:4] == ["", "-", "phase 0", "phase 1"]
    # 254 names fit beside the two built-in phases; the rest share one phase.
    assert names[-1] == "other phases"
    entries = {name: (count, operations) for name, count, operations in result.phases}
    assert entries["phase 7"] == (1, 1.0)
    assert entries["other phases"][0] == 300 + 1 - 253
    assert result.of("make", "other phases").accesses == 2 << 17


def test_a_library_loaded_later_is_counted_and_named(build: Build, run: Run) -> None:
    plugin = build("plugin.c", "-shared", "-fPIC", name="plugin.so")
    result = run(build("lives.c"), "plugin", str(plugin))
    assert result.of("plugin_work").write_misses.stream == pytest.approx(LINES, rel=0.01)
    assert result.of("globals of plugin.so").write_misses.stream == pytest.approx(
        (1 << 16) * 8 / 64, rel=0.01
    )


def test_without_address_space_the_program_runs_and_the_run_reports_why(
    build: Build, run: Run
) -> None:
    result = run(build("lives.c"), "limit", address_space=16 << 30)
    assert result.code == 0
    assert result.output.startswith("alive")
    assert "address space" in result.message


def test_external_marks_and_time_of_the_program_alone(build: Build, run: Run) -> None:
    cpu_ns: list[int] = []

    def drive(control: Control, process: Any) -> None:
        control.begin("served")
        _burn(process.pid, 0.2)
        control.end("served", operations=20)
        cpu_ns.append(control.phases()[2].cpu_ns)
        process.send_signal(signal.SIGTERM)

    result = run(build("lives.c"), "serve", during=drive)
    assert result.code == -signal.SIGTERM
    assert ("served", 1, 20.0) in result.phases
    assert result.of("make", "served").accesses > 0
    assert cpu_ns[0] >= 0.2e9


def _burn(pid: int, seconds: float) -> None:
    """Wait until process `pid` has used that much CPU time."""
    clock = (~pid << 3) | 2
    until = time.clock_gettime(clock) + seconds
    while time.clock_gettime(clock) < until:
        os.sched_yield()
