"""Proposals to split types: on a made-up profile, and on two programs that are then split."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import samples
from forked import nearfar
from patience import patience

from nearfar.api import report
from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents import WorkloadProfile, load
from nearfar.documents.touched_field import TouchedField
from nearfar.documents.workload import (
    AccessClasses,
    InstructionTraffic,
    MissCurve,
    ObjectTraffic,
    Traffic,
)
from nearfar.native_files import native_folder
from nearfar.place.split_profile import split_profile
from nearfar.place.split_traffic import HotCold, RemainingMisses, Visits, split_traffic
from nearfar.place.splits import propose_splits
from nearfar.place.type_use import type_uses
from nearfar.predict.field_effects import shares

EXAMPLES = Path(__file__).parents[3] / "examples/splits"
NEAR, FAR = "ddr4-2666-local", "optane-100-6dimm"


def touched(field: str, offset: int, size: int = 8, always: bool = True) -> TouchedField:
    return TouchedField(
        type="struct item", type_bytes=128, field=field, offset=offset, bytes=size, always=always
    )


def test_a_merged_access_misses_where_its_first_field_is() -> None:
    assert shares([touched("key", 0)]) == [1.0]
    first, second = shares([touched("key", 0), touched("value", 16)])
    assert first == pytest.approx(64 / 80)
    assert second == pytest.approx(16 / 80)
    first, second = shares([touched("key", 0), touched("value", 96, always=False)])
    assert first == pytest.approx(1 / 1.5)
    assert second == pytest.approx(0.5 / 1.5)


def made_up(payload_reads: float) -> WorkloadProfile:
    """Return a profile of an array of 2 million items whose keys are read ten times, in order."""
    profile = samples.workload(objects=1, phases=("get",))
    owner, phase = profile.objects[0], profile.phases[0]
    owner.allocations = 1
    owner.allocated_bytes = owner.size_bytes = owner.peak_live_bytes = 128 * ITEMS
    (scan,) = profile.instructions
    scan.access_class, scan.fields = "stream", [touched("key", 0)]
    other = msgspec.structs.replace(
        scan, function="pay", access_class="indirect", fields=[touched("payload", 64, 64)]
    )
    profile.instructions.append(other)
    scans = 10.0 * ITEMS
    phase.instructions = [
        InstructionTraffic(instruction=0, object=0, misses=scans, accesses=scans),
        InstructionTraffic(instruction=1, object=0, misses=payload_reads, accesses=payload_reads),
    ]
    reads = AccessClasses(stream=scans, indirect=payload_reads)
    phase.objects[0].traffic = Traffic(accesses=reads.total(), read_misses=reads)
    near = 12.0 * scans + 30.0 * payload_reads
    phase.near_cpu_time_ns = Estimate(near, 0.99 * near, 1.01 * near)
    return profile


ITEMS = 2_000_000


def test_a_stream_over_hot_fields_fetches_as_many_lines_as_they_fill() -> None:
    profile = made_up(payload_reads=1000.0)
    (use,) = type_uses(profile)
    split = HotCold(use, (touched("key", 0),))
    row = profile.phases[0].objects[0]
    hot, cold = split_traffic(split, row, use.phases["get"], RemainingMisses(row, [], 1.0), "value")
    assert hot.lines == pytest.approx(10 * ITEMS * 8 / 64)
    assert cold.lines == pytest.approx(1000.0 * (1 + 56 / 64))
    assert split.strides == (8, 120)


CURVE_BYTES = [2.0**power for power in range(20, 30)]


def remaining(row: ObjectTraffic, fits_bytes: float) -> RemainingMisses:
    """Return the curve of an object that fits from a size on: then a tenth, first touches, misses.

    The cache has 1 MiB.
    """
    misses = [row.traffic.misses() * (0.1 if size >= fits_bytes else 1.0) for size in CURVE_BYTES]
    row.curve = MissCurve(read=misses, write=[0.0] * len(misses))
    return RemainingMisses(row, CURVE_BYTES, 2.0**20)


@pytest.mark.parametrize(
    ("factor", "visits", "share"),
    [(4, "value", 0.1), (8, "value", 1.0), (8, "few", 0.1), (8, "many", 1.0), (16, "few", 1.0)],
)
def test_a_stream_over_hot_fields_that_surely_fit_into_the_cache_misses_only_at_first(
    factor: int, visits: Visits, share: float
) -> None:
    profile = made_up(payload_reads=0.0)
    (use,) = type_uses(profile)
    row, split = profile.phases[0].objects[0], HotCold(use, (touched("key", 0),))
    hot, _ = split_traffic(split, row, use.phases["get"], remaining(row, factor << 20), visits)
    assert hot.lines == pytest.approx(share * 10 * ITEMS * 8 / 64)


@pytest.mark.parametrize(("factor", "lines"), [(8, 0.1 * 8 / 64), (16, 1.0)])
def test_elements_touched_at_first_in_any_order_share_lines_that_the_cache_keeps(
    factor: int, lines: float
) -> None:
    profile = made_up(payload_reads=0.0)
    for instruction in profile.instructions:
        instruction.access_class = "indirect"
    traffic = profile.phases[0].objects[0].traffic
    traffic.read_misses = AccessClasses(indirect=traffic.read_misses.total())
    (use,) = type_uses(profile)
    row, split = profile.phases[0].objects[0], HotCold(use, (touched("key", 0),))
    hot, _ = split_traffic(split, row, use.phases["get"], remaining(row, factor << 20), "value")
    assert hot.lines == pytest.approx(lines * 10 * ITEMS)


def test_a_split_is_proposed_only_where_it_saves() -> None:
    near, far = samples.device("near"), samples.device("far", latency_ns=400.0, read_gb_per_s=4.0)
    (proposal,) = propose_splits(made_up(payload_reads=1000.0), near, far)
    assert proposal.hot_fields == ["key"]
    assert proposal.hot_misses_share > 0.99
    assert 0.0 < proposal.saved.low <= proposal.saved.value <= proposal.saved.high
    assert proposal.slowdown_after.value < 1.0 < proposal.slowdown_before.value
    assert "8 of 128 bytes (key) take 100% of the misses of struct item" in proposal.sentence
    without_types = made_up(payload_reads=1000.0)
    for instruction in without_types.instructions:
        instruction.fields = []
    assert propose_splits(without_types, near, far) == []


def test_a_phase_without_time_changes_no_split_of_the_others() -> None:
    near, far = samples.device("near"), samples.device("far", latency_ns=400.0, read_gb_per_s=4.0)
    profile = made_up(payload_reads=1000.0)
    idle = samples.workload(objects=1, phases=("get", "idle")).phases[1]
    idle.near_cpu_time_ns, idle.near_wall_time_ns = Estimate(0.0, 0.0, 0.0), 0.0
    profile.phases.append(idle)
    (fields,) = report(profile=profile, near=near, far=[far]).fields
    assert [split.hot_fields for split in fields.splits] == [["key"]]
    profile.phases[0].near_cpu_time_ns = Estimate(0.0, 0.0, 0.0)
    (fields,) = report(profile=profile, near=near, far=[far]).fields
    assert fields.splits == []


def lines_by_object(profile: WorkloadProfile) -> dict[int, float]:
    """Return the lines that each object fetched in all phases."""
    lines: dict[int, float] = {}
    for phase in profile.phases:
        for row in phase.objects:
            lines[row.object] = lines.get(row.object, 0.0) + row.traffic.misses()
    return lines


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "driver", "type_name", "hot"),
    [
        ("items.c", "cc", "struct item", ["key", "next"]),
        ("orders.cpp", "c++", "shop::Order", ["customer", "price", "quantity"]),
    ],
)
def test_a_program_that_is_split_fetches_the_predicted_lines(
    tmp_path: Path, source: str, driver: str, type_name: str, hot: list[str]
) -> None:
    if not list(native_folder().glob("nearfar_pass-*.so")):
        pytest.skip("the compiler pass was not built here")
    profiles = []
    for name, options in (("whole", ()), ("split", ("-DSPLIT",))):
        program, out = tmp_path / name, tmp_path / f"{name}.json"
        nearfar(driver, "-O2", *options, EXAMPLES / source, "-o", program, check=True)
        run = ["profile", "-q", "--llc", "4MiB", "--ways", "16", "--repetitions", "1", "-o", out]
        nearfar(*run, "--", program, check=True, timeout=patience(120))
        profiles.append(load(out, WorkloadProfile))
    before, after = profiles
    use = type_uses(before)[0]
    assert use.type == type_name
    proposals = propose_splits(before, load_device(NEAR), load_device(FAR))
    assert [sorted(each.hot_fields) for each in proposals] == [hot]
    assert proposals[0].saved.low > 0.0
    split = HotCold(use, tuple(field for field in use.fields if field.field in hot))
    predicted = lines_by_object(split_profile(before, split, "value"))
    measured = sorted(lines_by_object(after).values())[-2:]
    parts = sorted((predicted[use.object], predicted[len(before.objects)]))
    assert parts[0] == pytest.approx(measured[0], rel=0.25)
    assert parts[1] == pytest.approx(measured[1], rel=0.25)
