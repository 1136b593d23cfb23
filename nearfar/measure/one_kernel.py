"""One kernel alone, for `nearfar measure --kernel NAME`: a number and its interval, no document."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np

from nearfar.base.errors import CommandError, ExitCode, NearfarError, nearest
from nearfar.base.statistics import median_estimate
from nearfar.base.units import parse_size_bytes
from nearfar.measure.native import _measure, require_native
from nearfar.measure.open_subject import open_memory
from nearfar.measure.rounds import RoundLimits, run_rounds
from nearfar.measure.sampler import Sampler
from nearfar.measure.subject import OpenedMemory, SubjectFacts
from nearfar.memories.spec import parse_spec
from nearfar.options.measure import KernelOptions, KernelShape
from nearfar.samples.point import Sample, SamplePoint

KERNEL_S = 3.0
"""Some 100 samples: enough for an interval of 1 %."""

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}


def kernel_list() -> list[dict[str, Any]]:
    """Return every kernel with the traffic it declares per iteration, as plain data."""
    require_native()
    return [
        {
            "name": kernel.name,
            "summary": kernel.summary,
            "read_bytes": traffic.read_bytes,
            "written_bytes": traffic.written_bytes,
            "non_temporal_bytes": traffic.non_temporal_bytes,
            "owned_bytes": traffic.owned_bytes,
            "flushed_bytes": traffic.flushed_bytes,
            "fences": traffic.fences,
            "dependent_loads": traffic.dependent_loads,
            "max_chains": kernel.max_chains,
            "can_time_each": kernel.can_time_each,
            "missing": kernel.missing(),
        }
        for kernel in _measure.kernels()
        for traffic in [kernel.traffic()]
    ]


def measure_kernel(options: KernelOptions) -> dict[str, Any]:
    """Measure one kernel on the largest region, once per page size.

    Kernels whose accesses wait for each other give ns per access on one CPU (of a chase: per
    line), the others, and all on several, GB/s on --threads CPUs (default 1).
    """
    spec, name = parse_spec(options.memory), options.kernel
    if name is None:
        raise CommandError("Parameter --kernel requires an argument.")
    kernel = _checked_kernel(name, options, simulated=spec.kind == "model")
    shape = _shape(options)
    threads = options.threads or 1
    if options.each and threads > 1:
        raise NearfarError("--each times one thread's accesses: leave --threads out")
    ready = open_memory(options)
    facts = ready.subject.facts()
    if name not in facts.kernels:
        raise NearfarError(f"kernel {name!r} cannot run on {spec}", ExitCode.MACHINE_LACKS)
    if options.isa:
        _use_isa(ready, options.isa)
    waits = kernel["dependent_loads"] > 0 or kernel["fences"] > 0
    latency = options.each or (waits and threads == 1)
    size = facts.largest_bytes if waits or options.each else facts.buffer_bytes
    _check_sizes(shape, size, threads)
    plan = [
        SamplePoint(
            "latency" if latency else "bandwidth",
            name,
            page_bytes,
            size,
            chains=options.chains,
            threads=threads,
            each=options.each,
            fence_every=options.fence_every,
            **shape,
        )
        for page_bytes in (facts.page_sizes if latency else facts.page_sizes[:1])
    ]
    limits = RoundLimits(time.monotonic() + (options.seconds or KERNEL_S), options.repetitions)
    samples = run_rounds(plan, ready.subject.sample, limits).samples
    return {
        "kernel": kernel,
        "memory": str(spec),
        "region_bytes": size,
        "threads": threads,
        "chains": options.chains,
        **shape,
        "fence_every": options.fence_every,
        "isa": ready.subject.isa_of(name) if isinstance(ready.subject, Sampler) else "",
        "unit": "ns per access" if latency else "GB/s",
        "timer": _timer(facts) if options.each else None,
        "results": [_result(point, taken) for point, taken in samples.items() if taken],
        "warnings": ready.warnings,
    }


def _checked_kernel(name: str, options: KernelShape, *, simulated: bool) -> dict[str, Any]:
    """Return the description of a kernel; refuse options that it cannot take."""
    known = {kernel["name"]: kernel for kernel in kernel_list()}
    if name not in known:
        hint = nearest(name, list(known)) or f"; there are: {', '.join(known)}"
        raise NearfarError(f"there is no kernel {name!r}{hint}")
    kernel = known[name]
    most = kernel["max_chains"]
    if not 1 <= options.chains <= most:
        raise NearfarError(
            f"kernel {name!r} takes 1 to {most} chains, not {options.chains}"
            if most > 1
            else f"kernel {name!r} has no chains: leave --chains out, or use --kernel chains"
        )
    if options.each and not kernel["can_time_each"]:
        can = ", ".join(other for other in known if known[other]["can_time_each"])
        raise NearfarError(
            f"kernel {name!r} cannot time each access: leave --each out, or use one of {can}"
        )
    if options.read_share and not name.startswith("mixed"):
        raise NearfarError(
            f"kernel {name!r} has no read share: leave --read-share out, or use --kernel mixed"
        )
    _check_shape(kernel, options)
    if options.fence_every < 1:
        raise NearfarError(f"--fence-every must be at least 1, not {options.fence_every}")
    if not simulated:
        _check_isa(name, options.isa)
    return kernel


IN_SEQUENCE = ("read", "write", "nt-store", "nt-load", "read-modify-write", "mixed", "mixed-nt")
SIDE_BY_SIDE = ("copy", "triad", "stream-")
"""Kernels that walk whole arrays line after line: no access, stride or window changes what they
do (`in_sequence` of native/measure/orders.hpp)."""


def _check_shape(kernel: dict[str, Any], options: KernelShape) -> None:
    """Refuse shape options that the kernel does not use."""
    name, bare = kernel["name"], KernelShape()
    if options.fence_every != bare.fence_every and kernel["fences"] == 0:
        raise NearfarError(
            f"kernel {name!r} has no fences: leave --fence-every out, or use --kernel persist-clwb"
        )
    shapes = ["window"] if name.endswith("-strided") else []
    if name in IN_SEQUENCE or name.startswith(SIDE_BY_SIDE):
        shapes = ["access", "stride", "window"]
    given = [f"--{shape}" for shape in shapes if getattr(options, shape) != getattr(bare, shape)]
    if given:
        raise NearfarError(
            f"kernel {name!r} goes {'on by its stride' if len(shapes) == 1 else 'line after line'}"
            f" and has no such shape: leave {' and '.join(given)} out, or use --kernel read-random"
        )


def _check_isa(name: str, isa: str) -> None:
    if isa and isa not in _measure.isas():
        raise NearfarError(
            f"this processor cannot run {isa!r} kernels{nearest(isa, _measure.isas())}; "
            f"--isa is one of {', '.join(_measure.isas())}",
            ExitCode.MACHINE_LACKS,
        )
    kernel = next(candidate for candidate in _measure.kernels() if candidate.name == name)
    if missing := kernel.missing(isa):
        which = f"the instruction set {isa}" if isa else "this processor"
        raise NearfarError(
            f"kernel {name!r} is not available here: {which} {missing}",
            ExitCode.MACHINE_LACKS,
        )


def _use_isa(ready: OpenedMemory, isa: str) -> None:
    if not isinstance(ready.subject, Sampler):
        raise NearfarError("--isa is for memory of this machine: a simulated one has no kernels")
    ready.subject.use_isa(isa)


def _shape(options: KernelShape) -> dict[str, Any]:
    """Return access, stride, window and read share as a point has them, or refuse them."""
    sizes = {}
    for option, text in (
        ("access", options.access),
        ("stride", options.stride),
        ("window", options.window),
    ):
        size = int(text) if re.fullmatch("[0-9]+", text) else parse_size_bytes(text)
        if size % 64 or (option == "access" and size == 0):
            raise NearfarError(f"--{option} is a multiple of 64 bytes (whole lines), not {text}")
        sizes[option] = size
    if sizes["stride"] and sizes["stride"] < sizes["access"]:
        raise NearfarError(
            f"--stride {options.stride} is less than --access {options.access}: accesses would "
            "overlap; take at least as much"
        )
    if sizes["window"] and sizes["window"] < max(sizes["stride"], sizes["access"]):
        raise NearfarError(
            f"--window {options.window} is less than one access and its stride: take more"
        )
    return {
        "access_bytes": sizes["access"],
        "stride_bytes": sizes["stride"],
        "window_bytes": sizes["window"],
        "read_share": _share(options.read_share) if options.read_share else None,
    }


def _share(text: str) -> float:
    percent = text.endswith("%")
    try:
        value = float(text.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise NearfarError(f"--read-share is from 0% to 100% (or 0 to 1), not {text}")
    return value


MIN_ACCESSES = 8
"""In each thread's part: kernels divide it into arrays, or groups of lines."""


def _check_sizes(shape: dict[str, Any], size_bytes: int, threads: int) -> None:
    step = max(shape["access_bytes"], shape["stride_bytes"], shape["window_bytes"])
    if MIN_ACCESSES * shape["access_bytes"] * threads > size_bytes or step > size_bytes:
        raise NearfarError(
            f"a region of {size_bytes} bytes is too small for accesses of {shape['access_bytes']} "
            f"bytes, stride {shape['stride_bytes']}, window {shape['window_bytes']} and {threads} "
            "threads: choose a larger --largest or smaller ones"
        )


def _timer(facts: SubjectFacts) -> dict[str, float]:
    return {"overhead_ns": facts.timer_overhead_ns, "resolution_ns": facts.timer_resolution_ns}


def _result(point: SamplePoint, taken: list[Sample]) -> dict[str, Any]:
    estimate = median_estimate([sample.value for sample in taken])
    result: dict[str, Any] = {
        "page_bytes": point.page_bytes,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "repetitions": len(taken),
        "disturbed": sum(sample.disturbed for sample in taken),
    }
    singles = [sample.each_ns for sample in taken if sample.each_ns is not None]
    if singles:
        every = np.concatenate(singles)
        cuts = np.percentile(every, list(PERCENTILES.values()))
        result["percentiles_ns"] = dict(zip(PERCENTILES, map(float, cuts), strict=True))
        result["most_ns"] = float(every.max())
        result["accesses"] = int(every.size)
    return result
