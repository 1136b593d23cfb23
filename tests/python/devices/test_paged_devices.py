"""The library's paged memories, and the cost of a page between two measured ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device, paged_names
from nearfar.devices.paged_figures import PageMove, fault_cost
from nearfar.devices.toml_write import save_toml
from nearfar.documents import DeviceProfile, save
from nearfar.documents.device import FaultFigure


@pytest.mark.parametrize("name", paged_names())
def test_a_paged_device_is_complete_and_survives_writing(name: str, tmp_path: Path) -> None:
    device = load_device(name)
    assert device.name == name
    assert device.technology == "paged"
    assert device.paged is not None
    assert not device.latency, "a page that is near is as quick as DRAM"
    assert fault_cost(device).value_ns > 1000
    used = {row.source for row in (*device.faults, *device.bandwidth)}
    assert used == set(device.sources)
    save_toml(device, tmp_path / "copy.toml")
    save(device, tmp_path / "copy.json")
    assert load_device(str(tmp_path / "copy.toml")) == device
    assert load_device(str(tmp_path / "copy.json")) == device


def _device(*rows: FaultFigure) -> DeviceProfile:
    return msgspec.structs.replace(load_device("swap-nvme"), faults=list(rows))


def _row(value_ns: float, **more: object) -> FaultFigure:
    return FaultFigure(how="measured", source="guide", value_ns=value_ns, **more)  # type: ignore[arg-type]


def test_a_cost_lies_between_its_neighbours_in_compressed_share() -> None:
    device = _device(
        _row(4000, compressed_share=0.1, low_ns=3000.0), _row(8000, compressed_share=0.5)
    )
    between = fault_cost(device, PageMove(compressed_share=0.2))
    assert between.value_ns == pytest.approx(5000)
    assert between.low_ns is None, "one neighbour has none"
    assert fault_cost(device, PageMove(compressed_share=0.9)).value_ns == 8000
    assert fault_cost(device, PageMove(compressed_share=0.01)).value_ns == 4000


def test_an_exchange_takes_what_its_content_adds_to_both_halves() -> None:
    device = _device(
        _row(4000, compression_work=1000.0),
        _row(6000, compression_work=5000.0),
        _row(7000, event="evict", compression_work=1000.0),
        _row(13000, event="evict", compression_work=5000.0),
        _row(12000, event="exchange", compression_work=1000.0, high_ns=13000.0),
    )
    exchange = fault_cost(device, PageMove("exchange", compression_work=3000.0))
    assert exchange.value_ns == pytest.approx(12000 + 1000 + 3000)
    assert exchange.high_ns == pytest.approx(13000 + 4000)
    assert fault_cost(device, PageMove("exchange")).value_ns == 12000
    # The size does not count where the work is known.
    fault = fault_cost(device, PageMove(compression_work=5000.0, compressed_share=0.1))
    assert fault.value_ns == 6000


def test_the_nearest_figure_stands_in_for_one_that_is_missing() -> None:
    device = _device(
        _row(10, pattern="sequential"), _row(20), _row(30, threads=4), _row(40, event="evict")
    )
    assert fault_cost(device, PageMove(operation="write")).value_ns == 20
    assert fault_cost(device, PageMove(threads=8)).value_ns == 30
    assert fault_cost(device, PageMove(pattern="sequential", threads=2)).value_ns == 10
    assert fault_cost(device, PageMove(event="evict")).value_ns == 40


def test_what_the_kernel_looks_at_adds_the_same_to_any_exchange_up_to_the_curve_s_end() -> None:
    device = _device(
        _row(10, event="exchange"),
        _row(6, event="exchange", pattern="sequential"),
        _row(13, event="exchange", retouches=1.0, low_ns=12.0, high_ns=15.0),
        _row(16, event="exchange", retouches=3.0),
    )

    def cost(retouches: float, **more: object) -> FaultFigure:
        return fault_cost(device, PageMove("exchange", retouches=retouches, **more))  # type: ignore[arg-type]

    assert cost(0.0).value_ns == 10
    assert cost(1.0).value_ns == pytest.approx(13)
    assert cost(1.0, pattern="sequential").value_ns == pytest.approx(9)
    assert 13 < cost(2.0).value_ns < 16
    assert cost(50.0).value_ns == pytest.approx(16)


def test_a_device_without_the_event_is_refused_by_name() -> None:
    with pytest.raises(NearfarError, match="'xmem-near' has no time of a page"):
        fault_cost(load_device("xmem-near"))
