"""What syncing takes on a disk, from counts of syncs and from counts of flushes."""

from __future__ import annotations

import numpy as np
import pytest
import samples

from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents.workload import Traffic
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.model import MODELS, Model
from nearfar.predict.phases import traffic_rows
from nearfar.predict.traffic import COLUMNS, FENCE, FLUSH, NT_LINE, Array, PhaseTraffic

SSD = "ssd-dc-s4600"
WRITE_NS = 52_000.0 - 57.3
"""Intel's specification: 52 us; less what flushing to the host's DRAM takes (FAST 2020)."""

TURN_NS = 4096 / 0.49
"""The specification's sustained sequential write, GB/s: sooner than its 65,000 random ones."""

JOURNAL_NS = 2 * 36_000.0
"""Two sequential writes beside."""

NEAR_NS = 1e9


def model_of(name: str, lines: Array) -> Model:
    near = near_memory(samples.device("host", 100.0))
    time = Estimate(NEAR_NS, NEAR_NS, NEAR_NS)
    phase = PhaseTraffic("p", time, 1.0, None, lines, 0.0, flushes_counted=True)
    return MODELS.get(name)(phase, near, far_memory(load_device(SSD), near))


def added_ns(model: Model) -> float:
    return float(model.times_ns(model.phase.total)) - NEAR_NS


@pytest.mark.parametrize("name", ["persist", "best"])
def test_each_counted_sync_waits_once(name: str):
    lines = traffic_rows([Traffic(syncs=1e4, sync_bytes=1e4 * 4096)], np.zeros(1))
    model = model_of(name, lines)
    assert added_ns(model) == pytest.approx(1e4 * WRITE_NS, rel=1e-3)
    ends = [end - NEAR_NS for end in model.times_to_cover_ns()]
    # How many there are is known; what one waits for hangs on the drive's cache and on a journal.
    assert min(ends) == pytest.approx(1e4 * TURN_NS, rel=5e-3)
    assert max(ends) == pytest.approx(1e4 * (WRITE_NS + JOURNAL_NS), rel=5e-3)


@pytest.mark.parametrize("name", ["persist", "best"])
def test_flushes_are_synced_between_once_a_fence_and_once_a_line(name: str):
    lines = np.zeros((1, COLUMNS))
    lines[0, [FENCE, FLUSH, NT_LINE]] = 6e3, 5e3, 6e3
    model = model_of(name, lines)
    assert 6e3 * WRITE_NS < added_ns(model) < 11e3 * WRITE_NS
    ends = [end - NEAR_NS for end in model.times_to_cover_ns()]
    # The lines beyond one a fence still take their bandwidth.
    assert min(ends) == pytest.approx(6e3 * TURN_NS, rel=0.03)
    assert max(ends) == pytest.approx(11e3 * (WRITE_NS + JOURNAL_NS), rel=1e-3)


def test_persistent_memory_waits_for_fences_alone():
    near = near_memory(samples.device("host", 100.0))
    lines = np.zeros((1, COLUMNS))
    lines[0, [FENCE, FLUSH]] = 1e3, 4e3
    time = Estimate(NEAR_NS, NEAR_NS, NEAR_NS)
    phase = PhaseTraffic("p", time, 1.0, None, lines, 0.0, flushes_counted=True)
    model = MODELS.get("persist")(phase, near, far_memory(load_device("optane-200"), near))
    assert added_ns(model) < 4e3 * 1000.0
