"""X-Mem's slowdowns: the programs are built, profiled and placed."""

from __future__ import annotations

import pytest

from nearfar.study.studies.x_mem_slowdowns import PUBLISHED, XMemSlowdowns
from nearfar.study.study import Given


@pytest.mark.long
def test_three_programs_are_slowed_down_in_kind():
    result = XMemSlowdowns().run(Given())
    rows = result.tables[0].rows
    assert [row.published for row in rows] == [
        value for one in PUBLISHED for value in (one.low, one.high)
    ]
    mild, harsh = ([row.ours or 0.0 for row in rows[at::2]] for at in (0, 1))
    # All far, a graph is slowed down a lot; with half of the data near, guided, hardly.
    assert mild[0] > 1.3
    assert harsh[0] > 2.0
    assert harsh[1] < 0.6 * harsh[0]
    for one, other, row in zip(mild, harsh, rows[1::2], strict=True):
        assert one <= other * 1.001
        assert row.low is not None
        assert row.low <= other <= (row.high or 0.0)
    # The vertices' data and the index' inner nodes are what is worth being near.
    kept = dict(result.texts[1].rows)
    assert "sent" in kept["graph analytics, 1/2 near"]
    assert "slab" not in kept["key-value cache, 1/8 near"]
    assert result.texts[0].rows[0][1].startswith("150.0")
