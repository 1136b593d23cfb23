"""The paper's intset: small runs of the two programs, and predictions from their profiles."""

from __future__ import annotations

import pytest

from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.documents import WorkloadProfile
from nearfar_studies.studies.intset_slowdowns import (
    COMMITTED,
    PUBLISHED,
    IntsetSlowdowns,
    compare,
    profile,
)

SIZES = {512: 4000}
OPERATIONS = 20_000


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> list[WorkloadProfile]:
    folder = tmp_path_factory.mktemp("intset")
    try:
        return [profile(folder, persistent, SIZES, OPERATIONS) for persistent in (False, True)]
    except NearfarError as error:
        pytest.skip(str(error))


def test_transactions_persist_as_libpmemobjs_do(profiles: list[WorkloadProfile]) -> None:
    volatile, persistent = profiles
    phase = next(phase for phase in persistent.phases if phase.name == "list 512")
    count = {name: sum(getattr(row.traffic, name) for row in phase.objects) for name in COMMITTED}
    # In an insert or a removal, both log one reference and either allocate or free a node.
    assert count["fences"] / count["flushes"] == pytest.approx(6 / 4.5, rel=0.05)
    assert count["nt_store_bytes"] / count["fences"] == pytest.approx(384 / 6, rel=0.01)
    assert all(row.traffic.flushes == 0 for phase in volatile.phases for row in phase.objects)


def test_persisting_and_optane_slow_every_structure_down(profiles: list[WorkloadProfile]) -> None:
    volatile, persistent = profiles
    study = IntsetSlowdowns()
    study.name = "intset-slowdowns"
    result = compare(study, volatile, persistent, load_device("ddr4-2666-cascade-lake"))
    rows = result.tables[0].rows
    assert [row.published for row in rows] == [*(mean for _, mean in PUBLISHED.values()), 5.54]
    for row in rows:
        assert row.ours is not None
        assert row.ours >= row.rivals["persisting in DRAM"] > 1.0
        assert row.low is not None
        assert row.low <= row.ours <= (row.high or 0.0)
    # As published, the table slows down most, because its operations are shortest.
    of_list, of_hash, of_skip = (row.ours or 0.0 for row in rows[:3])
    assert of_list < of_hash
    assert of_skip < of_hash
