"""Invalid device files are refused with file and line."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar.devices.library import host_dram
from nearfar.devices.toml_read import read_toml
from nearfar.devices.toml_write import save_toml, to_toml
from nearfar.documents.device import LatencyFigure, MeasuredContext

SOURCES = '[sources.paper]\ncitation = "somebody, somewhere"\n'
GOOD = """\
kind = "device-profile"
version = 1
name = "some-memory"
title = "some memory"
technology = "cxl"

[sources.paper]
citation = "somebody, somewhere"

[defaults]
how = "published"
source = "paper"

[[latency]]
value_ns = 250.0

[[bandwidth]]  # read
value_gb_per_s = 17.8

[defaults.loaded_latency]
note = "of figure 3"

[[loaded_latency]]
read_share = 1.0
points = [
  [0.0, 250.0], [5.0, 255.0],
  [17.0, 400.0],  # = saturated
]

[[loaded_latency]]
how = "fitted"
note = ""
read_share = 0.5
points = [[0.0, 250.0], [20.0, 500.0]]
"""


def _read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "device.toml"
    path.write_text(text)
    return read_toml(path)


def test_missing_keys_take_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "device.toml"
    path.write_text(GOOD)
    device = read_toml(path)
    assert {figure.source for figure in (*device.latency, *device.bandwidth)} == {"paper"}
    assert [curve.how for curve in device.loaded_latency] == ["published", "fitted"]
    assert [curve.note for curve in device.loaded_latency] == ["of figure 3", ""]
    again = tmp_path / "again.toml"
    again.write_text(to_toml(device))
    assert read_toml(again) == device


@pytest.mark.parametrize(
    ("old", "new", "line", "message_part"),
    [
        ("value_ns = 250.0", "latency = 250.0", 15, "it has no unit; did you mean 'value_ns'"),
        ("value_ns = 250.0", "value = 250.0", 15, "it has no unit; did you mean 'value_ns'"),
        ("value_ns = 250.0", "value_us = 0.25", 15, "not this unit; did you mean 'value_ns'"),
        ("value_gb_per_s = 17.8", "bandwidth = 17.8", 18, "did you mean 'value_gb_per_s'"),
        ("value_gb_per_s = 17.8", "value_gbps = 17.8", 18, "did you mean 'value_gb_per_s'"),
        ("technology =", "technologie =", 5, "did you mean 'technology'"),
        ("[[latency]]", "[[latencies]]", 14, "unknown key 'latencies' in the file"),
        ('source = "paper"\n', 'sauce = "paper"\n', 12, "unknown key 'sauce' in [defaults]"),
        ("citation =", "cite =", 8, "unknown key 'cite' in [sources.paper]"),
        ("read_share = 0.5", "read_pct = 50", 33, "unknown key 'read_pct' in [[loaded_latency]]"),
        ("value_ns = 250.0\n", "", 14, "[[latency]] lacks the key 'value_ns'"),
        ("value_ns = 250.0", 'value_ns = "250"', 15, "Expected `float`, got `str`"),
        ("value_ns = 250.0", "value_ns = -1.0", 15, "must be a positive number, not -1"),
        ("value_ns = 250.0", "value_ns = 0.25", 14, "latencies are in ns, not us"),
        ("value_gb_per_s = 17.8", "value_gb_per_s = 17800.0", 17, "in GB/s, not MB/s"),
        ("value_ns = 250.0", "value_ns = nan", 15, "must be a positive number, not nan"),
        ("read_share = 0.5", "read_share = 50.0", 33, "between 0 and 1, not 50"),
        ("[17.0, 400.0]", "[17.0]", 25, "Expected `array` of length 2"),
        ("[17.0, 400.0]", "[17.0, 0.0]", 25, "point 3 (17 GB/s, 0 ns) is not a measurement"),
        ('how = "fitted"', 'how = "guessed"', 31, "Invalid enum value 'guessed'"),
        ('how = "fitted"', 'how = "assumed"', 30, "an assumed figure needs a note"),
        ('source = "paper"\n', 'source = "book"\n', 14, "no source 'book'; there are: paper"),
        ('name = "some-memory"', 'name = "Some Memory"', 3, "lower-case letters"),
        ("version = 1", "version = 2", 2, "a device file says version = 1"),
        ('kind = "device-profile"\n', "", 1, "key 'kind' is missing"),
        (SOURCES, "sources = 3\n", 7, "'sources' must be a table"),
        ('title = "some memory"\n', "", 1, "the file lacks the key 'title'"),
        ("technology =", "technology", 5, "not valid TOML"),
        ("\n[sources", 'host_dram = "ddr4-2666-locl"\n[sources', 6, "mean 'ddr4-2666-local'"),
        ("\n[sources", 'host_dram = "zzzz"\n[sources', 6, "no device 'zzzz' in the library"),
        ("\n[sources", "host_dram = 92.0\n[sources", 6, "Expected `str | null`, got `float`"),
    ],
)
def test_a_mistake_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, message_part: str
) -> None:
    assert old in GOOD
    with pytest.raises(NearfarError) as refusal:
        _read(tmp_path, GOOD.replace(old, new, 1))
    message = str(refusal.value)
    assert message_part in message
    assert f"device.toml:{line}:" in message or f"at line {line}," in message
    assert "\n" not in message


def test_a_device_next_to_local_dram_names_it_and_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "device.toml"
    path.write_text(GOOD.replace("\n[sources", 'host_dram = "xmem-near"\n[sources', 1))
    device = read_toml(path)
    assert device.host_dram == "xmem-near"
    host = host_dram(device)
    assert host is not None
    assert host.name == "xmem-near"
    save_toml(device, tmp_path / "again.toml")
    assert read_toml(tmp_path / "again.toml") == device


def test_far_memory_is_not_accepted_as_a_hosts_dram(tmp_path: Path) -> None:
    path = tmp_path / "device.toml"
    path.write_text(GOOD.replace("\n[sources", 'host_dram = "optane-200"\n[sources', 1))
    with pytest.raises(NearfarError, match=r"'optane-200' as local DRAM .* name local DRAM"):
        host_dram(read_toml(path))


def test_a_measured_device_has_no_host(tmp_path: Path) -> None:
    context = samples.measured_here()
    device = msgspec.structs.replace(samples.device(), measured=context, host_dram="xmem-near")
    save_toml(device, tmp_path / "device.toml")
    with pytest.raises(NearfarError, match="this device was measured"):
        read_toml(tmp_path / "device.toml")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "device.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NearfarError, match="not text in UTF-8"):
        read_toml(path)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_measured_device_round_trips_with_any_notes(note: str) -> None:
    device = samples.device()
    device.latency.append(LatencyFigure(value_ns=1e-3, note=note, how="measured", source="here"))
    device.measured = MeasuredContext(
        memory_spec="dram,pages=4k",
        repetitions=5,
        seconds=1.5,
        noise_floor=0.01,
        timer_resolution_ns=20.0,
        cpus=[0, 1],
        llc_bytes=1 << 25,
        environment={"load average": note, "governor": "none"},
        warnings=[note],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "device.toml"
        save_toml(device, path)
        assert read_toml(path) == device
