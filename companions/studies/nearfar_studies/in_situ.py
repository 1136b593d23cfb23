"""The NVDIMM thesis' simulation with analysis, by the bytes that its code moves (chapter 5).

A set is one iteration: a sparse-matrix product generates it, and it is summed five times.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from nearfar.predict.pipeline import PipelinePart, PipelineTimes, Rates, run_pipeline
from nearfar.predict.shared_channels import Scaling, ThreadGroup, mixed_scaling, shared_bandwidth
from nearfar_studies.nvdimm_device import LINES_PER_COUNTED, scaling

NODES = 16_000_000
EDGES = 127_952_004
SETS = 5000
"""Number of sets in each of its runs, table 2."""
THREADS = 16

DOUBLE, INT = 8, 4

GENERATE_BYTES = NODES * (3 * DOUBLE + INT) + EDGES * (DOUBLE + INT)
"""Bytes on the channels per set. For each node, the new x is read for ownership and written back,
and the old x and a row pointer are read; for each edge, its value and its column. The thesis counts
2.5 doubles per node, because it leaves out the read for ownership."""

TRANSFER_BYTES = NODES * DOUBLE * 3
"""Bytes on the channels per set of a transfer: read, read for ownership, written back."""

ANALYSE_BYTES = NODES * DOUBLE * 5

GIGA = 1e9

AT_ONCE: tuple[frozenset[PipelinePart], ...] = (
    frozenset({"generate"}),
    frozenset({"transfer"}),
    frozenset({"analyse"}),
    frozenset({"generate", "transfer"}),
    frozenset({"generate", "analyse"}),
)
"""Parts that may run at once: the stage on NVDIMM transfers or analyses."""


def generate_scaling() -> Scaling:
    """Return how generation scales on DRAM, in GB/s on the channels.

    One thread is limited by dependent additions, one per edge; their time comes from one thread of
    the sum kernel that the thesis added to STREAM. All threads are limited by the channels'
    capacity, which comes from the lines that STREAM's copy moves.
    """
    copy, total = scaling("DRAM"), scaling("DRAM", "sum")
    addition_ns = DOUBLE / total.one_thread
    return Scaling(
        one_thread=GENERATE_BYTES / (EDGES * addition_ns),
        capacity=copy.capacity * LINES_PER_COUNTED["copy"],
        sharpness=copy.sharpness,
    )


def transfer_scaling() -> Scaling:
    """Return how the copy from DRAM to NVDIMM scales, in GB/s on the channels."""
    between = mixed_scaling(scaling("DRAM"), scaling("NVDIMM"))
    lines = LINES_PER_COUNTED["copy"]
    return replace(
        between, one_thread=between.one_thread * lines, capacity=between.capacity * lines
    )


def analyse_scaling(memory: str) -> Scaling:
    """Return how the analysis scales: as the sum kernel that the thesis added to STREAM."""
    return scaling(memory, "sum")


def alone_s(byte_count: float, law: Scaling, threads: float) -> float:
    """Return the seconds of all sets with `threads` and no co-runner."""
    return SETS * byte_count / GIGA / float(law.at(threads))


def pipeline(consumers: int, *, joint: bool = True) -> PipelineTimes:
    """Return the pipeline's times if `consumers` of the threads transfer and analyse.

    If `joint` is False, the memories are assumed to be independent of each other.
    """
    return _run(_rates(consumers, joint))


def locks_only(generate_s: float, transfer_s: float, analyse_s: float) -> PipelineTimes:
    """Return the pipeline's times from given times of the parts with two locks, s over all sets."""
    seconds = {"generate": generate_s, "transfer": transfer_s, "analyse": analyse_s}
    return _run(lambda parts: {part: SETS / seconds[part] for part in parts})


def _run(rates: Rates) -> PipelineTimes:
    return _at(tuple(tuple(sorted(rates(parts).items())) for parts in AT_ONCE))


@cache
def _at(rates: tuple[tuple[tuple[PipelinePart, float], ...], ...]) -> PipelineTimes:
    """Return the times at the rates of each of `AT_ONCE`; equal rates are run once, for 0.1 s."""
    given = {parts: dict(of_parts) for parts, of_parts in zip(AT_ONCE, rates, strict=True)}
    return run_pipeline(SETS, given.__getitem__)


def _rates(consumers: int, joint: bool) -> Rates:
    groups = {
        "generate": ThreadGroup(THREADS - consumers, generate_scaling()),
        "transfer": ThreadGroup(consumers, transfer_scaling()),
        "analyse": ThreadGroup(consumers, analyse_scaling("NVDIMM")),
    }
    work = {
        "generate": GENERATE_BYTES,
        "transfer": TRANSFER_BYTES,
        "analyse": ANALYSE_BYTES,
    }

    def rates(parts: frozenset[PipelinePart]) -> dict[PipelinePart, float]:
        running = sorted(parts)
        if joint:
            drawn = shared_bandwidth([groups[part] for part in running])
        else:
            drawn = [float(groups[part].scaling.at(groups[part].threads)) for part in running]
        return {
            part: gb_per_s * GIGA / work[part]
            for part, gb_per_s in zip(running, drawn, strict=True)
        }

    return rates
