"""Bandwidth by number of threads: what others take from one, and what too many lose together."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import samples

from nearfar.base.estimate import Estimate
from nearfar.devices.curves import idle_latency_ns
from nearfar.devices.library import load_device
from nearfar.predict.core_time import BY_CLASSES, StreamFetch, has_prefetcher, line_costs
from nearfar.predict.crowding import UNCROWDED, crowded, crowding, sharing
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.memory import shared_memory, written_memory
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.traffic import (
    COLUMNS,
    NT_LINE,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    PhaseTraffic,
)

OPTANE = load_device("optane-100-1dimm")


def test_figures_by_threads_say_what_more_threads_cost():
    """One module writes 2.22 GB/s with 1 thread, 1.53 with 8, 0.8 with 24."""
    writes = crowding(OPTANE, "nt-store")
    assert crowded(writes, 1.0) == 1.0
    assert crowded(writes, 8.0) == pytest.approx(2.22 / 1.53)
    assert crowded(writes, 24.0) == pytest.approx(2.22 / 0.8)
    assert crowded(writes, 8.0) < crowded(writes, 10.0) < crowded(writes, 12.0)


def test_beyond_the_most_threads_measured_the_last_figure_holds():
    writes = crowding(OPTANE, "nt-store")
    assert crowded(writes, 96.0) == crowded(writes, 24.0)


def test_a_best_figure_without_a_number_of_threads_hides_none_that_has_one():
    """MLC reads 18.57 GB/s with one core, 53.99 with 4, and 69.37 with 8 and at best."""
    device = load_device("ddr5-snc4-eurosys24")
    reads = sharing(device)
    assert crowded(reads, 4.0) == pytest.approx(4 * 18.57 / 53.99)
    assert crowded(reads, 12.0) == crowded(reads, 8.0) == pytest.approx(8 * 18.57 / 69.37)
    assert crowded(crowding(device, "read"), 12.0) == pytest.approx(69.37 / 68.59)


@pytest.mark.parametrize("name", ["cxl-e3s-x8", "ddr5-4800-local", "cxl-fpga-dmsim"])
def test_a_device_without_figures_by_threads_loses_nothing(name: str):
    device = load_device(name)
    assert crowding(device, "read") == crowding(device, "nt-store") == UNCROWDED


def time_ns(column: int, threads: float) -> float:
    """Return wall time of `threads` that read and store past the caches 1e6 lines on Optane."""
    near = near_memory(samples.device(read_gb_per_s=100.0, write_gb_per_s=100.0))
    lines = np.zeros((1, COLUMNS))
    lines[0, [STREAM, column, NT_LINE]] = 1e6
    near_ns = 1e6 * near.core_stream_ns * threads
    phase = PhaseTraffic("p", Estimate(near_ns, near_ns, near_ns), 1.0, None, lines, 0.0)
    phase = replace(phase, concurrency=threads)
    model = InversionModel(phase, near, far_memory(OPTANE, near))
    return float(model.times_ns(phase.total)) / threads


def test_many_threads_write_in_sequence_slower_but_no_slower_than_one_by_one():
    few, many = time_ns(WRITE_BACK_STREAM, 4.0), time_ns(WRITE_BACK_STREAM, 24.0)
    assert many > 1.5 * few
    assert many <= time_ns(WRITE_BACK, 24.0)


def test_lines_that_caches_evict_are_hardly_combined_whatever_the_number_of_threads():
    memory = near_memory(OPTANE)
    evicted, half = written_memory(memory, 0.0), written_memory(memory, 0.5)
    assert crowded(evicted.crowded_writes, 24.0) == 1.0
    assert half.write_ns[1] == pytest.approx((memory.write_ns[1] + memory.uncached_ns) / 2)
    slowest = crowded(crowding(OPTANE, "nt-store"), 24.0)
    expected = (memory.write_ns[1] + slowest * memory.uncached_ns) / 2 / half.write_ns[1]
    assert crowded(half.crowded_writes, 24.0) == pytest.approx(expected)


def test_several_sequences_of_a_thread_crowd_a_memory_of_blocks_as_threads_do():
    def written_ns(device: str, threads: float, sequences: float) -> float:
        memory = written_memory(near_memory(load_device(device)), 1.0)
        streams = StreamFetch(count=sequences, written=sequences)
        return line_costs(memory, BY_CLASSES, streams, threads)[WRITE_BACK_STREAM, 4] / threads

    assert written_ns("optane-100-1dimm", 4.0, 4.0) == written_ns("optane-100-1dimm", 16.0, 1.0)
    assert written_ns("optane-100-1dimm", 4.0, 4.0) > written_ns("optane-100-1dimm", 4.0, 1.0)
    dram = "ddr4-2666-cascade-lake"
    assert written_ns(dram, 24.0, 4.0) == written_ns(dram, 24.0, 1.0)


def test_other_threads_slow_one_s_sequential_reads_before_the_memory_is_full():
    """STREAM's triad gets 12.4 GB/s with one thread and 19.4 with two."""
    near = near_memory(load_device("ddr5-local-streamer"))
    shared = shared_memory(near, 2.0)
    assert shared.core_stream_ns / near.core_stream_ns == pytest.approx(2 * 16.52 / 25.84)
    assert shared_memory(near, 1.0) is near
    assert shared_memory(near, 3.0).core_stream_ns > shared.core_stream_ns
    assert shared_memory(shared, 2.0) is shared


def test_a_shared_prefetcher_is_still_one():
    """With 24 threads a line takes longer than a demand miss: the streams stay prefetched."""
    near = near_memory(load_device("ddr4-2666-cascade-lake"))
    assert has_prefetcher(near) and has_prefetcher(shared_memory(near, 24.0))


def test_a_device_without_a_figure_of_one_thread_says_nothing_of_sharing():
    assert sharing(load_device("ddr4-2933-local-xeon5218")) == UNCROWDED


@pytest.mark.parametrize(
    ("in_order_ns", "prefetched"), [(None, False), (10.0, True), (85.0, False)]
)
def test_a_chase_in_order_tells_a_prefetcher_where_bandwidths_cannot(
    in_order_ns: float | None, prefetched: bool
):
    """Streams and parallel misses cost the same where both use all of the core's buffers."""
    near = near_memory(samples.device())
    near = replace(
        near, core_stream_ns=near.cost_ns(32.0), latency_ns=100.0, in_order_ns=in_order_ns
    )
    assert has_prefetcher(near) is prefetched


def test_only_a_latency_measured_here_tells_of_a_prefetcher():
    """Published latencies of reads in order are of machines whose prefetchers are off."""
    published = samples.device()
    measured = msgspec.structs.replace(published, measured=samples.measured_here())
    in_order = idle_latency_ns(published, "read", "sequential")
    assert in_order is not None and near_memory(published).in_order_ns is None
    assert near_memory(measured).in_order_ns == in_order.value_ns
