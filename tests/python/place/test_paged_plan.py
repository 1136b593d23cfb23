"""Plans for a paged far memory: what is locked, for page curves that are known."""

from __future__ import annotations

import numpy as np
import pytest
import samples
from msgspec.structs import replace

from nearfar.api import place
from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.documents import Plan, WorkloadProfile
from nearfar.documents.workload import PageCurve

PAGES, HOT, PASSES = 50_000, 15_000, 10.0
SIZES = np.array([64 * 2 ** (step / 16) for step in range(156)])
SCAN = PAGES - HOT


def curve(first: float, faults: object, between: float) -> PageCurve:
    """Return the curve of pages that are touched again after `between` touches."""
    counted = np.broadcast_to(np.asarray(faults, dtype=float), SIZES.shape).tolist()
    times = [0.0] * 20
    times[round(2 * np.log2(between / 256) - 1.5)] = counted[0]
    return PageCurve(first=first, faults=counted, written=counted, times=times)


LOOP = curve(PAGES, np.where(SIZES < PAGES, PASSES * PAGES, 0.0), PAGES)
UNIFORM = curve(PAGES, PASSES * PAGES * np.clip(1 - SIZES / PAGES, 0, 1), PAGES)
# Random touches of hot pages while a scan goes by: near to what a program of both counted.
EVERY = 40.0 * HOT + PASSES * SCAN
HOT_PAGES = curve(HOT, 40.0 * HOT * np.clip(1 - SIZES / (HOT * 1.3), 0, 1), EVERY / 40.0)
SCANNED = curve(SCAN, np.where(SIZES < PAGES, PASSES * SCAN, 0.0), EVERY / PASSES)


def profile(*curves: PageCurve) -> WorkloadProfile:
    """Return a profile of objects with these curves, the only phase of which takes 1 s."""
    workload = samples.workload()
    first = workload.phases[0]
    rows = [replace(row, page_curve=each) for row, each in zip(first.objects, curves, strict=False)]
    return replace(
        workload, page_curve_bytes=(SIZES * 4096).tolist(), phases=[replace(first, objects=rows)]
    )


def planned(workload: WorkloadProfile, budget: str) -> tuple[Plan, dict[str, float]]:
    """Return the plan, and the time of each of its bars."""
    far = load_device("swap-nvme")
    plan = place(profile=workload, near=samples.device(), far=[far], budget=budget)
    return plan, {bar.name: bar.time_ns.value for bar in plan.alternatives}


def near_share(plan: Plan, place_: int) -> float:
    row = plan.placements[place_]
    shares = {part.memory: part.share for part in row.parts}
    return shares.get("near", 1.0 if not row.parts and row.memory == "near" else 0.0)


def test_of_a_loop_a_part_is_locked_and_saves_its_share_of_the_faults():
    plan, times = planned(profile(LOOP), "60%")
    share = near_share(plan, 0)
    assert share == pytest.approx(0.54, abs=0.02)  # 10 % of the budget stays free
    added = {name: time - times["all-near"] for name, time in times.items()}
    assert added["plan"] / added["kernel"] == pytest.approx(1 - share, abs=0.02)
    assert plan.memories[0].used_bytes == pytest.approx(share * PAGES * 4096, rel=0.01)


def test_random_touches_of_one_object_leave_nothing_to_choose():
    plan, times = planned(profile(UNIFORM), "60%")
    assert near_share(plan, 0) == 0.0
    assert times["plan"] == times["kernel"]
    assert any("locking saves less" in caveat for caveat in plan.caveats)


def test_hot_pages_are_locked_before_scanned_ones():
    plan, times = planned(profile(HOT_PAGES, SCANNED), "60%")
    assert near_share(plan, 0) == 1.0
    assert 0.0 < near_share(plan, 1) < 0.6
    assert times["plan"] < 0.8 * times["kernel"]


def test_what_a_paged_plan_cannot_do_is_refused_in_one_sentence():
    with pytest.raises(NearfarError, match="one profile, one far memory and a budget"):
        place(profile=profile(LOOP), near=samples.device(), far=["swap-nvme"], slo=1.5)
    with pytest.raises(NearfarError, match="has no page curves"):
        place(profile=samples.workload(), near=samples.device(), far=["swap-nvme"], budget="50%")
