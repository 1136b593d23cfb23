"""Bandwidth that a memory loses with more threads than give it its best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import samples

from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.predict.crowding import UNCROWDED, crowded, crowding
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.traffic import (
    COLUMNS,
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


@pytest.mark.parametrize("name", ["cxl-e3s-x8", "ddr5-4800-local", "cxl-fpga-dmsim"])
def test_a_device_without_figures_by_threads_loses_nothing(name: str):
    device = load_device(name)
    assert crowding(device, "read") == crowding(device, "nt-store") == UNCROWDED


def time_ns(column: int, threads: float) -> float:
    """Return wall time of `threads` that read and write back 1e6 lines together on Optane."""
    near = near_memory(samples.device(read_gb_per_s=100.0, write_gb_per_s=100.0))
    lines = np.zeros((1, COLUMNS))
    lines[0, STREAM], lines[0, column] = 1e6, 1e6
    near_ns = 1e6 * near.core_stream_ns * threads
    phase = PhaseTraffic("p", Estimate(near_ns, near_ns, near_ns), 1.0, None, lines, 0.0)
    phase = replace(phase, concurrency=threads)
    model = InversionModel(phase, near, far_memory(OPTANE, near))
    return float(model.times_ns(phase.total)) / threads


def test_many_threads_write_in_sequence_slower_but_no_slower_than_one_by_one():
    few, many = time_ns(WRITE_BACK_STREAM, 4.0), time_ns(WRITE_BACK_STREAM, 24.0)
    assert many > 1.5 * few
    assert many <= time_ns(WRITE_BACK, 24.0)
