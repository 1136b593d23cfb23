"""Impossible counts: a sentence reports them and their replacement, or the profile is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import samples
from msgspec.structs import replace

from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile, load
from nearfar.documents.prediction import DevicePrediction
from nearfar.documents.workload import Traffic

REDIS = Path(__file__).parents[2] / "golden" / "inputs" / "redis.json"
CONTRADICTION = "the profile contradicts itself"


def predicted(profile: WorkloadProfile) -> DevicePrediction:
    far = samples.device("far", 300.0, 8.0, 4.0)
    (device,) = predict(profile=profile, near=samples.device(), far=[far]).devices
    return device


def changed(change: Callable[[Traffic], Traffic]) -> WorkloadProfile:
    """Return the profile of a real program with every count changed."""
    profile = load(REDIS, WorkloadProfile)
    phases = [
        replace(
            phase,
            objects=[replace(row, traffic=change(row.traffic)) for row in phase.objects],
            instructions=[],
        )
        for phase in profile.phases
    ]
    return replace(profile, phases=phases)


def in_sequence(traffic: Traffic) -> Traffic:
    return replace(traffic, read_sequential=traffic.read_misses.times(5.0))


IMPOSSIBLE = {
    "misses of": lambda traffic: replace(traffic, accesses=1.0),
    "misses in sequence of": in_sequence,
    "lines written back, of": lambda traffic: replace(traffic, write_backs=1e12),
}


@pytest.mark.parametrize("words", IMPOSSIBLE)
def test_what_cannot_be_is_said_and_limited(words: str):
    intact, device = (
        predicted(changed(lambda traffic: traffic)),
        predicted(changed(IMPOSSIBLE[words])),
    )
    assert not [text for text in intact.caveats if CONTRADICTION in text]
    sentences = [text for text in device.caveats if words in text and CONTRADICTION in text]
    assert sentences
    assert all("used" in text for text in sentences)
    # Limited to what can be, the time is of the same order.
    ratio = device.total.slowdown.value / intact.total.slowdown.value
    assert 0.5 < ratio < 2.0


def test_a_near_time_that_ends_before_it_begins_is_refused():
    profile = samples.workload()
    phase = replace(profile.phases[0], near_cpu_time_ns=Estimate(1e9, 2e9, 5e8))
    with pytest.raises(
        NearfarError, match="2e\\+09 to 5e\\+08 ns in the profile, which ends before"
    ):
        predicted(replace(profile, phases=[phase]))
