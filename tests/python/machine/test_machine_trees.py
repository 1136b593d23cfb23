"""Descriptions that nearfar reads from each machine tree of tests/machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from machine_trees import HERE, NAMES, answers, make

from nearfar.documents import MachineProfile
from nearfar.machine.detect import llc
from nearfar.machine.read import read_machine


def test_the_four_kinds_of_machine_are_present() -> None:
    assert len(NAMES) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_a_tree_reads_as_accepted(name: str) -> None:
    for path, text in answers(name).items():
        expected = path.read_text() if path.exists() else ""
        if text != expected:
            pytest.fail(
                f"{path.name} differs; if the new answer is right, accept it with:\n"
                f"  .venv/bin/python tests/machines/accept.py {name} && git diff tests/machines\n"
                + _difference(expected, text)
            )


def test_every_accepted_description_has_its_tree() -> None:
    assert {path.stem for path in HERE.glob("*.json")} == set(NAMES)
    assert {path.stem for path in HERE.glob("*.txt")} == set(NAMES)


# The following checks compare with how each machine was made, not with an earlier description.


def _read(name: str, root: Path) -> MachineProfile:
    return read_machine(make(name, root))


def _lack(machine: MachineProfile, name: str) -> tuple[str, str]:
    (results,) = [line for line in machine.abilities if line.name == name]
    assert not results.usable
    return results.detail, results.remedy


def test_one_node(tmp_path: Path) -> None:
    machine = _read("vm-one-node", tmp_path)
    assert [(node.id, node.cpus) for node in machine.nodes] == [(0, [0, 1])]
    assert machine.virtualisation == "kvm"
    assert "does not pass them on" in _lack(machine, "counters")[0]
    assert llc(tmp_path) == (32 << 20, 16)


def test_two_sockets_with_hyperthreads(tmp_path: Path) -> None:
    machine = _read("two-sockets", tmp_path)
    assert (machine.sockets, machine.cores, machine.threads_per_core) == (2, 8, 2)
    assert machine.nodes[0].distances == {"0": 10, "1": 21}
    cache = machine.last_level_cache()
    assert cache is not None
    assert (cache.size_bytes, cache.ways, cache.count) == (22 << 20, 11, 2)
    assert cache.shared_by_cpus == [0, 1, 2, 3, 8, 9, 10, 11]
    assert _lack(machine, "counters")[1] == "sudo sysctl kernel.perf_event_paranoid=2"
    assert "transparent_hugepage" in _lack(machine, "huge-pages")[1]
    assert machine.huge_pages == {"2MiB": 512, "1GiB": 4}
    assert "tiers" not in {line.name for line in machine.abilities}


def test_two_sockets_with_two_far_nodes(tmp_path: Path) -> None:
    machine = _read("two-sockets-two-far-nodes", tmp_path)
    far = [node for node in machine.nodes if not node.cpus]
    assert [node.id for node in far] == [2, 3]
    assert [node.tier for node in machine.nodes] == [4, 4, 10, 10]
    for node in far:
        assert node.hmat is not None
        # access0, a GPU's view, has 200 ns; the CPUs' view is access1.
        assert node.hmat.read_latency_ns == 250
        assert node.hmat.write_bandwidth_gb_per_s == 24
    assert [device.node for device in machine.cxl] == [2, 3]
    assert _lack(machine, "demotion")[1].startswith("echo true | sudo tee /sys/kernel/mm/numa/")
    assert _lack(machine, "promotion")[1] == "sudo sysctl kernel.numa_balancing=2"


def test_nvdimm_and_cxl_of_the_virtual_machine(tmp_path: Path) -> None:
    """The guest was made with 250 ns and 10 GB/s for node 1, NVDIMM for node 2."""
    machine = _read("vm-nvdimm-and-cxl", tmp_path)
    far = machine.nodes[1]
    assert far.cpus == []
    assert far.hmat is not None
    assert (far.hmat.read_latency_ns, far.hmat.read_bandwidth_gb_per_s) == (250, 10)
    modes = {memory.device: (memory.mode, memory.node) for memory in machine.persistent_memory}
    assert modes == {"pmem1": ("fsdax", 2), "dax1.1": ("devdax", 2)}
    assert machine.persistent_memory[0].mount == "/mnt/pmem"
    assert machine.persistent_memory[0].dax is True
    assert [(d.device, d.persistent_bytes, d.node) for d in machine.cxl] == [
        ("mem0", 256 << 20, None)
    ]
    assert "one tier" in _lack(machine, "tiers")[0]
    assert "cxl create-region" in _lack(machine, "cxl-memory")[1]


def test_the_virtual_machine_with_its_memory_as_system_ram(tmp_path: Path) -> None:
    machine = _read("vm-nvdimm-and-cxl-as-ram", tmp_path)
    assert [node.id for node in machine.nodes] == [0, 1, 2, 3]
    assert machine.nodes[2].hmat is not None
    assert machine.nodes[2].hmat.read_latency_ns == 350
    modes = {memory.device: memory.mode for memory in machine.persistent_memory}
    assert modes == {"pmem1": "fsdax", "dax1.1": "system-ram", "dax0.0": "system-ram"}
    assert machine.cxl[0].node == 3


def test_memory_mode_and_every_wrong_state_of_a_namespace(tmp_path: Path) -> None:
    machine = _read("optane-memory-mode-and-raw", tmp_path)
    assert machine.nodes[0].memory_side_cache_bytes == 96 << 30
    remedies = [line.remedy for line in machine.abilities if line.name == "persistent-memory"]
    assert [remedy.split("--")[-1] for remedy in remedies[:3]] == [
        "region=region0",
        "reconfig=namespace1.0",
        "reconfig=namespace1.1",
    ]
    assert "mkfs.ext4 /dev/pmem1.2" in remedies[3]
    assert "umount /mnt/pmem1.3" in remedies[4]


def test_a_single_tier_explains_why_nothing_migrates(tmp_path: Path) -> None:
    machine = _read("one-tier-nosoftreserve", tmp_path)
    why, remedy = _lack(machine, "tiers")
    assert "migrates nothing" in why
    assert "efi=nosoftreserve" in remedy
    assert "bookworm-backports" in _lack(machine, "weighted-interleave")[1]
    assert machine.caches == [], "an AMD's /proc/cpuinfo tells the second level, not the last"


def test_soft_reserved_memory_and_unknown_ways(tmp_path: Path) -> None:
    machine = _read("soft-reserved-arm", tmp_path)
    assert machine.architecture == "aarch64"
    assert (machine.cpu_model, machine.cpu_id) == ("Arm part 0xd4f", "0x41-0xd4f")
    assert "--mode=system-ram dax0.0" in _lack(machine, "soft-reserved")[1]
    assert [cache.size_bytes >> 10 for cache in machine.caches if cache.level == 2] == [1024, 512]
    assert machine.last_level_cache().ways is None  # type: ignore[union-attr]
    assert llc(tmp_path) == (114 << 20, 16)


def test_without_sysfs_caches_intel_reports_the_last_level(tmp_path: Path) -> None:
    machine = _read("old-guest-without-sysfs-caches", tmp_path)
    assert llc(tmp_path)[0] == 20 << 20
    assert machine.virtualisation == "xen"
    assert [node.cpus for node in machine.nodes] == [[0, 1]]


def _difference(expected: str, found: str) -> str:
    import difflib

    lines = difflib.unified_diff(
        expected.splitlines(), found.splitlines(), "accepted", "now", n=1, lineterm=""
    )
    return "\n".join(lines)


def test_descriptions_are_valid_documents() -> None:
    import msgspec

    from nearfar.documents import producer

    for name in NAMES:
        data = json.loads((HERE / f"{name}.json").read_text())
        data["producer"] = msgspec.to_builtins(producer(["tests"]))
        assert msgspec.convert(data, MachineProfile).cpus
