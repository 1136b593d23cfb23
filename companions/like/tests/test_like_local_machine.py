"""Free memory of made-up machines: sockets, nodes without CPUs, Memory Mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar_like import local_machine
from nearfar_like.bench import BufferPlace, Chase, NodeFacts, Worker

GIB = 1 << 30
# The guide's second machine has four sockets and 6144 GB.
FOUR = [NodeFacts(node, (node,), 1536 * GIB, 1500 * GIB) for node in range(4)]
CXL = [NodeFacts(0, (0, 1), 64 * GIB, 60 * GIB), NodeFacts(1, (), 128 * GIB, 128 * GIB)]
MEMORY_MODE = [NodeFacts(0, (0, 1), 252 * GIB, 240 * GIB, cache_bytes=64 * GIB)]
PLENTY = 1 << 50


def chase(size_bytes: int, place: BufferPlace = BufferPlace()) -> Chase:  # noqa: B008 - frozen
    return Chase(0, place, size_bytes)


def worker(cpu: int, size_bytes: int, shared: bool = False) -> Worker:
    return Worker(cpu, BufferPlace(), size_bytes, "read", shared=shared)


def test_a_buffer_beyond_one_sockets_memory_is_refused() -> None:
    with pytest.raises(NearfarError, match=r"on node 0: it has 1\.50 TiB") as caught:
        local_machine.check_free_memory(chase(6144 * GIB), [], FOUR, PLENTY)
    assert caught.value.exit_code == ExitCode.MACHINE_LACKS
    assert "a thread has one node's memory, not that of all 4" in str(caught.value)
    max_mib = int(1500 * GIB * local_machine.MAX_FREE_SHARE) >> 20
    assert f"use -b{max_mib}m or less" in str(caught.value)
    local_machine.check_free_memory(chase(1300 * GIB), [], FOUR, PLENTY)


def test_buffers_of_all_threads_count_together() -> None:
    threads = [worker(0, 40 * GIB), worker(1, 40 * GIB)]
    with pytest.raises(NearfarError, match=r"2 buffers of 40\.0 GiB do not fit on node 0"):
        local_machine.check_free_memory(None, threads, CXL, PLENTY)
    local_machine.check_free_memory(None, threads[:1], CXL, PLENTY)
    local_machine.check_free_memory(
        None, [worker(cpu, 40 * GIB, shared=True) for cpu in (0, 1)], CXL, PLENTY
    )


def test_the_named_node_counts_and_so_does_the_control_group() -> None:
    local_machine.check_free_memory(chase(100 * GIB, BufferPlace(1)), [], CXL, PLENTY)
    with pytest.raises(NearfarError, match="on this machine"):
        local_machine.check_free_memory(chase(100 * GIB, BufferPlace(1)), [], CXL, 8 * GIB)
    folder = BufferPlace(folder=Path("/mnt/pmem0"))
    local_machine.check_free_memory(chase(1000 * GIB, folder), [], CXL, 8 * GIB)


def test_a_cpu_without_own_memory_takes_the_nearest() -> None:
    nodes = [NodeFacts(0, (0,), 0, 0), NodeFacts(1, (1,), GIB, GIB)]
    assert local_machine.home_node(BufferPlace(), 0, nodes) == 1
    assert local_machine.home_node(BufferPlace(0), 0, nodes) == 0


def test_memory_mode_is_reported() -> None:
    (within,) = local_machine.memory_mode_notes(chase(60 * GIB), [], MEMORY_MODE)
    assert "so this is the cache, which is DRAM" in within
    (beyond,) = local_machine.memory_mode_notes(
        None, [worker(0, 64 * GIB), worker(1, 64 * GIB)], MEMORY_MODE
    )
    assert "hit it 50% of the time at most" in beyond
    assert local_machine.memory_mode_notes(chase(60 * GIB), [], CXL) == []


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.mark.parametrize(
    ("info", "ghz"),
    [
        ("model name\t: Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz\nbogomips\t: 4600.00\n", 2.3),
        ("model name\t: AMD EPYC\nflags\t: fpu\nbogomips\t: 5192.27\n", 2.596),
        ("CPU implementer\t: 0x41\nBogoMIPS\t: 50.00\n", 3.0),
    ],
)
def test_nominal_clock(tmp_path: Path, info: str, ghz: float) -> None:
    write(tmp_path, "proc/cpuinfo", "processor\t: 0\n" + info)
    write(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3000000\n")
    assert local_machine.nominal_ghz(tmp_path) == pytest.approx(ghz, abs=0.001)


def test_pages_and_cores(tmp_path: Path) -> None:
    write(tmp_path, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    assert local_machine.default_pages(tmp_path) == "4k"
    write(tmp_path, "sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
    assert local_machine.default_pages(tmp_path) == "thp"
    for cpu in range(4):
        path = f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        write(tmp_path, path, f"{cpu % 2},{cpu % 2 + 2}\n")
    assert local_machine.one_per_core((0, 1, 2, 3), tmp_path) == (0, 1)
    assert local_machine.one_per_core((3, 2), tmp_path) == (3, 2)


def test_app_direct_is_reported_where_memory_is_short(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert local_machine.app_direct_hint(tmp_path) == ""
    write(tmp_path, "sys/bus/nd/devices/region0/size", str(128 * GIB))
    write(tmp_path, "sys/bus/nd/devices/namespace0.0/size", str(126 * GIB))
    write(tmp_path, "sys/bus/nd/devices/namespace0.0/mode", "memory\n")
    hint = local_machine.app_direct_hint(tmp_path)
    # The guide's first error: 64 GB of DRAM, Optane in App Direct mode, a larger buffer.
    nodes = [NodeFacts(0, (0,), 64 * GIB, 62 * GIB)]
    with pytest.raises(NearfarError, match=r"App Direct mode .*: use -J FOLDER$"):
        local_machine.check_free_memory(chase(70 * GIB), [], nodes, PLENTY, hint)
