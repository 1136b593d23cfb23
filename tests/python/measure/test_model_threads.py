"""Simulated memories reproduce published thread counts, including declines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar.devices.library import load_device
from nearfar.measure.model import HUGE_BYTES, ModelSubject
from nearfar.measure.surfaces._drive import mixture, traffic_per_payload
from nearfar.samples.point import SamplePoint

REGION_BYTES = 256 << 20
DEVICES = ("optane-100-1dimm", "optane-100-6dimm", "ddr4-2666-cascade-lake")


def gb_per_s(subject: ModelSubject, kernel: str, threads: int, **more: object) -> float:
    point = SamplePoint("bandwidth", kernel, HUGE_BYTES, REGION_BYTES, threads=threads)
    return subject.sample(replace(point, **more)).value


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("operation", ["read", "nt-store"])
def test_every_published_thread_count_is_reproduced(name: str, operation: str) -> None:
    subject = ModelSubject(name, noise=0)
    published = [
        each
        for each in load_device(name).bandwidth
        if (each.operation, each.pattern) == (operation, "sequential") and each.threads
    ]
    assert len(published) >= 5
    for each in published:
        assert gb_per_s(subject, operation, each.threads) == pytest.approx(each.value_gb_per_s)


def test_between_thread_counts_it_interpolates_and_beyond_it_is_constant() -> None:
    subject = ModelSubject("optane-100-1dimm", noise=0)
    assert 3.89 < gb_per_s(subject, "read", 20) < 4.73
    assert gb_per_s(subject, "read", 48) == gb_per_s(subject, "read", 24)


@pytest.mark.parametrize("kernel", ["nt-store-random", "mixed-nt", "copy-nt"])
def test_too_many_threads_slow_other_writes_too(kernel: str) -> None:
    subject = ModelSubject("optane-100-1dimm", noise=0)
    few, many = (gb_per_s(subject, kernel, threads, access_bytes=256) for threads in (4, 24))
    assert many < 0.6 * few


def test_generators_draw_the_bandwidth_of_as_many_threads() -> None:
    subject = ModelSubject("optane-100-1dimm", noise=0)
    loaded = SamplePoint("loaded", "chase", HUGE_BYTES, REGION_BYTES, generator="mixed-nt",
                   pause_ns=0.0, read_share=0.0)  # fmt: skip
    sample = subject.sample(loaded)
    drawn = sample.drawn_gb_per_s - 64 / sample.value
    assert drawn == pytest.approx(gb_per_s(subject, "nt-store", 23), rel=0.03)


@pytest.mark.parametrize("name", ["ddr4-2666-local", "ddr4-2666-cascade-lake", "cxl-e3s-x8"])
def test_published_mixes_are_reproduced_as_traffic(name: str) -> None:
    subject = ModelSubject(name, noise=0)
    published = [each for each in load_device(name).bandwidth if each.operation == "mixed"]
    assert len(published) >= 2
    for each in published:
        made = mixture(each.read_share)
        threads = each.threads or 10**6
        payload = gb_per_s(subject, made.kernel, threads, read_share=made.line_share)
        traffic = payload * traffic_per_payload(made.kernel, made.line_share)
        assert traffic == pytest.approx(each.value_gb_per_s, rel=0.01)


def test_ordinary_stores_move_no_more_traffic_than_published() -> None:
    subject = ModelSubject("ddr4-2666-local", noise=0)
    assert 2 * gb_per_s(subject, "write", 10**6) == pytest.approx(103.33, rel=0.01)


def test_more_threads_than_published_do_not_raise_mixed_traffic() -> None:
    subject = ModelSubject("ddr4-2666-cascade-lake", noise=0)
    few, many = (
        gb_per_s(subject, "mixed", threads, read_share=0.0, access_bytes=64) for threads in (16, 24)
    )
    assert few <= many <= 1.01 * few
    assert gb_per_s(subject, "write", 24) == pytest.approx(35.56), "as published, stored and clwb"
