"""The simulated Optane DIMM compared with published latencies, and invariants."""

from __future__ import annotations

import pytest

from nearfar import _sim
from nearfar.devices.library import device_names, load_device
from nearfar.sim.from_device import from_device, read_shares
from nearfar.sim.memory import make_memory
from nearfar.sim.parameters import DeviceModel


@pytest.fixture(scope="module")
def dimm() -> DeviceModel:
    return from_device(load_device("optane-100-1dimm"))


def _read_ns(model: DeviceModel, region_bytes: int) -> float:
    shares = read_shares(model, region_bytes)
    latencies = [level.latency_ns for level in model.levels] + [model.media_ns]
    return sum(share * ns for share, ns in zip(shares, latencies, strict=True))


def test_three_constants_equal_the_published_plateaus(dimm: DeviceModel) -> None:
    """About 180, 312 and 380 ns: read-modify-write buffer, indirection table, medium."""
    assert [level.latency_ns for level in dimm.buffers] == pytest.approx([180, 312], rel=0.02)
    assert dimm.media_ns == pytest.approx(380, rel=0.02)


@pytest.mark.parametrize("figure", [f for f in load_device("optane-100-1dimm").latency
                                    if f.operation == "read" and f.region_bytes])  # fmt: skip
def test_a_chase_reproduces_the_librarys_figures(dimm: DeviceModel, figure: object) -> None:
    region, value = figure.region_bytes, figure.value_ns  # type: ignore[attr-defined]
    assert _read_ns(dimm, region) == pytest.approx(value, rel=0.04)


def test_every_device_of_the_library_makes_a_model() -> None:
    for name in device_names():
        model = from_device(load_device(name))
        assert model.media_ns > 0
        assert model.read.max_gb_per_s > 0


def test_results_do_not_depend_on_the_instruction_set(dimm: DeviceModel) -> None:
    answers = [
        list(
            _sim.run(
                memory=make_memory(dimm),
                operation="load",
                region_bytes=1 << 20,
                access_bytes=64,
                stride_bytes=64,
                accesses=50_000,
                isa=isa,
            ).read
        )
        for isa in _sim.isas()
    ]
    assert all(answer == answers[0] for answer in answers)
