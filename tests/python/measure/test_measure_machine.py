"""Topology, available memory and environment, from made-up sysfs and procfs trees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.measure import environment, room
from nearfar.memories import topology


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return root


def cache(cpu: int, level: int, kind: str, size: str, *, shared: str) -> dict[str, str]:
    index = 9 if kind == "Instruction" else level
    folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
    return {
        f"{folder}/level": str(level),
        f"{folder}/type": kind,
        f"{folder}/size": size,
        f"{folder}/shared_cpu_list": shared,
    }


@pytest.fixture
def two_sockets(tmp_path: Path) -> Path:
    """Make two sockets of two cores with two threads each, and a node without CPUs."""
    files = {
        "sys/devices/system/node/node0/cpulist": "0-1,4-5",
        "sys/devices/system/node/node1/cpulist": "2-3,6-7",
        "sys/devices/system/node/node2/cpulist": "",
        "sys/devices/system/node/node2/meminfo": (
            "Node 2 MemTotal:       1024 kB\nNode 2 MemFree:         512 kB\n"
            "Node 2 Inactive(file):  256 kB"
        ),
    }
    for cpu in range(8):
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = (
            f"{cpu % 4},{cpu % 4 + 4}"
        )
        files |= cache(cpu, 1, "Data", "48K", shared=f"{cpu % 4},{cpu % 4 + 4}")
        files |= cache(cpu, 1, "Instruction", "32K", shared=f"{cpu % 4},{cpu % 4 + 4}")
        files |= cache(cpu, 3, "Unified", "16384K", shared="0-1,4-5" if cpu % 4 < 2 else "2-3,6-7")
    return write(tmp_path, files)


def test_one_cpu_of_each_core_of_one_node(two_sockets: Path) -> None:
    result = topology.detect(two_sockets, allowed=set(range(8)))
    assert result.cpus == (0, 1)
    assert (result.node, result.nodes) == (0, (0, 1, 2))
    assert result.llc_bytes == 16 << 20
    assert result.total_llc_bytes == 32 << 20
    assert result.llc_known


def test_only_cpus_that_this_process_may_use(two_sockets: Path) -> None:
    result = topology.detect(two_sockets, allowed={5, 6, 7})
    assert (result.cpus, result.node) == ((5,), 0)
    assert topology.detect(two_sockets, allowed={3, 7}).cpus == (3,)


def test_several_caches_are_added(tmp_path: Path) -> None:
    files: dict[str, str] = {"sys/devices/system/node/node0/cpulist": "0-3"}
    for cpu in range(4):
        files |= cache(cpu, 3, "Unified", "32768K", shared="0-1" if cpu < 2 else "2-3")
    result = topology.detect(write(tmp_path, files), allowed=set(range(4)))
    assert result.llc_bytes == 32 << 20
    assert result.total_llc_bytes == 64 << 20
    assert result.cpus == (0, 1, 2, 3)


def test_a_machine_without_any_files(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    result = topology.detect(tmp_path, allowed={0, 1})
    assert (result.node, result.nodes, result.cpus) == (None, (), (0, 1))
    assert not result.llc_known
    assert result.llc_bytes == topology.ASSUMED_LLC_BYTES


def test_node_memory_and_the_kind_of_a_node(two_sockets: Path) -> None:
    assert topology.node_memory_bytes(2, two_sockets) == (1 << 20, 768 << 10)
    assert topology.node_memory_bytes(9, two_sockets) == (0, 0)
    assert topology.node_technology(2, two_sockets) == "remote-dram"
    write(two_sockets, {"sys/bus/nd/devices/region0/target_node": "2"})
    assert topology.node_technology(2, two_sockets) == "pmem"


def caches(llc_bytes: int, total_llc_bytes: int) -> topology.Topology:
    return topology.Topology((0, 1), 0, (0,), llc_bytes, 0, total_llc_bytes, True)


def test_regions_are_eight_caches_where_memory_allows() -> None:
    sizes = room.plan_room(caches(32 << 20, 64 << 20), 8 << 30, 0, 2)
    assert sizes.largest_bytes == 256 << 20
    assert sizes.buffer_bytes == 256 << 20
    assert sizes.total_bytes <= 8 << 30


@pytest.mark.parametrize("buffers", [1, 2])
@pytest.mark.parametrize("available", [64 << 20, 300 << 20, 1 << 30])
def test_short_memory_shrinks_regions_and_is_never_exceeded(available: int, buffers: int) -> None:
    sizes = room.plan_room(caches(32 << 20, 32 << 20), available, 0, 2, buffers)
    assert sizes.total_bytes <= available
    assert sizes.largest_bytes < 256 << 20


def test_too_little_memory_is_a_missing_ability_of_the_machine() -> None:
    for wanted in (0, 1 << 30):
        with pytest.raises(NearfarError) as refused:
            room.plan_room(caches(32 << 20, 32 << 20), 10 << 20, wanted, 2)
        assert refused.value.exit_code is ExitCode.MACHINE_LACKS


def test_a_control_group_limits_the_available_memory(tmp_path: Path) -> None:
    proc = write(tmp_path / "proc", {"meminfo": "MemTotal: 9999 kB\nMemAvailable: 4096 kB"})
    assert room.available_bytes(proc, tmp_path / "none") == 4 << 20
    group = {"fs/cgroup/memory.max": str(3 << 20), "fs/cgroup/memory.current": str(1 << 20)}
    assert room.available_bytes(proc, write(tmp_path / "sys", group)) == 2 << 20
    write(tmp_path / "sys", {"fs/cgroup/memory.max": "max"})
    assert room.available_bytes(proc, tmp_path / "sys") == 4 << 20


def counters(busy_s: float = 0, steal_s: float = 0, all_s: float = 0, own_s: float = 0):
    return environment.Snapshot(0.5, busy_s, steal_s, all_s, own_s, 10, 0, 3)


def test_a_quiet_machine_gives_no_warning() -> None:
    recorded, warnings = environment.describe(counters(), counters(60, 0.5, 100, 55))
    assert warnings == []
    assert recorded["other_programs_cpu_share"] == "0.050"
    assert recorded["steal_share"] == "0.0050"


def test_steal_and_other_programs_give_a_warning() -> None:
    _, warnings = environment.describe(counters(), counters(90, 2, 100, 40))
    assert any("hypervisor took 2.0%" in warning for warning in warnings)
    assert any("other programs used 50%" in warning for warning in warnings)


def test_only_pages_back_from_swap_indicate_short_memory(tmp_path: Path) -> None:
    after = replace(counters(), major_faults=400)
    assert environment.describe(counters(), after)[1] == [], "libraries are loaded late"
    recorded, warnings = environment.describe(counters(), replace(after, swapped_in_pages=300))
    assert any("300 pages were read back from swap" in warning for warning in warnings)
    assert (recorded["pages_swapped_in"], recorded["page_faults_major"]) == ("300", "400")
    files = {"stat": "cpu 1 2 3 4 5 6 7 8 0 0", "vmstat": "pswpout 9\npswpin 7\npgfault 1"}
    assert environment.snapshot(write(tmp_path, files)).swapped_in_pages == 7


def test_facts_of_a_machine_without_files_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    facts = environment.fixed_facts(0, tmp_path)
    assert facts["governor"] == facts["transparent_huge_pages"] == "unknown"
    files = {
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    }
    facts = environment.fixed_facts(0, write(tmp_path, files))
    assert (facts["governor"], facts["transparent_huge_pages"]) == ("powersave", "madvise")


def test_the_counters_of_this_machine_advance() -> None:
    first = environment.snapshot()
    second = environment.snapshot()
    assert second.all_s >= first.all_s > 0
    assert second.own_s >= first.own_s > 0
