"""A sweep over three hosts without a shared folder outlives kills: equal data, nothing twice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from patience import patience

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.three_hosts import SCHEDULES, survive, why_not

pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(why_not()), reason=why_not() or "possible")]


@pytest.mark.parametrize("seed", range(1, SCHEDULES + 1))
def test_data_are_equal_after_kills(tmp_path: Path, seed: int) -> None:
    assert survive(tmp_path, seed, lambda: patience(120))
