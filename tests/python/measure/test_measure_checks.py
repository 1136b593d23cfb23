"""Missing, busy or too small memories of made-up machines are refused in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.measure import memory_mode, room
from nearfar.measure.memory_mode import cache_bytes
from nearfar.memories import checks
from nearfar.memories.spec import parse_spec

GIB = 1 << 30
NODES = "sys/devices/system/node"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return root


def refusal(call, *arguments, **settings) -> str:
    with pytest.raises(NearfarError) as refused:
        call(*arguments, **settings)
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return node 0 with memory, node 1 without, node 2 possible but offline."""
    return write(
        tmp_path,
        {
            f"{NODES}/possible": "0-2",
            f"{NODES}/online": "0-1",
            f"{NODES}/node0/meminfo": "Node 0 MemTotal: 1024 kB\nNode 0 MemFree: 512 kB",
            f"{NODES}/node1/meminfo": "Node 1 MemTotal: 0 kB\nNode 1 MemFree: 0 kB",
            "proc/meminfo": "MemTotal: 1024 kB",
        },
    )


def test_nodes(machine: Path) -> None:
    checks.check_node(0, machine)
    assert "no NUMA node 7; it has: 0, 1" in refusal(checks.check_node, 7, machine)
    assert "node 2 is offline" in refusal(checks.check_node, 2, machine)
    assert "node 1 has no memory" in refusal(checks.check_node, 1, machine)


def test_threads() -> None:
    checks.check_threads(None, 2, 0)
    checks.check_threads(2, 2, 0)
    message = refusal(checks.check_threads, 3, 2, 0)
    assert "3 threads need 3 cores, and this process may use 2 of node 0" in message
    assert "--threads 2" in message


def test_a_region_beyond_the_memory_or_the_socket_is_refused() -> None:
    spec = parse_spec("dram")
    checks.check_region(spec, GIB, GIB, "node 0")
    message = refusal(checks.check_region, spec, GIB + 1, GIB, "node 0")
    assert "larger than node 0, which has 1.00 GiB" in message
    assert "another socket" in message
    message = refusal(checks.check_region, parse_spec("node:1"), 2 * GIB, GIB, "node 1")
    assert "another socket" not in message


def test_folders(tmp_path: Path) -> None:
    checks.check_folder(tmp_path, 4096)
    checks.check_folder(tmp_path / ".", 0)
    assert "mount it first" in refusal(checks.check_folder, tmp_path / "nowhere", 0)
    assert "choose a smaller --largest" in refusal(checks.check_folder, tmp_path, 1 << 62)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "permission denied" in refusal(checks.check_folder, tmp_path, 0)


def test_no_dax_device_where_one_was_requested(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    message = str(checks.no_dax(Path("/mnt/x"), tmp_path))
    assert "dax=require" in message
    assert "mount -o dax" in message
    assert "page cache" in message


def namespace(root: Path, mode: str) -> Path:
    """Make a region with one namespace in `mode` and no DAX device."""
    nd = "sys/bus/nd/devices"
    return write(
        root,
        {
            f"{nd}/region0/size": "17179869184",
            f"{nd}/namespace0.0/size": "16909336576",
            f"{nd}/namespace0.0/mode": mode,
            "proc/meminfo": "MemTotal: 1024 kB",
        },
    )


def dax(
    root: Path, *, size: str = "1073741824", align: str = "2097152", driver: str = "device_dax"
):
    here = "sys/bus/dax/devices/dax0.0"
    write(root, {f"{here}/size": size, f"{here}/align": "2097152", f"{here}/target_node": "2"})
    (root / here / "driver").symlink_to(f"../../../bus/dax/drivers/{driver}")
    write(root, {"dev/dax0.0": ""})
    return root


def test_a_dax_device_gives_its_size_and_alignment(tmp_path: Path) -> None:
    assert checks.check_devdax(Path("/dev/dax0.0"), dax(tmp_path)) == (GIB, 2 << 20)
    checks.check_aligned(Path("/dev/dax0.0"), 4 << 20, 2 << 20)
    message = refusal(checks.check_aligned, Path("/dev/dax0.0"), (4 << 20) + 4096, 2 << 20)
    assert "must be a multiple of" in message
    assert "multiple of 2.00 MiB" in message


def test_a_missing_dax_device_names_the_existing_devices(tmp_path: Path) -> None:
    message = refusal(checks.check_devdax, Path("/dev/dax9.0"), dax(tmp_path))
    assert "there are: /dev/dax0.0" in message


def test_a_dax_device_in_use_as_ordinary_memory_is_busy(tmp_path: Path) -> None:
    message = refusal(checks.check_devdax, Path("/dev/dax0.0"), dax(tmp_path, driver="kmem"))
    assert "is busy" in message
    assert "measure node:2" in message
    assert "daxctl reconfigure-device --mode=devdax" in message


def test_an_empty_dax_device(tmp_path: Path) -> None:
    assert "is empty" in refusal(checks.check_devdax, Path("/dev/dax0.0"), dax(tmp_path, size="0"))


def test_namespaces_that_are_in_the_way_are_named(tmp_path: Path) -> None:
    # The Korean guide: "Namespaces exist on specified DIMMs. They have to be removed before".
    message = refusal(checks.check_devdax, Path("/dev/dax0.0"), namespace(tmp_path, "memory"))
    assert "namespaces have another mode" in message
    assert "fsdax" in message
    assert "ndctl create-namespace -f" in message


def test_a_machine_without_any_persistent_memory(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert "has none" in refusal(checks.check_devdax, Path("/dev/dax0.0"), tmp_path)


def huge(root: Path, kib: int, free: int) -> Path:
    here = f"sys/kernel/mm/hugepages/hugepages-{kib}kB"
    return write(root, {f"{here}/free_hugepages": str(free), f"{here}/nr_hugepages": str(free)})


def test_reserved_huge_pages_and_the_command_that_reserves_them(tmp_path: Path) -> None:
    root = huge(tmp_path, 2048, 10)
    checks.check_huge_pages("2m", 20 << 20, root)
    message = refusal(checks.check_huge_pages, "2m", 22 << 20, root)
    assert "11 reserved pages of 2.00 MiB are needed, and 10 are free" in message
    assert "sysctl vm.nr_hugepages=11" in message
    assert "no pages of 1.00 GiB" in refusal(checks.check_huge_pages, "1g", GIB, root)
    message = refusal(checks.check_huge_pages, "1g", 2 * GIB, huge(tmp_path, 1 << 20, 0))
    assert "echo 2 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages" in message


def side_cache(root: Path, size: str) -> Path:
    return write(root, {f"{NODES}/node0/memory_side_cache/index1/size": size, "proc/x": ""})


IPMCTL = """
 MemoryType   | DDR         | PMemModule   | Total
==========================================================
 Volatile     | 0.000 GiB   | 1512.000 GiB | 1512.000 GiB
 AppDirect    | -           | 0.000 GiB    | 0.000 GiB
 Cache        | 384.000 GiB | -            | 384.000 GiB
"""
"""From ipmctl-show-memory-resources(1), not from a machine."""


def test_memory_mode_is_recognised_in_sysfs_or_by_ipmctls_output(tmp_path: Path) -> None:
    root = side_cache(tmp_path, "16777216K")
    assert cache_bytes(0, root, lambda: "") == 16 * GIB
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other", {f"{NODES}/node{n}/cpulist": "0" for n in range(2)})
    assert cache_bytes(0, other, lambda: IPMCTL) == 192 * GIB, "half of it for each socket"
    assert cache_bytes(0, other, lambda: "") == 0
    assert cache_bytes(0, other, lambda: IPMCTL.replace("384.000 GiB", "0.000 GiB")) == 0


def test_buffers_exceed_the_dram_cache_where_memory_allows() -> None:
    assert memory_mode.largest_bytes(16 * GIB, GIB, 64 * GIB) == 32 * GIB
    assert memory_mode.largest_bytes(16 * GIB, GIB, 31 * GIB) == GIB
    assert memory_mode.largest_bytes(GIB, 8 * GIB, 64 * GIB) == 8 * GIB
    assert "persistent memory together" in memory_mode.warning(16 * GIB, 32 * GIB)
    assert "that DRAM was measured" in memory_mode.warning(16 * GIB, GIB)


def test_measuring_stops_before_the_machine_swaps(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    proc = write(tmp_path / "proc", {"meminfo": "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB"})
    room.refuse_to_swap(proc, tmp_path / "sys")
    write(tmp_path / "proc", {"meminfo": "MemTotal: 8388608 kB\nMemAvailable: 102400 kB"})
    assert "before the machine would swap" in refusal(room.refuse_to_swap, proc, tmp_path / "sys")


def test_the_smallest_limit_of_the_enclosing_control_groups_counts(tmp_path: Path) -> None:
    meminfo = {"meminfo": "MemAvailable: 8388608 kB", "self/cgroup": "0::/a/b"}
    proc = write(tmp_path / "proc", meminfo)
    sysfs = tmp_path / "sys"
    group = sysfs / "fs/cgroup"
    write(group / "a", {"memory.max": str(3 * GIB), "memory.current": str(GIB)})
    write(group / "a/b", {"memory.max": "max", "memory.current": str(GIB)})
    assert room.available_bytes(proc, sysfs) == 2 * GIB
    old = {"self/cgroup": "4:memory:/job\n1:name=systemd:/"}
    write(tmp_path / "proc", old)
    write(
        group / "memory/job",
        {"memory.limit_in_bytes": str(GIB), "memory.usage_in_bytes": str(GIB // 4)},
    )
    assert room.available_bytes(proc, sysfs) == GIB * 3 // 4
