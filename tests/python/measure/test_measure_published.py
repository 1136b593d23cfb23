"""Surfaces measured with noise, in rounds, are within 3 % of the published figures."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.devices import curves
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.measure import measure as measuring
from nearfar.measure.model import HUGE_BYTES, ModelSubject
from nearfar.options.measure import MeasureOptions
from nearfar.samples.point import SamplePoint

WITHIN = 0.03


def measured(name: str, *only: str, quick: bool = True) -> DeviceProfile:
    options = MeasureOptions(
        memory=f"model:{name}",
        quick=quick,
        repetitions=9,
        only=",".join(only),
        accept_noise=True,
    )
    return measuring.measure(options)


@pytest.mark.parametrize("name", ["optane-100-1dimm", "optane-100-6dimm", "ddr4-2666-cascade-lake"])
def test_idle_latency_and_bandwidth_of_every_thread_count(name: str) -> None:
    device, library = measured(name, "idle", "bandwidth", quick=False), load_device(name)
    assert curves.idle_read_latency_ns(device).value_ns == pytest.approx(
        curves.idle_read_latency_ns(library).value_ns, rel=WITHIN
    )
    published = {
        (each.operation, each.threads): each.value_gb_per_s
        for each in library.bandwidth
        if each.pattern == "sequential" and each.operation in ("read", "nt-store")
    }
    compared = [
        (each.value_gb_per_s, published[each.operation, each.threads])
        for each in device.bandwidth
        if each.pattern == "sequential" and (each.operation, each.threads) in published
    ]
    assert len(compared) >= 8
    for result, known in compared:
        assert result == pytest.approx(known, rel=WITHIN)


def test_a_measured_profile_simulates_its_own_figures() -> None:
    first = measured("optane-100-1dimm", "idle", "bandwidth")
    again = ModelSubject(first, noise=0)
    idle_ns = curves.idle_read_latency_ns(first).value_ns
    assert again.model.media_ns == pytest.approx(idle_ns, rel=WITHIN)
    largest = again.facts().largest_bytes
    chase = again.sample(SamplePoint("latency", "chase", HUGE_BYTES, largest))
    assert chase.value == pytest.approx(idle_ns, rel=WITHIN)


def test_loaded_latency_lies_on_the_published_curves() -> None:
    library = load_device("ddr4-2666-local")
    (reads,) = (
        each for each in measured(library.name, "loaded").loaded_latency if each.read_share == 1
    )
    known = sorted(next(each for each in library.loaded_latency if each.read_share == 1).points)
    assert len(reads.points) >= 5
    for drawn, ns in reads.points:
        expected = float(np.interp(drawn, *zip(*known, strict=True)))
        assert ns == pytest.approx(expected, rel=WITHIN)
