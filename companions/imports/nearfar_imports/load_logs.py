"""One device from many runs of a loaded-latency tool: by traffic, number of cores and path."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.devices.load_order import by_load
from nearfar.devices.oddities import Point, detect_oddities
from nearfar.documents.device import (
    BandwidthFigure,
    How,
    LatencyFigure,
    LoadedLatencyCurve,
    Operation,
    Pattern,
)
from nearfar_imports.import_curve import ImportedFigures
from nearfar_imports.thin import thin

MIN_MEMORY_NS = 40.0
"""Latency below which a run measured a cache: DRAM takes 60 ns or more."""

MIN_IDLE_SHARE = 0.75
"""Lowest latency of a run over the median idle latency; below it, part of the buffer was cached."""

MIN_UNCACHED = 0.75
"""Share of uncached runs above which the other runs count as partly cached, not as another
machine's."""

MAX_IDLE_RATIO = 2.0
"""Ratio of idle latencies above which runs are of two memories or machines: one memory's runs are
within 1.8."""

SAME_RUN_RATIO = 1.3
"""Ratio of best bandwidths above which runs of one command are of two machines."""

OTHER_PATH_NS, OTHER_PATH_GB_PER_S = 1.15, 0.75
"""Idle latency over the lowest, and bandwidth over the best, beyond which cores reach the memory
over another path, such as another socket."""

MAX_NAMED = 3
"""Runs named in a sentence; others are counted."""

Traffic = tuple[float, bool, Pattern]
"""Read share, whether stores are non-temporal, order of accesses."""


@dataclass(frozen=True)
class LoadLog:
    """One run: latency of a chase while other cores draw bandwidth, at several delays."""

    name: str
    traffic: Traffic
    points: tuple[Point, ...]
    """(GB/s, ns) by rising load: the longest delay first."""
    cores: int | None = None
    """Cores that make the load; None: not stated."""
    path: str = ""
    """Cores that load and core that times: they identify the path to the memory."""
    memory: str = ""
    """The memory: a node; empty: not stated."""
    settings: str = ""
    """Version and buffer size, equal for the runs of one session."""
    run: str = ""
    """Command line; equal runs should agree. Empty: not known."""

    @property
    def idle_ns(self) -> float:
        """Latency at the lowest load."""
        return self.points[0][1]

    @property
    def best_gb_per_s(self) -> float:
        """Highest bandwidth."""
        return max(bandwidth for bandwidth, _ in self.points)


@dataclass
class _LeftOut:
    """Runs left out, by reason."""

    names: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def take(self, logs: Sequence[LoadLog], usable: Iterable[bool], reason: str) -> list[LoadLog]:
        """Return the usable `logs`; the others are left out for `reason`."""
        kept = []
        for log, is_usable in zip(logs, usable, strict=True):
            if is_usable:
                kept.append(log)
            else:
                self.names[reason].append(log.name)
        return kept

    def notes(self) -> list[str]:
        """Return one sentence for each reason."""
        return [
            f"left out {_runs(len(names))} that {reason}: "
            + ", ".join(names[:MAX_NAMED])
            + (" and others" if len(names) > MAX_NAMED else "")
            for reason, names in self.names.items()
        ]


def figures_of_logs(
    logs: Sequence[LoadLog],
    source: str,
    how: How,
    *,
    shares: tuple[float, ...] = (),
    max_points: int,
    memory: str | None = None,
) -> ImportedFigures:
    """Return the figures of the memory that `logs` measured over the shortest path.

    `memory` chooses one of several memories. Of the read shares, those nearest to `shares`
    are kept. Raises NearfarError for runs of several memories or machines.
    """
    left_out = _LeftOut()
    logs = _of_one_memory(logs, memory)
    logs = _measurements(logs, left_out)
    logs = _shortest_path(logs, left_out)
    uncached = _not_cached(logs, left_out)
    # Many runs with low latency are another machine's, not partly cached.
    _check_one_machine(uncached if len(uncached) > MIN_UNCACHED * len(logs) else logs)
    logs = _with_shares(uncached, shares)
    imported = ImportedFigures(latency=[_idle(logs, source)], notes=left_out.notes())
    if len(settings := {log.settings for log in logs if log.settings}) > 1:
        imported.notes.append(
            f"runs differ in {', '.join(sorted(settings)[:MAX_NAMED])}: make sure that they are of "
            "one machine"
        )
    groups: dict[Traffic, list[LoadLog]] = defaultdict(list)
    for log in logs:
        groups[log.traffic].append(log)
    for traffic in sorted(groups, key=lambda key: (key[2] != "sequential", key[1], -key[0])):
        _add(imported, traffic, groups[traffic], _FigureOrigin(source, how, max_points))
    return imported


def _of_one_memory(logs: Sequence[LoadLog], memory: str | None) -> list[LoadLog]:
    """Return the logs of `memory`, or of the only one."""
    by_memory: dict[str, list[LoadLog]] = defaultdict(list)
    for log in logs:
        by_memory[log.memory].append(log)
    stated = sorted(filter(None, by_memory))
    if memory is not None and stated:
        if memory not in by_memory:
            raise NearfarError(
                f"no run measured memory node {memory}; there are: {', '.join(stated)}"
            )
        return by_memory[memory]
    if len(by_memory) > 1:
        known = ", ".join(
            f"node {name or '(not stated)'} ({len(rows)} runs, "
            f"{median(log.idle_ns for log in rows):.0f} ns)"
            for name, rows in sorted(by_memory.items())
        )
        raise NearfarError(
            f"the runs measured several memories, {known}: choose one with --nodes CPU:MEMORY"
        )
    return list(logs)


def _measurements(logs: Sequence[LoadLog], left_out: _LeftOut) -> list[LoadLog]:
    """Return the logs that are complete and measured memory, not a cache."""
    if not logs:
        raise NearfarError("there are no runs with loaded latencies: are the files cut short?")
    (usual_points, _), *_ = Counter(len(log.points) for log in logs).most_common(1)
    kept = left_out.take(logs, [len(log.points) > 1 for log in logs], "gave fewer than two points")
    if len(kept) > 2:
        kept = left_out.take(kept, [len(log.points) >= usual_points for log in kept], "ended early")
    kept = left_out.take(kept, [log.best_gb_per_s > 0.0 for log in kept], "drew no bandwidth")
    lowest_ns = [min(ns for _, ns in log.points) for log in kept]
    kept = left_out.take(
        kept,
        [ns >= MIN_MEMORY_NS for ns in lowest_ns],
        f"measured a cache (below {MIN_MEMORY_NS:g} ns)",
    )
    if not kept:
        raise NearfarError("; ".join(left_out.notes()) + "; no other run is left")
    return kept


def _check_one_machine(logs: Sequence[LoadLog]) -> None:
    """Raise NearfarError if the logs cannot belong to one memory of one machine."""
    fastest, slowest = (extreme(logs, key=lambda log: log.idle_ns) for extreme in (min, max))
    idle_differs = slowest.idle_ns > MAX_IDLE_RATIO * fastest.idle_ns
    conflicting = (fastest, slowest) if idle_differs else None
    by_run: dict[str, list[LoadLog]] = defaultdict(list)
    for log in logs:
        if log.run:
            by_run[log.run].append(log)
    for rows in by_run.values():
        low, high = (extreme(rows, key=lambda log: log.best_gb_per_s) for extreme in (min, max))
        if high.best_gb_per_s > SAME_RUN_RATIO * low.best_gb_per_s:
            conflicting = low, high
    if conflicting is not None:
        first, second = conflicting
        shown = [
            f"{log.name} ({log.idle_ns:.0f} ns idle, {log.best_gb_per_s:.1f} GB/s)"
            for log in (first, second)
        ]
        raise NearfarError(
            f"{' and '.join(shown)} cannot be of one memory: import each machine's runs alone"
        )


def _shortest_path(logs: Sequence[LoadLog], left_out: _LeftOut) -> list[LoadLog]:
    """Return the logs of the cores nearest to the memory, by idle latency and bandwidth."""
    paths: dict[str, list[LoadLog]] = defaultdict(list)
    for log in logs:
        paths[log.path].append(log)
    idle_ns = {path: median(log.idle_ns for log in rows) for path, rows in paths.items()}
    best_by_load: dict[tuple[Traffic, int | None], float] = defaultdict(float)
    for log in logs:
        key = log.traffic, log.cores
        best_by_load[key] = max(best_by_load[key], log.best_gb_per_s)
    other_paths: dict[str, list[LoadLog]] = {}
    for path, rows in paths.items():
        max_cores = max(log.cores or 0 for log in rows)
        ratios = [
            log.best_gb_per_s / best_by_load[log.traffic, log.cores]
            for log in rows
            if (log.cores or 0) == max_cores
        ]
        slow = float(np.quantile(ratios, 0.25)) < OTHER_PATH_GB_PER_S
        if slow or idle_ns[path] > OTHER_PATH_NS * min(idle_ns.values()):
            other_paths[path] = rows
    near = [log for log in logs if log.path not in other_paths] or list(logs)
    if len(near) < len(logs):
        described = "; ".join(f"{path}, {idle_ns[path]:.0f} ns idle" for path in other_paths)
        reason = f"reached the memory over another path ({described})"
        left_out.names[reason] = [log.name for rows in other_paths.values() for log in rows]
    return near


def _not_cached(logs: Sequence[LoadLog], left_out: _LeftOut) -> list[LoadLog]:
    """Return the logs without those that had part of their buffer in a cache."""
    usual = median(log.idle_ns for log in logs)
    return left_out.take(
        logs,
        [min(ns for _, ns in log.points) >= MIN_IDLE_SHARE * usual for log in logs],
        f"had part of their buffer in a cache (below {MIN_IDLE_SHARE * usual:.0f} ns)",
    )


def _with_shares(logs: list[LoadLog], shares: tuple[float, ...]) -> list[LoadLog]:
    """Return the logs with the read shares nearest to `shares`; all logs without `shares`."""
    available = sorted({log.traffic[0] for log in logs})
    chosen = {min(available, key=lambda s: abs(s - share)) for share in shares}
    return [log for log in logs if not chosen or log.traffic[0] in chosen]


@dataclass(frozen=True)
class _FigureOrigin:
    """Source of the figures, and the number of points that a curve keeps."""

    source: str
    how: How
    max_points: int


def _idle(logs: Sequence[LoadLog], source: str) -> LatencyFigure:
    """Return the median idle latency of the runs with the fewest loading cores."""
    fewest = min(log.cores or 0 for log in logs)
    chosen = [log.idle_ns for log in logs if (log.cores or 0) == fewest]
    cores = f" with {fewest} {'core' if fewest == 1 else 'cores'} loading" if fewest else ""
    return LatencyFigure(
        value_ns=round(median(chosen), 3),
        how="fitted",
        source=source,
        note=f"the lowest load{cores}, median of {_runs(len(chosen))}",
    )


def _add(
    imported: ImportedFigures, traffic: Traffic, logs: Sequence[LoadLog], origin: _FigureOrigin
) -> None:
    """Add the curves and best bandwidths of one kind of traffic: of all cores, then by cores."""
    by_cores: dict[int | None, list[LoadLog]] = {None: list(logs)}
    counts = sorted({log.cores for log in logs if log.cores is not None})
    if len(counts) > 1:
        by_cores |= {n: [log for log in logs if log.cores == n] for n in counts}
    for cores, rows in by_cores.items():
        imported.loaded_latency.append(_curve(traffic, cores, rows, origin))
        imported.bandwidth.append(_best(traffic, cores, rows, origin))


def _curve(
    traffic: Traffic, cores: int | None, logs: Sequence[LoadLog], origin: _FigureOrigin
) -> LoadedLatencyCurve:
    share, non_temporal, pattern = traffic
    points = thin(pooled([log.points for log in logs]), origin.max_points)
    return LoadedLatencyCurve(
        read_share=share,
        non_temporal=non_temporal,
        pattern=pattern,
        threads=cores,
        points=points,
        oddities=detect_oddities(points),
        how="fitted" if len(logs) > 1 else origin.how,
        source=origin.source,
        note=f"median of {_runs(len(logs))}" if len(logs) > 1 else "",
    )


def _best(
    traffic: Traffic, cores: int | None, logs: Sequence[LoadLog], origin: _FigureOrigin
) -> BandwidthFigure:
    share, non_temporal, pattern = traffic
    operation: Operation = "read" if share == 1 else "mixed" if share else "nt-store"
    return BandwidthFigure(
        operation="write" if share == 0 and not non_temporal else operation,
        read_share=share if 0 < share < 1 else None,
        pattern=pattern,
        threads=cores,
        value_gb_per_s=round(max(log.best_gb_per_s for log in logs), 4),
        how=origin.how,
        source=origin.source,
        note="stores are non-temporal" if non_temporal and share else "",
    )


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def pooled(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """Return the median of `curves`, points (GB/s, ns) in order of load.

    The median at a bandwidth is over the curves that reach this bandwidth. Curves end at their best
    bandwidth; a single curve stays complete.
    """
    if len(curves) == 1:
        return list(curves[0])
    rising = []
    for points in curves:
        ordered = np.array(by_load(points))
        ordered = ordered[: int(ordered[:, 0].argmax()) + 1]
        rising.append((ordered[:, 0], np.maximum.accumulate(ordered[:, 1])))
    loads = np.unique(np.concatenate([bandwidths for bandwidths, _ in rising]))
    latencies = np.array(
        [np.where(loads <= xs[-1], np.interp(loads, xs, ys), np.nan) for xs, ys in rising]
    )
    medians = np.maximum.accumulate(np.nanmedian(latencies, axis=0))
    return [(round(float(x), 4), round(float(y), 3)) for x, y in zip(loads, medians, strict=True)]
