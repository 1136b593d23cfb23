"""Write queues of simulated devices with many buffers, and of made-up curves of bursts."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.documents.device import InterleaveFigure
from nearfar.measure.infer.findings import MEASURED_HERE, Findings
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.queue import burst_plans, find_queue, infer_queue
from nearfar.measure.model import ModelSubject
from nearfar.sim.parameters import (
    DeviceInterleave,
    DeviceModel,
    MemoryLevel,
    ThreadBandwidth,
    WriteQueue,
)

LINES = np.array(burst_plans([])[0].lines, dtype=float)
BANDWIDTH = ThreadBandwidth(8.0, 20.0)


def noisy(values, spread, seed=1):
    return values * np.exp(spread * np.random.default_rng(seed).standard_normal(len(values)))


def curves(queue, issue, drain, first=0.0, base=60.0):
    """Return ns per burst with rests and without; a burst's first line drains `first` ns longer."""
    issued = base + issue * LINES
    driven = np.maximum(issued, first + drain * LINES)
    waiting = LINES - queue
    late = np.where(waiting > 0, base + issue + first + drain * waiting, 0.0)
    return np.maximum(issued, late), driven


@pytest.mark.parametrize(("queue", "issue", "drain"), [(8, 10, 110), (64, 28, 110), (93, 7, 30)])
@pytest.mark.parametrize("first", [0, 200])
def test_a_queue_shifts_the_time_of_bursts(queue, issue, drain, first):
    rested, driven = curves(queue, issue, drain, first)
    result = find_queue(LINES, noisy(rested, 0.01), noisy(driven, 0.01, 2), 0.01)
    assert result.lines == pytest.approx(queue, abs=max(0.05 * queue, 1))
    assert result.drain_ns == pytest.approx(drain, rel=0.1)


def test_fill_buffers_of_a_core_are_not_taken_for_a_queue():
    # A fence empties them, so that a rest changes nothing.
    burst = 100 + 9 * np.maximum(LINES - 10, 0)
    result = find_queue(LINES, noisy(burst, 0.01), noisy(burst, 0.01, 2), 0.01)
    assert result.lines is None
    assert "alike with rests and without" in result.why_not


def test_an_even_rise_is_not_taken_for_a_queue():
    even = 60 + 30 * LINES
    assert find_queue(LINES, noisy(even, 0.01), noisy(even - 20, 0.01, 2), 0.01).lines is None


def test_bursts_that_no_shift_explains_are_not_taken_for_a_queue():
    rested, driven = curves(40, 8, 60)
    stepped = rested + 1500 * (LINES > 150)
    result = find_queue(LINES, noisy(stepped, 0.005), noisy(driven, 0.005, 2), 0.005)
    assert result.lines is None
    assert "no size" in result.why_not


def device(buffers, lines, devices=1, granularity=4096, media_drain_ns=200.0):
    """Return a memory of that many buffers, each four times the one before."""
    levels = tuple(
        MemoryLevel(
            f"buffer {level + 1}",
            (16 << 10) << 2 * level,
            100.0 * 1.3**level,
            256 if level < buffers // 2 else 1024,
            ways=8,
            drain_ns=20.0 * 1.3**level,
        )
        for level in range(buffers)
    )
    return DeviceModel(
        "many buffers",
        media_ns=1000.0,
        read=BANDWIDTH,
        write=BANDWIDTH,
        nt_store=BANDWIDTH,
        buffers=levels,
        media_drain_ns=media_drain_ns,
        queue=WriteQueue(lines * 64, 7.0) if lines else None,
        fence_ns=79.0,
        interleave=DeviceInterleave(devices, granularity) if devices > 1 else None,
    )


def inferred(model):
    findings = Findings()
    if model.interleave is not None:
        findings.interleaves.append(
            InterleaveFigure(
                devices=model.interleave.devices,
                granularity_bytes=model.interleave.granularity_bytes,
                **MEASURED_HERE,
            )
        )
    infer_queue(InferenceProbe(ModelSubject(model), 60.0, 6), findings)
    return [queue.capacity_bytes // 64 for queue in findings.write_queues], findings.not_seen


@pytest.mark.parametrize("lines", [14, 93])
def test_the_queue_of_a_device_with_seven_buffers(lines):
    (seen,), _ = inferred(device(7, lines))
    assert seen == pytest.approx(lines, abs=1)


def test_the_queue_of_a_device_that_drains_far_faster_than_a_single_write():
    (seen,), _ = inferred(device(1, 38, media_drain_ns=40.0))
    assert seen == pytest.approx(38, abs=1)


@pytest.mark.parametrize("granularity", [1024, 4096])
def test_the_queue_of_seven_interleaved_devices(granularity):
    (seen,), _ = inferred(device(2, 9, 7, granularity))
    assert seen == pytest.approx(9, abs=1)


def test_a_queue_that_interleaved_devices_share_by_small_granules():
    (seen,), _ = inferred(device(7, 30, 2, 256))
    assert seen == pytest.approx(30, abs=2)


@pytest.mark.parametrize(("buffers", "devices"), [(0, 1), (7, 1), (1, 7)])
def test_no_queue_is_invented(buffers, devices):
    seen, not_seen = inferred(device(buffers, 0, devices))
    assert not seen
    assert "write queue" in not_seen


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rested", [0.0, 50.0])
@pytest.mark.parametrize("driven", [0.0, 50.0])
def test_bursts_in_which_a_coarse_timer_reads_nothing_show_no_queue(rested, driven):
    first_zero = np.where(LINES > 1, LINES, 0.0)
    knee = find_queue(LINES, rested * first_zero, driven * first_zero, 0.01)
    assert knee.lines is None
    assert knee.why_not
