"""The page explains every phase and the objects that add most, as `predict --explain` does."""

from __future__ import annotations

import samples

from nearfar.api import predict, report
from nearfar.devices.library import load_device
from nearfar.predict.breakdown import MAX_LARGEST

NEAR, FARS = samples.device(), ("optane-100-6dimm", "cxl-e3s-x8")
WORKLOAD = samples.workload(objects=20)


def test_the_page_has_what_predict_explains() -> None:
    far = [load_device(name) for name in FARS]
    data = report(profile=WORKLOAD, near=NEAR, far=far)
    names = ["load", "get", *(f"make_{number} store.c:{100 + number}" for number in range(20))]
    asked = {
        (device.far, entry.object, entry.phase): entry
        for device in predict(profile=WORKLOAD, near=NEAR, far=far, explain=names).devices
        for entry in device.explained
    }
    for row in data.breakdowns:
        entry = row.breakdown
        assert entry == asked[row.memory, entry.object, entry.phase]
        assert row.object is None or data.objects[row.object].id == entry.object
    for memory in FARS:
        rows = [row for row in data.breakdowns if row.memory == memory]
        assert [r.breakdown.phase for r in rows if r.object is None] == ["load", "get"]
        effects = {e.phase: e for e in data.effects if e.memory == memory}
        added = [triple[0] for triple in effects["total"].added_ns]
        largest = sorted(range(len(added)), key=lambda number: -added[number])[:MAX_LARGEST]
        assert {r.object for r in rows if r.object is not None} == set(largest)
