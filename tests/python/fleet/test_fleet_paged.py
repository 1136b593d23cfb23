"""Fleets with memory that is moved in pages, beside memory that serves each access."""

from __future__ import annotations

import dataclasses
from io import StringIO
from pathlib import Path

import pytest
import samples
from msgspec.structs import replace
from rich.console import Console

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile, save
from nearfar.documents.workload import PageCurve
from nearfar.fleet.api import fleet as summed
from nearfar.fleet.page import render
from nearfar.fleet.table import print_fleet
from nearfar.options.fleet import FleetOptions

PAGES = 51_200.0
SIZES = [64.0 * 2 ** (step / 16) for step in range(156)]


def profile(host: str, passes: float) -> WorkloadProfile:
    """Return a profile whose touches beyond the near pages all fault, `passes` times."""
    workload = samples.workload()
    faults = [20 * passes * max(0.0, PAGES / 2 - size) for size in SIZES]
    curve = PageCurve(
        first=PAGES, faults=faults, written=faults, times=[10 * PAGES], compressed_share=0.4
    )
    first = workload.phases[0]
    rows = [replace(first.objects[0], page_curve=curve), *first.objects[1:]]
    made = replace(workload.producer, host=host, time_utc=f"2026-01-01T00:00:0{int(passes)}Z")
    return replace(
        workload,
        producer=made,
        page_curve_bytes=[4096 * size for size in SIZES],
        phases=[
            replace(first, objects=rows, near_cpu_time_ns=Estimate(5e9, 4.9e9, 5.1e9)),
            *workload.phases[1:],
        ],
    )


def near_file(folder: Path) -> Path:
    """Write the near memory beside the profiles' folder."""
    file = folder.parent / f"{folder.name}-near.json"
    save(samples.device(), file)
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of two hosts' profiles."""
    for number, host in enumerate(("a", "b"), 1):
        save(profile(host, float(number)), tmp_path / f"{host}.json")
    return tmp_path


def test_a_fleet_saves_what_its_programs_do_not_touch_often(folder: Path) -> None:
    fleet = summed(
        FleetOptions(
            profiles=[str(folder)], near=str(near_file(folder)), far="zram-lz4",
            beside=["cxl-e3s-x8"], slo=["1.05", "1.2"], cache=folder / "rows",
        )
    )  # fmt: skip
    # Half of the pages are touched once: they can be away at any limit, and no more at these.
    (kind,) = fleet.types
    curve = {point.far_share: point.slowdown_mean for point in kind.curve}
    assert curve[0.0] == 1.0
    assert curve[0.25] < 1.2
    assert curve[1.0] > curve[0.75] > curve[0.5]
    assert 0.0 < fleet.savings[-1].saved < 0.6
    assert fleet.far_price_per_gib == pytest.approx(5.0 * 0.4)
    assert [row.far for row in fleet.beside] == ["cxl-e3s-x8"]
    assert len(fleet.beside[0].savings) == 2
    text = StringIO()
    print_fleet(fleet, Console(file=text, width=120))
    assert "zram-lz4" in text.getvalue()
    assert "saves " in text.getvalue()
    assert "the kernel chooses the data" in text.getvalue()
    html = render(fleet)
    assert "Each profile was predicted by itself (at most 2,000 of each type" in html
    assert "summed, not predicted" not in html
    assert "cxl-e3s-x8" in text.getvalue()
    other = html.partition("Other far memories")[2]
    assert f"saves {fleet.beside[0].savings[0].saved:.1%}" in other


def test_paged_memory_needs_no_slots_adapters_or_stock(folder: Path) -> None:
    hosts = folder.parent / "hosts.toml"
    limits = "[stock]\nfar = '1B'\nadapters = 0\n[types.all]\nmost_far = 0.0\n"
    prices = "[prices]\nnear_per_gib = 5.0\nfar_per_gib = 1.0\n"
    hosts.write_text(limits + prices)
    asked = FleetOptions(
        profiles=[str(folder)], near=str(near_file(folder)), far="cxl-e3s-x8", hosts=hosts,
        beside=["zram-lz4"], slo=["1.2"], cache=folder / "rows",
    )  # fmt: skip
    fleet = summed(asked)
    assert fleet.savings[0].far_bytes == 0
    assert not fleet.paged
    assert fleet.beside[0].savings[0].far_bytes > 0
    high = summed(dataclasses.replace(asked, far="zram-lz4", beside=[], slo_by="high"))
    assert high.paged
    assert high.quick_form.profiles == 0
    assert not any("intervals are not known" in warning for warning in high.warnings)


def test_a_host_type_without_page_curves_is_named(folder: Path) -> None:
    old = samples.workload()
    made = replace(old.producer, cpu_model="Old Processor")
    save(replace(old, producer=made), folder / "old.json")
    with pytest.raises(NearfarError, match="no profile of Old Processor has page curves"):
        summed(
            FleetOptions(
                profiles=[str(folder)], near=str(near_file(folder)), far="zram-lz4",
                leave_out_bad=True, cache=folder / "rows",
            )
        )  # fmt: skip


def test_profiles_without_page_curves_are_named_or_left_out(folder: Path) -> None:
    save(samples.workload(), folder / "old.json")
    common = {"near": str(near_file(folder)), "far": "zram-lz4", "cache": folder / "rows"}
    with pytest.raises(NearfarError, match=r"old\.json cannot be predicted: the profile has no"):
        summed(FleetOptions(profiles=[str(folder)], **common))  # type: ignore[arg-type]
    fleet = summed(
        FleetOptions(profiles=[str(folder)], leave_out_bad=True, **common)  # type: ignore[arg-type]
    )
    assert fleet.left_out == {"has no page curves, or too few pages, for zram-lz4": 1}
