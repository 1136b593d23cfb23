"""Proposals to split types: on a made-up profile, and on two programs that are then split."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
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
    ObjectTraffic,
    Traffic,
)
from nearfar.native_files import native_folder
from nearfar.place.hot_cold import HotCold, Visits
from nearfar.place.object_curves import ObjectCurves, Remaining
from nearfar.place.split_near_time import NearTimes, _costs, _counts, _near_time
from nearfar.place.split_profile import split_profile
from nearfar.place.split_traffic import Waits, split_traffic
from nearfar.place.splits import propose_splits
from nearfar.place.type_use import ANY_START, MAPPED_START, Layout, type_uses
from nearfar.predict.derive import near_memory
from nearfar.predict.field_effects import shares
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.phases import phases_of

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
    after = split_traffic(split, row, use.phases["get"], ObjectCurves(), "value")
    assert after.hot.lines == pytest.approx(10 * ITEMS * 8 / 64)
    assert after.cold.lines == pytest.approx(1000.0)
    assert split.strides == (8, 120)


def test_the_source_of_copies_does_not_hide_the_cold_parts_that_they_fill() -> None:
    profile = made_up(payload_reads=0.0)
    whole = touched("", 0, 128)
    fill = msgspec.structs.replace(
        profile.instructions[0], function="fill", bytes=128, fields=[whole]
    )
    source, copies = (
        msgspec.structs.replace(fill, operation=operation) for operation in ("load", "store")
    )
    profile.instructions += [source, copies]
    profile.phases[0].instructions += [
        InstructionTraffic(instruction=2, object=0, misses=0.0, accesses=100.0 * ITEMS),
        # Each item spans three lines, of which it shares one with the next item.
        InstructionTraffic(instruction=3, object=0, misses=2.0 * ITEMS, accesses=3.0 * ITEMS),
    ]
    profile.phases[0].objects[0].traffic.write_misses = AccessClasses(stream=2.0 * ITEMS)
    use, row = type_uses(profile)[0], profile.phases[0].objects[0]
    split = HotCold(use, (touched("key", 0),))
    after = split_traffic(split, row, use.phases["get"], ObjectCurves(), "value")
    assert after.cold.lines == pytest.approx(ITEMS * 120 / 64)


CURVE_BYTES = [2.0**power for power in range(20, 30)]


def remaining(
    row: ObjectTraffic, fits_bytes: float, sizes: Sequence[float] = CURVE_BYTES
) -> ObjectCurves:
    """Return the curve of an object that fits from a size on: then a tenth, first touches, misses.

    The cache has 1 MiB.
    """
    misses = [row.traffic.misses() * (0.1 if size >= fits_bytes else 1.0) for size in sizes]
    return ObjectCurves(lines=Remaining(sizes, misses, 2.0**20))


@pytest.mark.parametrize(
    ("factor", "visits", "size", "share"),
    [
        (6, "value", math.inf, 0.1),
        (6, "many", math.inf, 1.0),
        (3, "many", math.inf, 0.1),
        # The cache holds 8 times as many keys, and the curve has no size between 6 and 12.
        (12, "few", math.inf, 0.1),
        (12, "value", math.inf, 1.0),
        (12, "many", math.inf, 1.0),
        (24, "few", math.inf, 1.0),
        # Each key is in one line of two, so keys of 15 caches of items fit, and of 17 do not.
        (12, "value", 15.0, 0.1),
        (12, "value", 17.0, 1.0),
    ],
)
def test_a_stream_over_hot_fields_that_fit_into_the_cache_misses_only_at_first(
    factor: int, visits: Visits, size: float, share: float
) -> None:
    profile = made_up(payload_reads=0.0)
    (use,) = type_uses(profile)
    row, split = profile.phases[0].objects[0], HotCold(use, (touched("key", 0),))
    curves = remaining(row, factor << 20, [0.75 * size for size in CURVE_BYTES])
    curves = dataclasses.replace(curves, size=size)
    hot = split_traffic(split, row, use.phases["get"], curves, visits).hot
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
    curves = remaining(row, factor << 20)
    hot = split_traffic(split, row, use.phases["get"], curves, "value").hot
    assert hot.lines == pytest.approx(lines * 10 * ITEMS)


@pytest.mark.parametrize(
    ("layout", "begin", "size", "alone", "dense"),
    [
        # A mapped block starts 16 bytes behind a line's start, so 48 bytes just fit into a line.
        (Layout(128, MAPPED_START), 0, 48, 1.0, 1.0),
        (Layout(128, MAPPED_START), 104, 16, 2.0, 2.0),
        (Layout(128, ANY_START), 0, 48, 1.5, 1.5),
        (Layout(48, MAPPED_START), 0, 48, 1.5, 0.75),
        (Layout(8, MAPPED_START), 0, 8, 1.0, 0.125),
    ],
)
def test_lines_of_a_part_follow_from_where_elements_start(
    layout: Layout, begin: int, size: int, alone: float, dense: float
) -> None:
    assert layout.lines(begin, size) == pytest.approx(alone)
    assert layout.lines_in_sequence(begin, size) == pytest.approx(dense)


@pytest.mark.parametrize(("visits", "lines"), [("value", 1.0), ("many", 1.0), ("few", 0.1 * 0.5)])
def test_hot_parts_that_are_blocks_of_their_own_share_lines_only_where_blocks_are_sorted(
    visits: Visits, lines: float
) -> None:
    profile = made_up(payload_reads=0.0)
    owner, row = profile.objects[0], profile.phases[0].objects[0]
    owner.allocations = ITEMS
    for instruction in profile.instructions:
        instruction.access_class = "chase"
    row.traffic.read_misses = AccessClasses(chase=10.0 * ITEMS)
    (use,) = type_uses(profile)
    split = HotCold(use, (touched("key", 0),))
    assert use.alone
    assert split.strides == (32, 128)
    after = split_traffic(split, row, use.phases["get"], remaining(row, 2 << 20), visits)
    assert after.hot.lines == pytest.approx(lines * 10 * ITEMS)


def near_time_after(profile: WorkloadProfile) -> Estimate:
    """Return near time with the key of each item apart from the rest, ns."""
    (use,) = type_uses(profile)
    after, waits = split_profile(profile, HotCold(use, (touched("key", 0),)), "value")
    (time,) = NearTimes(profile, near_memory(load_device(NEAR))).after(after, waits)
    return time


def test_near_time_falls_with_lines_of_a_sequence_unless_other_work_hides_them() -> None:
    profile = made_up(payload_reads=0.0)
    near_ns, time = profile.phases[0].near_cpu_time_ns.value, near_time_after(profile)
    assert time.high == pytest.approx(near_ns, rel=1e-3)
    saved_lines, line_ns = 10 * ITEMS * (1 - 8 / 64), near_memory(load_device(NEAR)).core_stream_ns
    assert near_ns - time.value > 0.9 * saved_lines * line_ns
    # An eighth of the lines and a sixteenth of the pages remain; at most all near time is theirs.
    assert near_ns / 16 <= time.low < time.value


def test_near_time_after_a_split_is_a_share_of_the_time_that_waits_take() -> None:
    profile = made_up(payload_reads=0.0)
    phase = profile.phases[0]
    phase.near_cpu_time_ns = Estimate(1e6, 1e6, 1e6)  # less than the memory's figures allow
    time = near_time_after(profile)
    assert 1e6 / 16 <= time.low <= time.value <= 1e6 / 8


def test_near_time_may_rise_by_lines_of_cold_parts() -> None:
    profile = made_up(payload_reads=0.0)
    key_and_payload = [touched("key", 0), touched("payload", 64, 64)]
    for instruction in profile.instructions:
        instruction.access_class, instruction.fields = "indirect", key_and_payload
    row = profile.phases[0].objects[0]
    row.traffic.read_misses = AccessClasses(indirect=row.traffic.misses())
    near_ns, time = profile.phases[0].near_cpu_time_ns.value, near_time_after(profile)
    assert time.low <= time.value <= time.high
    assert time.high > near_ns


def test_near_time_does_not_limit_waits_that_a_split_adds() -> None:
    near = near_memory(load_device(NEAR))
    model = InversionModel(phases_of(made_up(payload_reads=0.0))[0], near, near)
    costs = np.array(_costs(model)).T
    before, after = np.zeros(len(costs[0])), np.zeros(len(costs[0]))
    near_ns = model.phase.near_time_ns.value
    before[3] = 100 * near_ns / costs[2][3]  # lines of a sequence, more than near time holds
    after[:] = before
    added = after[1] = near_ns / costs[2][1]
    time = _near_time(model, before, after)
    assert time.high == pytest.approx(near_ns + added * costs[2][1])


def test_page_walks_of_a_split_do_not_depend_on_other_objects() -> None:
    near = dataclasses.replace(near_memory(load_device(NEAR)), walk_ns=20.0)
    (phase,) = phases_of(made_up(payload_reads=1000.0))
    waits = Waits(pages=0.0, hits=0.0, walks=300.0, at_random=100.0)
    assert _counts(phase, waits, near)[-2:].sum() == 200.0


def test_hits_and_page_walks_that_remain_follow_from_the_objects_curves() -> None:
    profile = made_up(payload_reads=0.0)
    for instruction in profile.instructions:
        instruction.access_class = "indirect"
    phase = profile.phases[0]
    row, misses = phase.objects[0], 10.0 * ITEMS
    row.traffic = Traffic(
        accesses=3 * misses,
        read_misses=AccessClasses(indirect=misses),
        private_misses=3 * misses,
        tlb_misses_4k=2 * misses,
    )
    (use,) = type_uses(profile)
    split = HotCold(use, (touched("key", 0),))
    # The cache holds eight times as many keys as items, and a page sixteen times as many.
    sizes = [1.0, 8.0, 16.0]
    curves = ObjectCurves(
        lines=Remaining(sizes, [1.0, 0.0, 0.0], 1.0),
        private=Remaining(sizes, [1.0, 0.8, 0.8], 1.0),
        walks=Remaining(sizes, [1.0, 0.5, 0.25], 1.0),
    )
    after = split_traffic(split, row, use.phases["get"], curves, "value")
    assert after.before.hits == pytest.approx(2 * misses)
    assert after.before.walks == pytest.approx(2 * misses)
    assert after.hot.lines == 0.0
    # First touches, 0.8 of all accesses that reach the shared cache, share lines of eight keys.
    assert after.after.hits == pytest.approx(3 * misses * 0.8 / 8)
    assert after.after.walks == pytest.approx(2 * misses * 0.25)


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
    predicted = lines_by_object(split_profile(before, split, "value")[0])
    measured = sorted(lines_by_object(after).values())[-2:]
    parts = sorted((predicted[use.object], predicted[len(before.objects)]))
    assert parts[0] == pytest.approx(measured[0], rel=0.25)
    assert parts[1] == pytest.approx(measured[1], rel=0.25)
