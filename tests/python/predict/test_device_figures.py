"""Curves of small and of huge pages, and the one that applies to a program."""

from __future__ import annotations

import msgspec
import pytest
import samples

from nearfar.documents import DeviceProfile
from nearfar.documents.device import ChainsFigure, LatencyFigure
from nearfar.predict.derive import ASSUMED_HIT_NS, far_memory, near_memory
from nearfar.predict.device_figures import program_page_bytes

HAD = {"how": "measured", "source": "here"}
HUGE, SMALL = 2 << 20, 4096


def measured(transparent_huge_pages: str) -> DeviceProfile:
    """Return a device with 90 ns a miss on huge pages and 150 ns on small pages."""
    return msgspec.structs.replace(
        samples.device(),
        chains=[
            ChainsFigure(chains=k, page_bytes=page, value_ns=ns / k, **HAD)
            for page, ns in ((HUGE, 90.0), (SMALL, 150.0))
            for k in (1, 2, 4, 8)
        ],
        measured=samples.measured_here(transparent_huge_pages=transparent_huge_pages),
    )


@pytest.mark.parametrize(
    ("setting", "expected_ns"), [("always", 90.0), ("madvise", 150.0), ("never", 150.0)]
)
def test_the_machines_setting_selects_the_curve(setting: str, expected_ns: float):
    assert near_memory(measured(setting)).cost_ns(1) == pytest.approx(expected_ns)


def test_given_pages_override_the_setting():
    assert near_memory(measured("madvise"), HUGE).cost_ns(1) == pytest.approx(90.0)
    assert near_memory(measured("always"), SMALL).cost_ns(1) == pytest.approx(150.0)


def test_pages_without_a_curve_are_reported():
    device = samples.device()
    assert any(
        "no chains curve for 4.00 KiB pages" in c for c in near_memory(device, SMALL).caveats
    )
    assert not near_memory(measured("always"), SMALL).caveats


def test_published_devices_have_no_page_size():
    assert program_page_bytes(samples.device()) is None


def test_a_far_memory_without_chains_gets_the_same_page_walk():
    near = near_memory(measured("madvise"))
    far = far_memory(msgspec.structs.replace(samples.device("far", 300.0), chains=[]), near)
    assert far.cost_ns(1) == pytest.approx(300.0 + 60.0)


def test_a_hit_costs_the_measured_first_level():
    assert near_memory(samples.device()).hit_ns == ASSUMED_HIT_NS
    device = samples.device()
    device.latency.append(LatencyFigure(region_bytes=16 << 10, value_ns=1.1, **HAD))
    assert near_memory(device).hit_ns == 1.1


def test_low_bandwidth_of_few_cores_does_not_make_the_memory_slow():
    """Two cores read randomly at 2 GB/s; their chains show 64 B in 11.25 ns each."""
    near = measured("always")
    figure = msgspec.structs.replace(near.bandwidth[0], pattern="random", value_gb_per_s=2.0)
    near.bandwidth.append(figure)
    assert near_memory(near).read_ns[0] == pytest.approx(90.0 / 8 / 2)
