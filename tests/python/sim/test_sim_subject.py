"""`model:NAME` as a subject: every kernel runs, noise is repeatable, stalls are found."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from samples import measured_here

from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.documents.device import StallFigure
from nearfar.measure.model import KERNELS, ModelSubject
from nearfar.samples.point import SamplePoint
from nearfar.sim.from_device import from_device
from nearfar.sim.parameters import Refresh, WearStall, WriteQueue
from nearfar.sim.synthetic import synthetic, without_buffers

HUGE = 2 << 20


def _value(
    subject: ModelSubject, kernel: str, region_bytes: int = 1 << 26, **more: object
) -> float:
    return subject.sample(SamplePoint("latency", kernel, HUGE, region_bytes, **more)).value  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_every_kernel_runs(kernel: str) -> None:
    subject = ModelSubject("random:1")
    sample = subject.sample(SamplePoint("bandwidth", kernel, HUGE, 1 << 22, read_share=0.5))
    assert sample.value > 0


def test_noise_follows_from_the_seed_and_can_be_disabled() -> None:
    points = [SamplePoint("latency", "chase", HUGE, 1 << 20)] * 40
    runs = [
        ModelSubject("random:2", seed=seed, noise=noise)
        for seed, noise in ((1, 1.0), (1, 1.0), (2, 1.0), (1, 0.0))
    ]
    same, again, other, none = ([run.sample(point).value for point in points] for run in runs)
    assert same == again != other
    assert len(set(none)) == 1
    assert 0.005 < np.std(same) / np.mean(same) < 0.5


def test_missing_parts_are_refused() -> None:
    subject = ModelSubject("random:1")
    with pytest.raises(ValueError, match="does not run the kernel"):
        _value(subject, "chsae")
    with pytest.raises(ValueError, match="outside"):
        _value(subject, "chase", 2 << 30)
    with pytest.raises(NearfarError, match="random:7"):
        ModelSubject("random:x")


def test_block_size_is_where_larger_accesses_stop_helping() -> None:
    model = next(m for m in map(synthetic, range(500)) if _one_plain_buffer(m, 512))
    subject = ModelSubject(model, noise=0)
    at = {
        size: _value(subject, "chase", 1 << 28, access_bytes=size) for size in (64, 256, 512, 2048)
    }
    assert at[64] > 1.1 * at[256] > 1.1 * at[512]
    assert at[2048] == pytest.approx(at[512], rel=0.02)


def _one_plain_buffer(model: object, block_bytes: int) -> bool:
    buffers = model.buffers  # type: ignore[attr-defined]
    return (
        len(buffers) == 1
        and buffers[0].block_bytes == block_bytes
        and buffers[0].capacity_bytes < 1 << 22
        and model.refresh is None  # type: ignore[attr-defined]
    )


def test_wear_stalls_come_once_a_period_of_writes() -> None:
    model = replace(without_buffers(1), wear=WearStall(1000, 50_000.0))
    point = SamplePoint(
        "overwrite", "overwrite", HUGE, 256, access_bytes=256, each=True, accesses=20_000
    )
    times = ModelSubject(model, noise=0).sample(point).each_ns
    assert times is not None
    stalls = np.flatnonzero(times > 25_000)
    # An access of 256 B is four writes of a medium with 64 B granularity.
    assert set(np.diff(stalls)) == {250}


def test_periodic_stalls_come_in_time() -> None:
    model = replace(without_buffers(1), refresh=Refresh(100_000.0, 2000.0))
    point = SamplePoint("latency", "chase", HUGE, 1 << 28, each=True, accesses=50_000)
    times = ModelSubject(model, noise=0).sample(point).each_ns
    assert times is not None
    ends = np.cumsum(times.astype(float))
    gaps = np.diff(ends[np.flatnonzero(times > np.median(times) + 500)])
    assert np.median(gaps) == pytest.approx(100_000, rel=0.01)


@pytest.mark.parametrize(("length_ns", "kept"), [(20_000.0, False), (300.0, True)])
def test_a_stall_that_measured_latencies_include_is_not_simulated_again(
    length_ns: float, kept: bool
) -> None:
    stall = StallFigure(length_ns=length_ns, period_ns=30_000.0, how="measured", source="here")
    published = msgspec.structs.replace(load_device("cxl-e3s-x8"), stalls=[stall])
    measured = msgspec.structs.replace(published, measured=measured_here())
    assert from_device(published).refresh == Refresh(30_000.0, length_ns)
    assert (from_device(measured).refresh is not None) == kept


def test_a_burst_is_accepted_until_the_queue_is_full() -> None:
    model = replace(without_buffers(1), queue=WriteQueue(1024, 5.0), media_drain_ns=100.0)
    subject = ModelSubject(model, noise=0)
    times = [
        subject.sample(
            SamplePoint(
                "queue",
                "persist-nt-store",
                HUGE,
                1 << 26,
                access_bytes=size,
                rest_ns=1e6,
                each=True,
                accesses=50,
            )
        ).value
        for size in (512, 1024, 2048)
    ]
    assert times[1] - times[0] == pytest.approx(8 * 5.0, abs=6)
    assert times[2] - times[1] > 16 * 90


def test_small_pages_cost_translations_only_beyond_the_tlb() -> None:
    subject = ModelSubject(without_buffers(2), noise=0)
    for region, dearer in ((1 << 20, False), (1 << 28, True)):
        huge = subject.sample(SamplePoint("latency", "chase", HUGE, region)).value
        small = subject.sample(SamplePoint("latency", "chase", 4096, region)).value
        assert (small > huge * 1.02) == dearer
