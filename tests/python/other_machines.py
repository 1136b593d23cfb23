"""A made-up profile and memories for tests of other machines."""

from __future__ import annotations

import msgspec
import numpy as np
import samples

from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import AccessClasses, MissCurve, ObjectTraffic, Traffic

NEAR = samples.device("near", 100.0, 20.0)
SLOWER = samples.device("slower", 200.0, 10.0)
SIZES = [float(1 << log2) for log2 in range(15, 41)]


def made_up(llc_bytes: int = 1 << 20) -> WorkloadProfile:
    """Return a profile of one phase and one 64 MiB object with random accesses."""
    workload = samples.workload(objects=1)
    curve = [max(0.0, 1e6 * (1 - size / (64 << 20))) for size in SIZES]
    misses = float(np.interp(llc_bytes, SIZES, curve))
    row = ObjectTraffic(
        object=0,
        traffic=Traffic(
            accesses=1e6,
            read_misses=AccessClasses(indirect=misses),
            read_sequential=AccessClasses(indirect=misses / 10),
            write_backs=misses / 2,
        ),
        curve=MissCurve(read=curve, write=[0.0] * len(SIZES)),
    )
    phase = msgspec.structs.replace(
        workload.phases[0],
        objects=[row],
        near_cpu_time_ns=Estimate(2e8, 1.9e8, 2.1e8),
        near_wall_time_ns=2e8,
    )
    cache = msgspec.structs.replace(workload.cache, size_bytes=llc_bytes)
    return msgspec.structs.replace(workload, phases=[phase], cache=cache, curve_bytes=SIZES)
