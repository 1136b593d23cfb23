"""Near memory's current speed: the profile's curve scaled to the times of the probes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples
from samples import device

from nearfar.emulate.near_now import CHAINS, UNKNOWN, near_now
from nearfar.predict.core_time import StreamFetch, core_time_ns, overlap_at, traffic_time
from nearfar.predict.derive import near_memory
from nearfar.predict.traffic import COLUMNS, STREAM


@examples(50)
@given(st.floats(0.5, 3.0), st.floats(0.9, 1.1))
def test_costs_equal_the_times_of_the_probes(factor: float, unlike: float) -> None:
    near = replace(near_memory(device("near")), copied_ns=3.0, copied_ends_ns=0.5)
    taken = {name: near.cost_ns(count) * factor for name, count in CHAINS.items()}
    taken["chains-4"] *= unlike
    run = {**taken, "stream": near.core_stream_ns * 2.0}
    here = near_now(near, [run]).memory(near)
    assert here.latency_ns == pytest.approx(near.latency_ns * factor)
    assert here.core_stream_ns == pytest.approx(near.core_stream_ns * 2.0)
    assert (here.copied_ns, here.copied_ends_ns) == (pytest.approx(6.0), pytest.approx(1.0))
    for name, count in CHAINS.items():
        # Costs may not rise with the number of chains, so a cost that is scaled up may be limited.
        assert here.cost_ns(count) == pytest.approx(taken[name], rel=0.12)
    assert (here.chain_costs_ns[1:] <= here.chain_costs_ns[:-1]).all()


def test_the_median_run_counts_and_unknown_times_change_nothing() -> None:
    near = near_memory(device("near"))
    runs = [
        {**{name: near.cost_ns(count) * factor for name, count in CHAINS.items()}, "stream": 1.0}
        for factor in (1.0, 1.1, 9.0)
    ]
    assert near_now(near, runs).chains[1.0] == pytest.approx(1.1)
    assert UNKNOWN.memory(near) is near and UNKNOWN.caveats() == []
    assert (
        "2.00 times as long"
        in near_now(near, [{n: 2 * t for n, t in runs[0].items()}]).caveats()[0]
    )


def test_bandwidth_is_at_least_what_one_core_draws_now() -> None:
    """After a profile of a busy moment, a stream still explains exactly its time."""
    near = near_memory(device("near"))
    run = {name: near.cost_ns(count) * 0.5 for name, count in CHAINS.items()}
    here = near_now(near, [{**run, "stream": near.core_stream_ns * 0.8}]).memory(near)
    assert here.read_ns[0] <= here.chain_costs_ns[-1]
    assert here.read_ns[1] <= here.core_stream_ns
    lines = np.zeros(COLUMNS)
    lines[STREAM] = 1e6
    ahead = traffic_time(lines, here, overlap_at(1.0), StreamFetch(), 1.0)
    assert core_time_ns(0.0, [ahead], [1.0]) == pytest.approx(0.8e6 * near.core_stream_ns)


def test_bandwidth_of_all_cores_stays_where_one_core_is_slower_now() -> None:
    near = near_memory(device("near"))
    run = {name: near.cost_ns(count) * 1.5 for name, count in CHAINS.items()}
    here = near_now(near, [{**run, "stream": near.core_stream_ns * 1.5}]).memory(near)
    assert here.read_ns == near.read_ns
