"""The page's table of a memory that is moved in pages."""

from __future__ import annotations

import pytest
import samples
from msgspec.structs import replace

from nearfar import api
from nearfar.base.errors import NearfarError
from nearfar.documents import RunRecord, producer
from nearfar.documents.run_record import PagedRun, PagedRunPhase, RunMemory
from nearfar.documents.workload import PageCurve
from nearfar.report.render import render

PAGES = 51_200.0
SIZES = [64.0 * 2 ** (step / 16) for step in range(156)]
WORKLOAD = samples.workload()
FAULTS = [10 * max(0.0, PAGES - size) for size in SIZES]
CURVE = PageCurve(first=PAGES, faults=FAULTS, written=FAULTS, times=[10 * PAGES])
FIRST = WORKLOAD.phases[0]
PROFILE = replace(
    WORKLOAD,
    page_curve_bytes=[4096 * size for size in SIZES],
    phases=[
        replace(FIRST, objects=[replace(FIRST.objects[0], page_curve=CURVE), *FIRST.objects[1:]]),
        *WORKLOAD.phases[1:],
    ],
)


def test_a_paged_memory_has_a_table_by_budget_beside_the_others():
    data = api.report(profile=PROFILE, near=samples.device(), far=["swap-nvme", "cxl-e3s-x8"])
    (paged,) = data.paged
    shares = [budget.near_share for budget in paged.axis.budgets]
    assert shares == pytest.approx([0.9, 0.75, 0.6, 0.5, 0.4, 0.25])
    assert [memory.name for memory in data.memories if memory.role == "far"] == ["cxl-e3s-x8"]
    page = render(data)
    assert "moved in pages" in page
    assert "time doubles at" in page


def test_a_page_of_paged_memories_alone_is_refused():
    with pytest.raises(NearfarError, match="name another one too with --far"):
        api.report(profile=PROFILE, near=samples.device(), far=["swap-nvme"])


def record(budget_bytes: int, factor: float) -> RunRecord:
    """Return a run at a limit in which each phase took `factor` times its near time."""
    return RunRecord(
        producer=producer(), plan="", policy="paged", command=["./store"], executable="store",
        exit_status="exited 0", wall_time_ns=1e9, cpu_time_ns=1e9, allocator="",
        memories=[RunMemory(name="far", device="", spec="zram")],
        objects=[], pages_by_memory={}, recognised_share_of_profile=None,
        recognised_share_of_heap=None, heap_bytes=0, out_of_sight_bytes=0, fallback_bytes=0,
        pictures=0, processes=0,
        paged=PagedRun(
            budget_bytes=budget_bytes, algorithm="lz4", major_faults=70, swap_ins=70, swap_outs=90,
            peak_bytes=budget_bytes, reliefs=0, killed=0,
            phases=[
                PagedRunPhase(
                    phase=phase.name, wall_time_ns=1.0, major_faults=30 + number,
                    cpu_time_ns=factor * phase.near_cpu_time_ns.value,
                )
                for number, phase in enumerate(PROFILE.phases)
            ],
        ),
    )  # fmt: skip


def test_runs_at_limits_are_beside_their_predictions():
    half = round(PAGES / 2) * 4096
    data = api.report(
        profile=PROFILE, near=samples.device(), far=["zram-lz4", "cxl-e3s-x8"],
        record=[record(half, 3.5)],
    )  # fmt: skip
    (run,) = data.paged[0].measured
    assert run.near_share == pytest.approx(0.5)
    assert run.slowdown == pytest.approx(3.5)
    assert run.predicted_faults.value > 100_000
    page = render(data)
    assert "At limits on this machine, in zram: predicted" in page
    assert "3.50" in page


def test_records_without_a_limit_or_a_paged_memory_are_refused():
    half = round(PAGES / 2) * 4096
    fars = ["zram-lz4", "cxl-e3s-x8"]
    with pytest.raises(NearfarError, match="name it by --far"):
        api.report(profile=PROFILE, near=samples.device(), far=fars[1:], record=[record(half, 2.0)])
    with pytest.raises(NearfarError, match="without a limit of memory"):
        unlimited = replace(record(half, 2.0), paged=None)
        api.report(profile=PROFILE, near=samples.device(), far=fars, record=[unlimited])


def test_records_that_cannot_be_compared_are_refused():
    half = round(PAGES / 2) * 4096
    fars = ["zram-lz4", "cxl-e3s-x8"]
    usual = record(half, 2.0)
    for made, why in (
        (replace(usual, command=["/bin/other"]), "is a run of other, and the profile is of store"),
        (replace(usual, paged=replace(usual.paged, phases=[])), "written by an earlier nearfar"),
        (record(4096, 2.0), "its limit of 4.00 KiB is below what can be predicted"),
    ):
        with pytest.raises(NearfarError, match=why):
            api.report(profile=PROFILE, near=samples.device(), far=fars, record=[made])
