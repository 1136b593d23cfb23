"""Effects of a simulated memory's load generators on loads and persisted writes."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pytest

from nearfar.measure.model import HUGE_BYTES, ModelSubject
from nearfar.measure.surfaces._drive import mixture, traffic_per_payload
from nearfar.samples.point import SamplePoint

REGION_BYTES = 256 << 20
DEVICES = ("optane-100-1dimm", "ddr4-2666-cascade-lake")


def point(
    kernel: str, pause_ns: float | None, share: float = 1.0, generator: str = "mixed"
) -> SamplePoint:
    return SamplePoint("loaded", kernel, HUGE_BYTES, REGION_BYTES, generator=generator,
                 pause_ns=pause_ns, read_share=share)  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", ["persist-clwb", "persist-nt-store"])
@pytest.mark.parametrize("each", [False, True])
def test_a_persisted_write_waits_as_long_as_a_load(device: str, kernel: str, each: bool) -> None:
    added = {}
    for timed in ("chase", kernel):
        # Each write has its own subject, because earlier writes affect its time.
        idle, full = (
            ModelSubject(device, noise=0).sample(
                replace(point(timed, pause), each=each, accesses=8192 if each else 0)
            )
            for pause in (None, 0.0)
        )
        added[timed] = full.value - idle.value
        assert idle.drawn_gb_per_s == 0 < full.drawn_gb_per_s
        if each:
            assert full.each_ns is not None
            assert float(np.mean(full.each_ns)) == pytest.approx(full.value)
    assert added["chase"] > 50
    assert added[kernel] == pytest.approx(added["chase"], rel=0.05)


@pytest.mark.parametrize("kernel", ["chase", "persist-clwb"])
def test_bandwidth_falls_with_the_pause_and_latency_with_bandwidth(kernel: str) -> None:
    subject = ModelSubject("optane-100-1dimm", noise=0)
    taken = [subject.sample(point(kernel, pause)) for pause in (0.0, 5e3, 2e4, 1e6)]
    drawn = [each.drawn_gb_per_s for each in taken]
    assert drawn == sorted(drawn, reverse=True)
    assert drawn[-1] < 0.2 * drawn[0]
    assert taken[0].value > 2 * taken[-1].value


def test_ordinary_stores_load_a_memory_with_as_many_reads() -> None:
    model = replace(
        ModelSubject("ddr4-2666-cascade-lake").model,
        loaded=((0.5, ((1.0, 100.0), (101.0, 200.0))), (0.0, ((1.0, 100.0), (101.0, 900.0)))),
    )
    subject = ModelSubject(model, noise=0)
    idle = subject.sample(point("chase", None, share=0.0)).value
    full = subject.sample(point("chase", 0.0, share=0.0))
    traffic = 2 * (full.drawn_gb_per_s - 64 / full.value)
    assert 20 < traffic < 101
    assert full.value / idle == pytest.approx(1 + (traffic - 1) / 100, rel=0.01)


@pytest.mark.parametrize("share", [1.0, 0.74, 0.5])
def test_a_device_with_curves_reproduces_them(share: float) -> None:
    """ddr4-2666-local has Mess' published curves over traffic and its read share."""
    subject = ModelSubject("ddr4-2666-local", noise=0)
    points = sorted(dict(subject.model.loaded)[share])
    bandwidths, times = zip(*points, strict=True)
    lines = mixture(share)
    end = max(bandwidths)
    for pause_ns in (3000.0, 1000.0, 300.0, 150.0, 0.0):
        single = subject.sample(point("chase", pause_ns, lines.line_share, lines.kernel))
        traffic = (single.drawn_gb_per_s - 64 / single.value) * traffic_per_payload(
            lines.kernel, lines.line_share
        )
        assert traffic <= end
        if traffic < 0.9 * end:  # beyond, a bandwidth has several latencies
            expected = float(np.interp(traffic, bandwidths, times))
            assert single.value == pytest.approx(expected, rel=0.05)
    assert traffic > 0.7 * end


def test_tails_grow_with_the_load() -> None:
    subject = ModelSubject("optane-100-1dimm")

    def spread(pause_ns: float | None) -> float:
        taken = subject.sample(replace(point("persist-clwb", pause_ns), each=True, accesses=8192))
        assert taken.each_ns is not None
        low, high = np.percentile(taken.each_ns, (50, 99))
        return float(high - low)

    full = statistics.median(spread(0.0) for _ in range(3))
    assert full > 3 * statistics.median(spread(None) for _ in range(3))
