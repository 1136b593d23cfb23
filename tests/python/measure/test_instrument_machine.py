"""Registers, siblings, clock and interruptions, from made-up trees and figures."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from made_up_subject import MadeUpMemory

from nearfar.measure.instrument import InstrumentWatch, examine, msr, siblings, watch


def tree(root: Path, vendor: str = "GenuineIntel", flags: str = "sse2") -> Path:
    (root / "proc").mkdir()
    (root / "sys").mkdir()
    (root / "proc/cpuinfo").write_text(f"vendor_id\t: {vendor}\nflags\t: {flags}\n")
    return root


def registers(root: Path, cpu: int, address: int, value: int) -> None:
    path = root / f"dev/cpu/{cpu}/msr"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.seek(address)  # the file is sparse up to the register's address
        file.write(struct.pack("<Q", value))


def test_a_disabled_prefetcher_gives_a_warning_with_the_command(tmp_path: Path) -> None:
    tree(tmp_path)
    registers(tmp_path, 0, 0x1A4, 0b0000)
    registers(tmp_path, 1, 0x1A4, 0b0011)
    verdicts = msr.judge((0, 1), tmp_path)
    assert verdicts.state == "doubtful"
    assert "L2 adjacent line, L2 stream" in verdicts.warning
    assert "wrmsr -a 0x1a4 0" in verdicts.warning
    assert msr.judge((0,), tmp_path).state == "good"


def test_amd_has_another_register(tmp_path: Path) -> None:
    tree(tmp_path, "AuthenticAMD")
    registers(tmp_path, 0, 0xC0000108, 1 << 5)
    assert msr.judge((0,), tmp_path).facts["prefetchers_off"] == "L2 up/down"


def test_absent_registers_are_one_sentence_with_modprobe(tmp_path: Path) -> None:
    verdicts = msr.judge((0,), tree(tmp_path))
    assert verdicts.state == "unknown"
    assert verdicts.warning.endswith("msr is missing: modprobe msr")
    assert ". " not in verdicts.warning


def test_a_vendor_without_register_gives_no_warning(tmp_path: Path) -> None:
    verdicts = msr.judge((0,), tree(tmp_path, "Arm"))
    assert (verdicts.state, verdicts.warning) == ("unknown", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_registers_ask_for_root(tmp_path: Path) -> None:
    tree(tmp_path)
    registers(tmp_path, 0, 0x1A4, 0)
    (tmp_path / "dev/cpu/0/msr").chmod(0)
    assert "root" in msr.judge((0,), tmp_path).warning


def cores(root: Path, siblings_of: dict[int, str]) -> Path:
    tree(root)
    for cpu, text in siblings_of.items():
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(text)
    return root


def test_idle_siblings_are_named(tmp_path: Path) -> None:
    root = cores(tmp_path, {0: "0,4", 1: "1,5"})
    verdicts = siblings.judge((0, 1), root, allowed={0, 1, 4, 5})
    assert verdicts.state == "good"
    assert verdicts.facts["siblings_idle"] == "4, 5"


def test_two_threads_of_one_core_give_a_warning(tmp_path: Path) -> None:
    verdicts = siblings.judge((0, 4), cores(tmp_path, {0: "0,4", 4: "0,4"}), allowed={0, 4})
    assert "CPUs 0 and 4 are two threads of one core" in verdicts.warning


def test_a_steady_clock_with_a_few_interruptions_is_good() -> None:
    times = [1000.0 + i % 3 for i in range(40)]
    times[7] = times[21] = 1500.0
    assert watch.judge_frequency(times).state == "good"


def test_a_falling_clock_gives_a_warning_with_its_course() -> None:
    result = watch.judge_frequency([1000.0] * 20 + [1100.0] * 20)
    assert result.state == "doubtful"
    assert result.facts["frequency_trend"] == "+0.100"
    assert watch.judge_frequency([1000.0] * 3).state == "unknown"


def test_the_fixed_loop_leaves_the_affinity_of_the_thread_unchanged() -> None:
    before = os.sched_getaffinity(0)
    assert watch.loop_ns(min(before)) > 0
    assert os.sched_getaffinity(0) == before


def proc(root: Path, steal: int, waited_us: int | None) -> Path:
    root.mkdir(exist_ok=True)
    (root / "stat").write_text(
        f"cpu 0 0 0 0 0 0 0 999999 0 0\ncpu0 500 0 0 500 0 0 0 {steal} 0 0\ncpu1 9 9 9 9 9 9 9 9\n"
    )
    if waited_us is not None:
        (root / "pressure").mkdir(exist_ok=True)
        (root / "pressure/cpu").write_text(
            f"some avg10=0.0 avg60=0.0 avg300=0.0 total={waited_us}\nfull avg10=0 total=1\n"
        )
    return root


def test_only_steal_of_the_measuring_cpus_counts(tmp_path: Path) -> None:
    before = watch.read_counters((0,), proc(tmp_path / "p", 0, 0), clock=lambda: 0.0)
    after = watch.read_counters((0,), proc(tmp_path / "p", 100, 4_000_000), clock=lambda: 10.0)
    steal, switches, pressure = watch.judge_interference(before, after)
    assert steal.state == "doubtful"
    assert steal.facts["steal_of_measuring_cpus"] == "1.0000"
    assert switches.state == "good"
    assert pressure.facts["cpu_pressure"] == "0.400"
    assert pressure.state == "doubtful"


def test_a_kernel_without_pressure_account_is_reported(tmp_path: Path) -> None:
    reading = watch.read_counters((0,), proc(tmp_path / "p", 0, None), clock=lambda: 0.0)
    assert watch.judge_interference(reading, reading)[2].state == "unknown"


def test_a_watch_times_its_loop_once_a_round(tmp_path: Path) -> None:
    asked: list[int] = []

    def loop_ns(cpu: int) -> float:
        asked.append(cpu)
        return 1000.0

    watch = InstrumentWatch((3, 4), loop_ns, proc(tmp_path / "p", 0, 0))
    for number in (0, 0, 0, 1, 1, 2, 3, 4):
        watch.round(number)
    assert asked == [3] * 5
    assert {each.name for each in watch.verdicts()} == {
        "frequency", "steal", "interruptions", "pressure"
    }  # fmt: skip


def test_a_subject_on_this_machine_is_watched() -> None:
    memory = MadeUpMemory(disturbed=0.5)
    memory.cpus = (min(os.sched_getaffinity(0)),)  # type: ignore[attr-defined]
    result = examine(memory)
    names = {verdict.name for verdict in result.verdicts}
    assert {"prefetchers", "cpus", "frequency", "steal", "interruptions", "pressure"} <= names
    assert any("samples were interrupted" in text for text in result.warnings)
