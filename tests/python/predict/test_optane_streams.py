"""Costs of one core's streams and of written lines in Optane."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import samples

from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents.device import BandwidthFigure
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.models.memory_mode import MemoryModeModel
from nearfar.predict.traffic import (
    COLUMNS,
    NT_LINE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK_STREAM,
    PhaseMissCurve,
    PhaseTraffic,
)


def test_lines_that_caches_evict_take_as_long_as_plain_stores() -> None:
    """Optane takes 37.6 GB/s of reads, and of stores 12.5 past the caches and 3.3 otherwise."""
    near = near_memory(samples.device(read_gb_per_s=200.0, write_gb_per_s=200.0))
    lines = np.zeros((1, COLUMNS))
    lines[0, [STORE_STREAM, WRITE_BACK_STREAM]] = 1e6

    def far_ns(device: str, sent: float) -> float:
        lines[0, NT_LINE] = sent
        phase = PhaseTraffic("p", Estimate(1e6, 1e6, 1e6), 1.0, None, lines, 0.0)
        model = InversionModel(phase, near, far_memory(load_device(device), near))
        return model.far.write_ns[1]

    assert far_ns("optane-100-6dimm", 1e6) == pytest.approx(64.0 / 12.5)
    evicted_ns = 64.0 / 3.2875 - 64.0 / 37.63
    assert far_ns("optane-100-6dimm", 0.0) == pytest.approx(evicted_ns)
    assert far_ns("optane-100-6dimm", 5e5) == pytest.approx((64.0 / 12.5 + evicted_ns) / 2)
    assert far_ns("ddr4-local-perma-a256", 0.0) == far_ns("ddr4-local-perma-a256", 1e6)


@pytest.mark.parametrize(("peak", "waits_longer"), [(16.0, True), (4.0, False)])
def test_a_cores_stream_waits_for_near_memory_too_unless_bandwidth_limits_it(
    peak: float, waits_longer: bool
) -> None:
    curve = PhaseMissCurve(2.0 ** np.arange(15, 41), np.full(26, 1e6), 1 << 25)
    near = msgspec.structs.replace(samples.device(), capacity_bytes=1 << 20)
    one_core = BandwidthFigure(how="published", source="s", threads=1, value_gb_per_s=4.0)
    many = BandwidthFigure(how="published", source="s", threads=8, value_gb_per_s=peak)
    far = msgspec.structs.replace(samples.device("far", 300.0), bandwidth=[one_core, many])
    here = near_memory(near)
    there = far_memory(far, here)
    lines = np.zeros((1, COLUMNS))
    lines[0, STREAM] = 1e6
    phase = PhaseTraffic("p", Estimate(1e9, 1e9, 1e9), 1.0, None, lines, 0.0)
    model = MemoryModeModel(replace(phase, curve=curve), here, there)
    longer = (here.latency_ns + there.latency_ns) / there.latency_ns if waits_longer else 1.0
    assert longer > 1.2 or not waits_longer
    assert model.far.core_stream_ns == pytest.approx(longer * there.core_stream_ns)
