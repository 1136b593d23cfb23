"""The page's table of a memory that is moved in pages."""

from __future__ import annotations

import pytest
import samples
from msgspec.structs import replace

from nearfar import api
from nearfar.base.errors import NearfarError
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
    with pytest.raises(NearfarError, match="name one more by --far"):
        api.report(profile=PROFILE, near=samples.device(), far=["swap-nvme"])
