"""The library's devices: complete, sourced, named as their files, usable by models."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nearfar.base.errors import NearfarError
from nearfar.devices import curves
from nearfar.devices.library import FOLDER, device_names, host_dram, load_device
from nearfar.devices.oddities import detect_oddities
from nearfar.devices.tables import summary
from nearfar.devices.toml_read import read_toml
from nearfar.devices.toml_write import save_toml
from nearfar.documents import save
from nearfar.predict.derive import far_memory, near_memory

NAMES = device_names()


def test_the_library_has_the_required_devices() -> None:
    """The library has at least 14 profiles, among them every required kind."""
    assert len(NAMES) >= 14
    required = {
        "ddr4-2666-local",
        "ddr4-2666-remote",
        "ddr5-4800-local",
        "ddr5-4800-remote",
        "optane-100-1dimm",
        "optane-100-6dimm",
        "optane-200",
        "nvdimm-n",
        "hbm2e-xeon-max",
        "lpddr5-grace",
        "xmem-near",
        *(f"xmem-far-{ns}ns-{gb}gb" for ns in (300, 450, 600) for gb in (5, 10)),
        "thesis-dram",
        "thesis-pmem",
    }
    assert required <= set(NAMES)
    assert sum(load_device(name).technology == "cxl" for name in NAMES) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_a_device_is_named_as_its_file(name: str) -> None:
    assert load_device(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_a_cited_source_and_assumptions_have_reasons(name: str) -> None:
    device = load_device(name)
    figures = [
        *device.latency,
        *device.bandwidth,
        *device.chains,
        *device.loaded_latency,
        *device.buffers,
        *device.stalls,
        *device.write_queues,
        *device.interleaves,
    ]
    used = {figure.source for figure in figures}
    assert used == set(device.sources), "a source that no figure uses, or the reverse"
    assert all(len(source.citation) > 20 for source in device.sources.values())
    assert all(figure.note for figure in figures if figure.how in ("assumed", "fitted"))
    assert "measured" not in {figure.how for figure in figures}


@pytest.mark.parametrize("name", NAMES)
def test_a_hosts_dram_is_local_dram(name: str) -> None:
    """Local DRAM has no host of its own and is at least as fast as what it hosts."""
    device = load_device(name)
    host = host_dram(device)
    if host is None:
        local = ("dram", "emulated")
        assert device.technology in local or name == "cxl-expander-model"
        return
    assert host.technology in ("dram", "emulated")
    assert host_dram(host) is None
    here, there = curves.idle_read_latency_ns(device), curves.idle_read_latency_ns(host)
    assert here.value_ns >= there.value_ns


@pytest.mark.parametrize("name", NAMES)
def test_rates_of_one_core_are_of_the_same_measurement_as_the_hosts(name: str) -> None:
    """Predictions divide the one by the other: prefetchers must be in the same state."""
    device = load_device(name)
    host = host_dram(device)
    if host is None:
        return
    here, there = (curves.bandwidth(each, "read", threads=1) for each in (device, host))
    if here.threads == there.threads == 1:
        sources = device.sources[here.source], host.sources[there.source]
        assert sources[0].citation == sources[1].citation


@pytest.mark.parametrize("name", NAMES)
def test_models_find_latency_and_both_bandwidths(name: str) -> None:
    device = load_device(name)
    assert curves.idle_read_latency_ns(device).value_ns > 50
    assert curves.bandwidth(device, "read").value_gb_per_s > 1
    assert curves.bandwidth(device, "write").value_gb_per_s > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_listed_anomalies_equal_the_detected_ones(name: str) -> None:
    for curve in load_device(name).loaded_latency:
        assert curve.oddities == detect_oddities(curve.points), curve.read_share
        assert len(curve.points) <= 40


@pytest.mark.parametrize("name", NAMES)
def test_toml_and_json_round_trip(name: str, tmp_path: Path) -> None:
    device = load_device(name)
    save_toml(device, tmp_path / "copy.toml")
    save(device, tmp_path / "copy.json")
    assert load_device(str(tmp_path / "copy.toml")) == device
    assert load_device(str(tmp_path / "copy.json")) == device


def test_some_anomaly_of_each_kind_is_kept() -> None:
    texts = " ".join(
        oddity
        for name in NAMES
        for curve in load_device(name).loaded_latency
        for oddity in curve.oddities
    )
    assert "dip at" in texts
    assert "folds back past" in texts
    assert "below zero" in texts


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(NearfarError, match="did you mean 'optane-100-6dimm'"):
        load_device("optane-100-6dimms")
    with pytest.raises(NearfarError, match="nearfar device list"):
        load_device("zzzz")


def test_names_are_read_in_any_case_and_documents_as_they_are() -> None:
    device = load_device("ddr4-2666-local")
    assert load_device(device) is device
    assert load_device("DDR4-2666-Local").name == "ddr4-2666-local"


def test_a_path_is_read_from_any_folder(tmp_path: Path) -> None:
    copy = tmp_path / "mine.toml"
    copy.write_bytes((FOLDER / "xmem-near.toml").read_bytes())
    loaded, read = load_device(str(copy)), read_toml(copy)
    # Both say when they were read.
    assert msgspec.structs.replace(loaded, producer=read.producer) == read
    with pytest.raises(NearfarError, match="cannot read"):
        load_device(str(tmp_path / "absent.toml"))


def test_an_unverified_device_is_marked_also_in_predictions() -> None:
    device = load_device("cxl-melody-a")
    assert "from memory" in device.unverified
    assert summary(device)["basis"]["idle_read_ns"] == "assumed"
    near = near_memory(load_device("ddr5-4800-local"))
    caveats = far_memory(device, near).caveats
    assert any("is not verified" in text and "do not quote" in text for text in caveats)
    verified = far_memory(load_device("cxl-asic-eurosys24"), near).caveats
    assert not any("not verified" in text for text in verified)


def test_the_list_distinguishes_measured_derived_and_assumed() -> None:
    basis = {name: summary(load_device(name))["basis"] for name in NAMES}
    assert basis["cxl-asic-dmsim"]["idle_read_ns"] == "measured"
    assert basis["cxl-asic-eurosys24"]["idle_read_ns"] == "derived"
    assert basis["cxl-fpga-streamer"]["idle_read_ns"] == "assumed"
