"""One kernel alone, for `nearfar measure --kernel NAME`: a number and its interval, no document."""

from __future__ import annotations

import time
from typing import Any

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.statistics import median_estimate
from nearfar.measure.open_subject import open_memory
from nearfar.measure.rounds import Limits, run_rounds
from nearfar.measure.settings import Settings, native
from nearfar.measure.subject import Point

KERNEL_S = 3.0
"""Some 100 samples: enough for an interval of 1 %."""


def kernel_list() -> list[dict[str, Any]]:
    """Return every kernel with the traffic it declares per iteration, as plain data."""
    native()
    from nearfar import _measure

    return [
        {
            "name": kernel.name,
            "summary": kernel.summary,
            "read_bytes": kernel.read_bytes,
            "written_bytes": kernel.written_bytes,
            "non_temporal_bytes": kernel.non_temporal_bytes,
            "owned_bytes": kernel.owned_bytes,
            "dependent_loads": kernel.dependent_loads,
            "max_chains": kernel.max_chains,
        }
        for kernel in _measure.kernels()
    ]


def measure_kernel(settings: Settings, name: str, chains: int = 1) -> dict[str, Any]:
    """Measure the kernel `name` on the largest region, once per page size.

    Kernels of dependent loads give ns per access on one CPU, the others GB/s on
    ``settings.threads`` CPUs (default 1).
    """
    known = {kernel["name"]: kernel for kernel in kernel_list()}
    if name not in known:
        hint = nearest(name, list(known)) or f"; there are: {', '.join(known)}"
        raise NearfarError(f"there is no kernel {name!r}{hint}")
    kernel = known[name]
    if not 1 <= chains <= kernel["max_chains"]:
        most = kernel["max_chains"]
        raise NearfarError(
            f"kernel {name!r} takes 1 to {most} chains, not {chains}"
            if most > 1
            else f"kernel {name!r} has no chains: leave --chains out, or use --kernel chains"
        )
    ready = open_memory(settings)
    facts = ready.subject.facts()
    latency = kernel["dependent_loads"] > 0
    threads = 1 if latency else min(settings.threads or 1, facts.threads)
    size = facts.largest_bytes if latency else facts.buffer_bytes
    plan = [
        Point(
            "latency" if latency else "bandwidth",
            name,
            page_bytes,
            size,
            chains=chains,
            threads=threads,
        )
        for page_bytes in (facts.page_sizes if latency else facts.page_sizes[:1])
    ]
    limits = Limits(time.monotonic() + (settings.seconds or KERNEL_S), settings.repetitions)
    samples = run_rounds(plan, ready.subject.sample, limits).samples
    results = []
    for point, values in samples.items():
        estimate = median_estimate([one.value for one in values])
        results.append(
            {
                "page_bytes": point.page_bytes,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "repetitions": len(values),
            }
        )
    return {
        "kernel": kernel,
        "memory": str(settings.spec),
        "region_bytes": size,
        "threads": threads,
        "chains": chains,
        "unit": "ns per access" if latency else "GB/s",
        "results": results,
        "warnings": ready.warnings,
    }
