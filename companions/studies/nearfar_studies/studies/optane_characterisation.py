"""The performance thesis' characterisation of Optane, from the simulated device."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
from matplotlib.figure import Figure

from nearfar.base.units import format_bytes
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.documents.device import BandwidthFigure, LatencyFigure
from nearfar.documents.study import ComparisonRow, ComparisonTable, StudyResult
from nearfar.measure.model import ModelSubject
from nearfar.samples.point import SamplePoint
from nearfar_studies import file_systems
from nearfar_studies.compare import column, facts, mean_max, percent, row, table
from nearfar_studies.figures import published
from nearfar_studies.study import STUDIES, Study, StudyInputs

THESIS = published("performance-thesis")
NEXT = "next region's"
PEAK = "sequential peak"

ONE, SIX = "optane-100-1dimm", "optane-100-6dimm"

HUGE_BYTES = 2 << 20
THREADS = (1, 2, 4, 8, 16, 24)
"""Thread counts; the best bandwidth among them counts, as published."""

BEYOND_FIRST, BEYOND_ALL = 16 << 20, 1 << 30
"""Regions larger than the first buffer, and than both."""

SMALLEST_BYTES = 4096
"""Smaller regions measure the fence, not the device."""


@STUDIES.register("optane-characterisation")
class OptaneCharacterisation(Study):
    """Plateaus, amplification, and the costs of file systems here."""

    title = "performance thesis, characterisation of Optane"
    source = (
        f"{THESIS.citation}, chapters 3 and 5; where it prints pictures only, the figures of "
        f"library devices {ONE} and {SIX} with their sources"
    )

    def run(self, given: StudyInputs) -> StudyResult:
        """Probe the simulated device; measure file systems here."""
        plateaus, writes = _plateaus(), _writes()
        random = [_random_bandwidth(name) for name in (ONE, SIX)]
        amplification = _amplification()
        thesis, costs = _thesis(), _file_system_costs()
        return self.result(
            "the simulated device (nearfar/sim), fitted to read latencies by region without "
            "the region that is predicted; for random accesses its block of 256 B and its peak "
            "bandwidth of sequential ones only. File systems: measured on this machine",
            tables=[thesis, plateaus, writes, *random, amplification, _file_systems(costs)],
            texts=[
                facts(
                    "the simulated write drains into one DIMM, the thesis' writes into two",
                    "whole 4 KiB accesses meet on one DIMM of the interleave: the closed form has "
                    "no term for it",
                    "ours of the amplification is the block over the access, 256 B / 64 B",
                    "kernel activity is why the thesis left tmpfs for DAX on memory reserved at "
                    "boot; files on file systems without DAX are in the page cache",
                )
            ],
            verdict=[
                *_latency_verdict(thesis, plateaus, writes),
                *_amplification_verdict(random, amplification),
                *_file_system_verdict(costs),
            ],
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw latency over region."""
        axes = figure.add_subplot()
        subject = _subject(load_device(ONE))
        regions = 2 ** np.arange(12, 31)
        axes.plot(regions, [_chase_ns(subject, int(r)) for r in regions], label="simulated, read")
        axes.plot(regions, [_write_ns(subject, int(r)) for r in regions], label="simulated, write")
        for operation, style in (("read", "o"), ("nt-store", "s")):
            figures = [f for f in load_device(ONE).latency if f.operation == operation]
            axes.plot(
                [f.region_bytes or 0 for f in figures],
                [f.value_ns for f in figures],
                style,
                mfc="none",
                label=f"published, {operation}",
            )
        for key in ("pmem_read_ns", "pmem_write_ns"):
            axes.axhline(THESIS.value(key), color="grey", linewidth=0.8, linestyle=":")
        axes.set_xscale("log", base=2)
        axes.set_xlabel("region, bytes")
        axes.set_ylabel("ns per 64-byte line")
        axes.grid(visible=True, alpha=0.25)
        axes.legend(fontsize=8)
        return (
            "Latency of dependent accesses over the region, one DIMM: the first buffer ends at "
            "16 KiB, the second at 16 MiB. Dotted: the thesis' 305 ns read and 90 ns write."
        )


def _subject(device: DeviceProfile) -> ModelSubject:
    return ModelSubject(device, noise=0.0)


def _chase_ns(subject: ModelSubject, region_bytes: int) -> float:
    return subject.sample(SamplePoint("latency", "chase", HUGE_BYTES, region_bytes)).value


def _write_ns(subject: ModelSubject, region_bytes: int, fence_every: int = 1024) -> float:
    """Return ns per line of nt-stores; by default, fences are too rare to matter."""
    point = SamplePoint("persist", "persist-nt-store", HUGE_BYTES, region_bytes)
    return subject.sample(replace(point, fence_every=fence_every)).value


def _plateaus() -> ComparisonTable:
    """Predict each region's read latency from a device without that figure."""
    device = load_device(ONE)
    rows = []
    for figure in _by_region(device, "read"):
        rest = [f for f in device.latency if f is not figure]
        subject = _subject(msgspec.structs.replace(device, latency=rest))
        rows.append(
            row(
                format_bytes(figure.region_bytes or 0),
                figure.value_ns,
                _chase_ns(subject, figure.region_bytes or 0),
                rivals={NEXT: _nearest(rest, figure).value_ns},
            )
        )
    return table(
        "read latency by region, one DIMM, each predicted without itself",
        f"library device {ONE}",
        "ns",
        rows,
    )


def _writes() -> ComparisonTable:
    """Compare writes with the device fitted to them; too few are published to leave one out."""
    device = load_device(ONE)
    subject = _subject(device)
    rows = []
    for figure in _by_region(device, "nt-store"):
        region = figure.region_bytes or 0
        small = region < SMALLEST_BYTES
        rows.append(
            row(
                format_bytes(region),
                figure.value_ns,
                _write_ns(subject, region),
                judged=not small,
                note="the fence, not the device: not judged" if small else "",
            )
        )
    return table(
        "write latency by region, one DIMM, fitted to these",
        f"library device {ONE}",
        "ns",
        rows,
    )


def _by_region(device: DeviceProfile, operation: str) -> list[LatencyFigure]:
    return [f for f in device.latency if f.operation == operation and f.region_bytes]


def _nearest(rest: list[LatencyFigure], figure: LatencyFigure) -> LatencyFigure:
    """Return the figure of the same operation whose region is nearest in size."""
    alike = [f for f in rest if f.operation == figure.operation and f.region_bytes]
    wanted = np.log2(figure.region_bytes or 1)
    return min(alike, key=lambda f: abs(np.log2(f.region_bytes or 1) - wanted))


def _random_figures(device: DeviceProfile) -> list[BandwidthFigure]:
    return [
        f
        for f in device.bandwidth
        if f.pattern == "random" and f.access_bytes and f.operation in ("read", "nt-store")
    ]


def _random_bandwidth(name: str) -> ComparisonTable:
    device = load_device(name)
    others = [f for f in device.bandwidth if f.pattern != "random"]
    subject = _subject(msgspec.structs.replace(device, bandwidth=others))
    best = {
        operation: max(f.value_gb_per_s for f in others if f.operation == operation)
        for operation in ("read", "nt-store")
    }
    return table(
        f"random bandwidth by access size, {device.title.split(' (')[0]}",
        f"library device {name}",
        "GB/s",
        [
            row(
                f"{figure.operation}, {figure.access_bytes} B",
                figure.value_gb_per_s,
                _best_gb_per_s(subject, figure),
                rivals={PEAK: best[figure.operation]},
            )
            for figure in _random_figures(device)
        ],
    )


def _best_gb_per_s(subject: ModelSubject, figure: BandwidthFigure) -> float:
    kernel = "read-random" if figure.operation == "read" else "nt-store-random"
    region = subject.facts().buffer_bytes
    return max(
        subject.sample(
            SamplePoint(
                "bandwidth",
                kernel,
                HUGE_BYTES,
                region,
                threads=threads,
                access_bytes=figure.access_bytes or 64,
            )
        ).value
        for threads in THREADS
    )


def _amplification() -> ComparisonTable:
    """Compare bytes moved per requested byte: the gain of 256 B accesses over 64 B ones."""
    rows = []
    for name in (ONE, SIX):
        device = load_device(name)
        subject = _subject(device)
        by_size = {(f.operation, f.access_bytes): f for f in _random_figures(device)}
        for operation in ("read", "nt-store"):
            small, block = by_size.get((operation, 64)), by_size.get((operation, 256))
            if small and block:
                rows.append(
                    row(
                        f"{name}, {operation}",
                        block.value_gb_per_s / small.value_gb_per_s,
                        _best_gb_per_s(subject, block) / _best_gb_per_s(subject, small),
                        rivals={"no amplification": 1.0},
                    )
                )
    return table(
        "amplification: random bandwidth with 256 B over that with 64 B",
        f"library devices {ONE} and {SIX}",
        "ratio",
        rows,
    )


def _thesis() -> ComparisonTable:
    subject = _subject(load_device(ONE))
    read = [_chase_ns(subject, r) for r in (64 << 10, BEYOND_FIRST, BEYOND_ALL)]
    write = [_write_ns(subject, r, 1) for r in (SMALLEST_BYTES, BEYOND_FIRST, BEYOND_ALL)]
    six = {f.operation: f.value_ns for f in reversed(load_device(SIX).latency)}
    return table(
        "idle latency of its two DIMMs",
        "chapter 3",
        "ns",
        [
            row(
                "read, 64 B",
                THESIS.value("pmem_read_ns"),
                read[1],
                interval=(min(read), max(read)),
                rivals={SIX: six["read"]},
            ),
            row(
                "write, 64 B and a fence",
                THESIS.value("pmem_write_ns"),
                write[1],
                interval=(min(write), max(write)),
                rivals={SIX: six["nt-store"]},
            ),
        ],
        note=f"ours: one DIMM, region of {format_bytes(BEYOND_FIRST)}; interval: regions from the "
        f"first buffer to {format_bytes(BEYOND_ALL)}; the thesis does not say over which regions "
        "it averaged",
    )


Costs = dict[str, file_systems.FileSystemCost]


def _file_system_costs() -> Costs:
    return {kind: file_systems.measure(place) for kind, place in file_systems.here().items()}


def _file_systems(costs: Costs) -> ComparisonTable:
    rows: list[ComparisonRow] = []
    for kind in file_systems.KINDS:
        cost = costs.get(kind)
        if cost is None:
            rows.append(row(kind, None, None, note="not here"))
            continue
        parts = {
            "first touch of a page": cost.touch_ns,
            "touch again": cost.again_ns,
            "line made durable by msync": cost.persist_ns,
            "dependent read": cost.chase_ns,
        }
        for what, value in parts.items():
            if kind == "devdax" and what != "dependent read":
                continue
            if kind == file_systems.ANONYMOUS and "msync" in what:
                continue
            note = f"{cost.kernel_share:.0%} of it in the kernel" if "first" in what else ""
            note = "could not be measured here" if value is None else note
            rows.append(row(f"{kind}, {what}", None, value, note=note))
    return table(
        "file systems, measured on this machine",
        "chapter 5 states without numbers that tmpfs adds kernel activity",
        "ns",
        rows,
    )


def _latency_verdict(
    thesis: ComparisonTable, plateaus: ComparisonTable, writes: ComparisonTable
) -> list[str]:
    own, six = column(thesis, "published"), column(thesis, SIX)
    write = thesis.rows[1]
    return [
        f"the thesis' latencies of two DIMMs, {own[0]:.0f} and {own[1]:.0f} ns, differ by at most "
        f"{percent(float(max(abs(own / six - 1.0))))} from other published latencies of six DIMMs "
        f"({six[0]:.1f} and {six[1]:.1f} ns); the simulated DIMM reads in "
        f"{thesis.rows[0].ours:.0f} ns in regions between its buffers' sizes and in "
        f"{thesis.rows[0].high:.0f} ns beyond both; the error of its write latency is "
        f"{percent(write.difference or 0.0, signed=True)}",
        f"read plateaus: error {mean_max(plateaus.errors['ours'])}; taking the nearest region's "
        f"figure, {mean_max(plateaus.errors[NEXT])}",
        f"write plateaus, which are fitted, not predicted: error {mean_max(writes.errors['ours'])}",
    ]


def _amplification_verdict(
    random: list[ComparisonTable], amplification: ComparisonTable
) -> list[str]:
    parts = "; ".join(
        f"{t.cited.split()[-1]} {mean_max(t.errors['ours'])}, taking the sequential peak "
        f"{percent(t.errors[PEAK].mean)} mean"
        for t in random
    )
    worst = max(random[1].rows, key=lambda r: abs(r.difference or 0.0))
    return [
        "errors of random accesses of 64 B to 4 KiB, predicted from sequential bandwidth and the "
        f"block alone: {parts}",
        f"the largest error of six DIMMs is that of {worst.what} "
        f"({percent(worst.difference or 0.0, signed=True)})",
        f"mean error of the amplification: {percent(amplification.errors['ours'].mean)}",
    ]


def _file_system_verdict(costs: Costs) -> list[str]:
    verdict = []
    plain = costs[file_systems.ANONYMOUS]
    for kind, cost in costs.items():
        if cost.touch_ns and cost is not plain:
            verdict.append(
                f"{kind} here: a first touch takes {cost.touch_ns:.0f} ns per page, "
                f"{cost.kernel_share:.0%} of it in the kernel, and {plain.touch_ns:.0f} ns in "
                f"anonymous memory; a second touch {cost.again_ns:.0f} and {plain.again_ns:.0f} ns"
                + (
                    f"; a line made durable by msync {cost.persist_ns / 1000:.1f} us"
                    if cost.persist_ns is not None
                    else ""
                )
            )
    absent = [kind for kind in file_systems.KINDS if kind not in costs]
    if absent:
        verdict.append(f"not measured, because not present here: {', '.join(absent)}")
    return verdict
