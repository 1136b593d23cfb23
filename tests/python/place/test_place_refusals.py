"""Wrong options and inputs of place are refused in one sentence."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import samples

from nearfar.api import place
from nearfar.base.errors import NearfarError

NEAR = samples.device()
PMEM = samples.device("pmem", 300.0, 5.0, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"far": []}, "no far memory"),
        ({"allow": ["part"]}, 'Choose from: "parts"'),
        ({"budget": None}, "one of the two"),
        ({"slo": 1.1}, "one of the two"),
        ({"budget": None, "slo": 0.9}, "1 is as fast as all near"),
        ({"budget": None, "slo": math.nan}, "no slowdown"),
        ({"budget": "price:10%"}, "no placement costs 10%"),
        ({"budget": "price:cheap"}, "price:40%"),
        ({"move_gb_per_s": 0.0}, "above 0"),
        ({"phase": "gte"}, "did you mean 'get'"),
        ({"optimiser": "exakt"}, "did you mean 'exact'"),
        ({"optimiser": "all-near"}, "only a bar"),
        ({"near_price": 0.0}, "prices"),
        ({"near_price": math.nan}, "prices"),
        ({"budget": "-1B"}, "negative"),
    ],
)
def test_wrong_use_is_refused_in_one_sentence(change: dict, message: str):
    arguments = {"far": PMEM, "budget": "25%", **change}
    with pytest.raises(NearfarError, match=message):
        place(profile=samples.workload(), near=NEAR, **arguments)


def test_a_program_that_nobody_observed_is_refused():
    workload = samples.workload()
    workload.uncounted_share = 1.0
    place(profile=workload, near=NEAR, far=PMEM, budget="25%")
    for phase in workload.phases:
        phase.objects, phase.instructions = [], []
    with pytest.raises(NearfarError, match="no access of the program was observed"):
        place(profile=workload, near=NEAR, far=PMEM, budget="25%")


def test_memories_that_are_too_small_are_refused(tmp_path: Path):
    small = samples.memories(tmp_path, (PMEM, 1 << 12))
    with pytest.raises(NearfarError, match="the memories hold"):
        place(profile=samples.workload(), near=NEAR, memories=small, budget="25%")


def test_inputs_of_different_programs_are_refused():
    other = samples.workload()
    other.program.executable = "/tmp/other"
    with pytest.raises(NearfarError, match="only runs of one program"):
        place(profile=[samples.workload(), other], near=NEAR, far=PMEM, budget="25%")
