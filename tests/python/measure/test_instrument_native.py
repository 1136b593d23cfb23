"""Instrument, protocols, copies and cores run on this machine's memory; no time is checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar.measure.competing import CompetingCopies
from nearfar.measure.instrument import examine
from nearfar.measure.matrix import RealProber, measure_core_to_core
from nearfar.measure.open_subject import open_memory
from nearfar.measure.protocols import RECIPES, describe, run_protocols
from nearfar.measure.subject import Subject
from nearfar.memories import topology
from nearfar.memories.spec import parse_spec
from nearfar.options.measure import MemoryOptions

pytest.importorskip("nearfar._measure")


@pytest.fixture(scope="module")
def dram() -> Subject:
    return open_memory(MemoryOptions(largest="32MiB"), quick=True).subject


def test_everything_is_examined_on_real_memory(dram: Subject) -> None:
    result = examine(dram, rounds=1)
    names = {verdict.name for verdict in result.verdicts}
    assert {"timer", "prefetch", "prefetchers", "cpus", "frequency", "steal", "pressure"} <= names
    assert float(result.environment["timer_overhead_ns"]) > 0
    assert all(key and text for key, text in result.environment.items())
    assert any(key.startswith("stride_") for key in result.environment)


@pytest.mark.timing
def test_every_protocol_runs_on_real_memory_and_adds_up(dram: Subject) -> None:
    results = run_protocols(dram, rounds=1)
    assert {result.name for result in results} == set(RECIPES.names())
    plain = results[0]
    for result in results:
        assert result.value_ns > 0
        rest = result.value_ns - sum(result.attributed.values())
        assert rest == pytest.approx(plain.value_ns, rel=1e-6), describe(result)


def test_copies_compete_in_two_buffers_of_one_memory() -> None:
    # Buffers of four times a large cache take 15 s to map; no rate is judged.
    here = replace(topology.detect(), total_llc_bytes=4 << 20)
    copies = CompetingCopies(parse_spec("dram"), parse_spec("dram"), here)
    assert copies.one_memory
    assert len(copies.together((("A->A", 1),))) == 1
    if copies.threads > 1:
        for second in ("B->B", "B->A", "A->B"):
            rates = copies.together((("A->A", 1), (second, 1)))
            assert len(rates) == 2
            assert min(rates) > 0
        with pytest.raises(ValueError, match="second group"):
            copies.together((("A->A", 1), ("A->A", 1)))


def test_a_node_is_probed_and_lines_are_passed_between_cores() -> None:
    here = topology.detect()
    probe = RealProber(here.node or 0, here)
    assert probe.latency_ns(here.cpus) > 0
    assert probe.read_gb_per_s(here.cpus) > 0
    pairs, _ = measure_core_to_core(here.cpus, rounds=1)
    assert len(pairs) == min(len(here.cpus) * (len(here.cpus) - 1) // 2, 300)
    assert all(pair.value_ns > 0 for pair in pairs)
