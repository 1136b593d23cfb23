"""A profile's counts as arrays."""

from __future__ import annotations

import numpy as np
import pytest
import samples

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import AccessClasses, Traffic
from nearfar.predict.phases import phases_of
from nearfar.predict.traffic import (
    COLUMNS,
    HITS,
    INDEPENDENT,
    STORE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    misses,
    read_share,
    write_backs,
)


def one_object(traffic: Traffic, **thing: object) -> WorkloadProfile:
    workload = samples.workload(objects=1, phases=("run",))
    workload.phases[0].objects[0].traffic = traffic
    for name, value in thing.items():
        setattr(workload.objects[0], name, value)
    return workload


@pytest.mark.parametrize("seed", range(3))
def test_no_line_is_lost_or_invented(seed: int):
    workload = samples.workload(seed=seed)
    for phase, result in zip(workload.phases, phases_of(workload), strict=True):
        assert float(misses(result.total)) == pytest.approx(
            sum(row.traffic.misses() for row in phase.objects)
        )
        assert float(write_backs(result.total)) == pytest.approx(
            sum(row.traffic.write_backs for row in phase.objects)
        )


def test_a_long_stream_is_a_stream():
    traffic = Traffic(accesses=8e6, read_misses=AccessClasses(stream=1e6))
    workload = one_object(traffic, allocations=1, allocated_bytes=1 << 30)
    total = phases_of(workload)[0].total
    assert total[STREAM] == pytest.approx(1e6, rel=1e-6)
    assert total[HITS] == 0.0


@pytest.mark.parametrize(("bytes_each", "on_demand"), [(64, 1.0), (128, 1.0), (1280, 0.1)])
def test_a_stream_within_small_allocations_is_fetched_on_demand(bytes_each: int, on_demand: float):
    """Two lines train the prefetcher: a tenth of an allocation of 20 lines."""
    traffic = Traffic(
        accesses=1e6,
        read_misses=AccessClasses(stream=1e6),
        write_misses=AccessClasses(stream=1e5),
    )
    workload = one_object(traffic, allocations=1000, allocated_bytes=1000 * bytes_each)
    total = phases_of(workload)[0].total
    assert total[INDEPENDENT] == pytest.approx(on_demand * 1e6)
    assert total[STREAM] == pytest.approx((1 - on_demand) * 1e6)
    assert total[STORE] == pytest.approx(on_demand * 1e5)
    assert total[STORE_STREAM] == pytest.approx((1 - on_demand) * 1e5)


def test_write_backs_are_streams_like_their_stores():
    traffic = Traffic(write_misses=AccessClasses(stream=3e5, opaque=1e5), write_backs=4e4)
    total = phases_of(one_object(traffic))[0].total
    assert total[WRITE_BACK] == pytest.approx(1e4)
    assert total[WRITE_BACK_STREAM] == pytest.approx(3e4)


def test_read_share_of_reads_and_write_backs():
    traffic = Traffic(read_misses=AccessClasses(opaque=3e5), write_backs=1e5)
    assert read_share(phases_of(one_object(traffic))[0].total) == pytest.approx(0.75)
    assert read_share(np.zeros(COLUMNS)) == 1.0


def test_concurrency_is_cpu_over_wall_time_within_the_counted_threads():
    workload = samples.workload(phases=("run",))
    phase = workload.phases[0]
    phase.near_wall_time_ns = phase.near_cpu_time_ns.value / 3
    assert phases_of(workload)[0].concurrency == 1.0
    workload.program.threads_seen = 2
    assert phases_of(workload)[0].concurrency == 2.0
    workload.program.threads_seen = 8
    assert phases_of(workload)[0].concurrency == pytest.approx(3.0)
    phase.near_wall_time_ns = 0.0
    assert phases_of(workload)[0].concurrency == 1.0
