"""`nearfar machine --measure`: pairs as typed, refusals, matrices and CPU pairs on fakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base.errors import CommandError, NearfarError
from nearfar.commands.machine import machine as verb
from nearfar.documents.machine import CoreToCore, JointLimit, MatrixEntry, Node
from nearfar.machine.read import read_machine
from nearfar.machine.render import render
from nearfar.measure import competing
from nearfar.measure.competing import check_pair
from nearfar.measure.matrix import (
    NodePair,
    chosen_pairs,
    measure_core_to_core,
    measure_matrix,
    pairs,
)
from nearfar.measure.measure_machine import parse_pair
from nearfar.memories import topology
from nearfar.memories.spec import MemorySpec, parse_spec


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("dram,node:1", "dram", "node:1"),
        ("dram,dram", "dram", "dram"),
        ("dram,pages=4k,node:1,pages=thp", "dram,pages=4k", "node:1,pages=thp"),
        ("dram,file:/mnt/a,b", "dram", "file:/mnt/a,b"),
        ("file:/mnt/pmem0,dram", "file:/mnt/pmem0", "dram"),
        ("node:0,devdax:/dev/dax0.0", "node:0", "devdax:/dev/dax0.0"),
    ],
)
def test_two_memories_are_separated_at_the_right_comma(text: str, a: str, b: str) -> None:
    assert tuple(map(str, parse_pair(text))) == (a, b)


@pytest.mark.parametrize("text", ["dram", "dram,", "dram;node:1", ",dram", "dram,pages=4k"])
def test_a_single_memory_is_not_a_pair(text: str) -> None:
    with pytest.raises(NearfarError, match="expected two memories with a comma"):
        parse_pair(text)


def test_a_wrong_memory_in_a_pair_is_refused_as_anywhere() -> None:
    with pytest.raises(NearfarError, match="node: needs a node's number"):
        parse_pair("dram,node:x")


def test_joint_needs_measure_and_measures_this_machine(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--joint needs --measure"):
        verb(joint=["dram,dram"])
    (tmp_path / "sys").mkdir()
    with pytest.raises(CommandError, match="captured one"):
        verb(root=tmp_path, measure=True)


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("dram", "node:977", "node 977"),
        ("model:optane-100-1dimm", "dram", "is simulated"),
        ("dram,load=read", "dram", "leave out load="),
        ("dram", "file:/no/such/folder", "there is no /no/such/folder"),
    ],
)
def test_memories_that_cannot_compete_are_refused_at_once(a: str, b: str, why: str) -> None:
    with pytest.raises(NearfarError, match=why):
        check_pair(parse_spec(a), parse_spec(b), topology.detect())


def test_each_memory_of_a_pair_is_obtained_by_its_own_spec(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two nodes differ only in their number; a DAX device's parts come from one source."""
    made: list[str] = []

    def source_of(spec: MemorySpec, _machine: object) -> object:
        made.append(str(spec))
        return lambda _size, _pages: FakePages(str(spec))

    monkeypatch.setattr(competing, "source_of", source_of)
    monkeypatch.setattr(competing, "check_pair", lambda *_: None)
    monkeypatch.setattr(competing, "_buffer_bytes", lambda *_: 1 << 20)
    here = topology.detect()
    copies = competing.CompetingCopies(parse_spec("node:0"), parse_spec("node:1"), here)
    assert not copies.one_memory
    assert {"node:0", "node:1"} <= set(made)
    made.clear()
    dax = parse_spec("devdax:/dev/dax0.0")
    competing.CompetingCopies(dax, dax, here)
    assert made.count("devdax:/dev/dax0.0") == 1


class FakePages:
    """Fakes memory whose pages are on the node of its spec."""

    def __init__(self, spec: str) -> None:
        self.spec = spec

    def nodes(self, _samples: int) -> list[int]:
        return [int(self.spec.rpartition(":")[2])]


def node(number: int, cpus: list[int], memory: int = 1 << 30) -> Node:
    return Node(id=number, cpus=cpus, memory_bytes=memory, free_bytes=memory, distances={})


def test_pairs_are_all_cpus_by_all_memories(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    nodes = [node(0, [0, 1]), node(1, [2, 3]), node(2, []), node(3, [9], memory=0)]
    result = pairs(nodes, {0, 1, 2}, tmp_path)
    assert result == [
        NodePair(cpu_node, cpus, memory)
        for memory in (0, 1, 2)  # node 3 has no memory, and its CPU may not be used
        for cpu_node, cpus in ((0, (0, 1)), (1, (2,)))
    ]


class FarMemory:
    """Fakes a memory of 80 ns and 20 GB/s at home, 30 ns more and half the rate elsewhere."""

    def __init__(self, number: int) -> None:
        if number == 7:
            raise NearfarError("only 0 B are free on node 7")
        self.number = number

    def latency_ns(self, cpus: object) -> float:
        return 80.0 + 30 * self.number

    def read_gb_per_s(self, cpus: object) -> float:
        return 20.0 / (1 + self.number)


def test_the_matrix_has_every_pair_and_reports_missing_ones() -> None:
    cpus = sorted(topology.detect().cpus)
    nodes = [node(0, cpus), node(1, []), node(7, [])]
    told: list[float] = []
    entries, warnings = measure_matrix(
        nodes, lambda _what, share: told.append(share), prober=FarMemory, rounds=3
    )
    assert [(e.cpu_node, e.memory_node, e.latency_ns, e.read_gb_per_s) for e in entries] == [
        (0, 0, 80.0, 20.0),
        (0, 1, 110.0, 10.0),
    ]
    assert warnings == ["memory of node 7 was not measured: only 0 B are free on node 7"]
    assert told == sorted(told)


def test_all_pairs_of_few_cpus_and_a_sample_with_neighbours_of_many() -> None:
    assert chosen_pairs([3, 0, 1]) == [(0, 1), (0, 3), (1, 3)]
    many = chosen_pairs(range(200))
    assert len(many) == len(set(many)) == 300
    assert all((n, n + 1) in many for n in range(199))


def test_core_to_core_reports_sampling_and_failure() -> None:
    result, warnings = measure_core_to_core(
        range(30), hand_over=lambda each, other: 50.0 + other - each, rounds=3
    )
    assert len(result) == 300
    assert result[0].value_ns == 50.0 + result[0].other_cpu - result[0].cpu
    assert warnings == ["core-to-core: 300 of 435 pairs were measured, chosen at random"]
    assert measure_core_to_core([0])[1] == [
        "core-to-core was not measured: this process may use 1 CPU; 2 are needed"
    ]


def test_measured_values_are_shown() -> None:
    machine = read_machine(Path("/"))
    assert "core to core" not in render(machine)
    machine.matrix = [
        MatrixEntry(
            cpu_node=0,
            memory_node=2,
            latency_ns=241.5,
            latency_low_ns=240,
            latency_high_ns=243,
            read_gb_per_s=17.8,
            read_low_gb_per_s=17,
            read_high_gb_per_s=18,
        )
    ]
    machine.core_to_core = [
        CoreToCore(cpu=0, other_cpu=n, value_ns=40.0 + n, low_ns=40, high_ns=90)
        for n in range(1, 20)
    ]
    machine.joint_limits = [
        JointLimit(
            memories=("dram", "node:2"),
            alone_gb_per_s=(66, 60),
            together_gb_per_s=68,
            low_gb_per_s=67,
            high_gb_per_s=69,
            shared=True,
            note="because",
        )
    ]
    shown = " ".join(render(machine).split())
    assert "node 0 to memory of 2: 241.5 ns" in shown
    assert "nearest: CPU 0 to 1: 41.0 ns" in shown
    assert "farthest: CPU 0 to 19: 59.0 ns" in shown
    assert "dram and node:2: shared; copies reach 66.0 and 60.0 GB/s alone, 68.0" in shown
