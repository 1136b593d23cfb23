"""Intel Memory Latency Checker's text, any of its tables in one file, in any order.

It reads the latency and bandwidth matrix (one pair of nodes, --nodes), peak injection and maximum
bandwidths, loaded latency and idle latency. 1 MB/s is 1e6 B/s, as MLC states. Cache-to-cache tables
are skipped.

For peak injection and loaded latency, all nodes use their local memory at once: if a matrix in the
file shows the number of nodes, their bandwidths are divided by it. For a remote node they are left
out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.devices.oddities import Point
from nearfar.documents.device import BandwidthFigure, LatencyFigure, Operation, Pattern
from nearfar_imports.importers._figures import (
    SOURCE,
    ImportedFigures,
    Importer,
    ImportOptions,
    add_curves,
    checked,
    number,
    refuse,
    text_of,
)
from nearfar_imports.importers._mlc_logs import add_logs, logs_of, missing_delays
from nearfar_imports.importers._registry import IMPORTERS

TITLE = "Intel(R) Memory Latency Checker"
SECTIONS = {
    "latency": re.compile(r"Measuring idle latencies", re.IGNORECASE),
    "peak": re.compile(r"Measuring (Peak Injection|Maximum) Memory Bandwidths", re.IGNORECASE),
    "matrix": re.compile(r"Measuring Memory Bandwidths between nodes", re.IGNORECASE),
    "loaded": re.compile(r"Measuring Loaded Latencies", re.IGNORECASE),
    "other": re.compile(r"Measuring ", re.IGNORECASE),
}
IDLE = re.compile(r"Each iteration took\s+[\d.]+\s+.*clocks\s*\(\s*([\d.]+)\s*ns\s*\)")
HEADER = re.compile(r"\s*(Numa node|Memory node|Socket)", re.IGNORECASE)
NODES = re.compile(r"\s*(?:Numa node|Socket)\s+(\d[\d\s]*)$", re.IGNORECASE)
RATE = re.compile(r"\s*([A-Za-z0-9: -]*?[A-Za-z])\s*:\s*(\S+)\s*$")
MIX = re.compile(r"(\d+):(\d+)")
LOADED = re.compile(r"\s*(\d{5})\s+(\S+)\s+(\S+)\s*$")

PASTED = re.compile(r"Inject\s+Latency\s+Bandwidth", re.IGNORECASE)
LOADED_ONLY = re.compile(r"Command line parameters:.*--loaded_latency\b")

Lines = list[tuple[int, str]]


def _read_many(paths: list[Path], options: ImportOptions) -> ImportedFigures:
    logs, notes = logs_of(paths)
    return add_logs(logs, notes, paths, options)


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    text = text_of(path)
    if LOADED_ONLY.search(text) and options.units.read_share is None:
        return _read_many([path], options)
    imported = ImportedFigures()
    sections = _sections(text) or _pasted(text)
    nodes = _loaded_nodes(text, sections)
    if nodes > 1:
        imported.notes.append(
            f"peak and loaded bandwidths are of {nodes} nodes at once and were divided by {nodes}"
        )
    readers: dict[str, Callable[[Path, Lines, ImportOptions, ImportedFigures], None]] = {
        "latency": _latency,
        "peak": functools.partial(_peak, nodes=nodes),
        "matrix": _matrix,
        "loaded": functools.partial(_loaded, nodes=nodes),
    }
    cpu, memory = options.nodes or (0, 0)
    local = cpu == memory
    for name, lines in sections:
        if name in ("peak", "loaded") and not local:
            imported.notes.append(
                f"MLC's {name} table has each node's local memory and is left out"
            )
        elif name in readers:
            readers[name](path, lines, options, imported)
    for line, row in enumerate(text.splitlines(), start=1):
        if match := IDLE.search(row):
            value = number(path, line, "the idle latency", match[1])
            imported.latency.append(_latency_figure(value, _idle_pattern(text), options, ""))
    if imported.empty():
        raise NearfarError(
            f"{path} contains none of MLC's tables (latency matrix, peak injection, bandwidth "
            "matrix, loaded latency, idle latency); it may be truncated"
        )
    _add_random_latency(imported)
    return imported


def _sections(text: str) -> list[tuple[str, Lines]]:
    """Return the numbered lines of each section "Measuring ..."."""
    sections: list[tuple[str, Lines]] = []
    for line, row in enumerate(text.splitlines(), start=1):
        name = next((name for name, start in SECTIONS.items() if start.search(row)), None)
        if name is not None or row.startswith(TITLE):
            sections.append((name or "other", []))
        if sections:
            sections[-1][1].append((line, row))
    return sections


def _pasted(text: str) -> list[tuple[str, Lines]]:
    """Return a table of loaded latencies that was copied without the lines above it."""
    return [("loaded", list(enumerate(text.splitlines(), start=1)))] if PASTED.search(text) else []


def _loaded_nodes(text: str, sections: list[tuple[str, Lines]]) -> int:
    """Return the number of nodes that load their local memory at once, 1 if unknown."""
    command = re.search(r"Command line parameters:(.*)", text)
    if command is not None and re.search(r"\s-[kmo]", command[1]):
        return 1  # with chosen CPUs, nodes differ in load
    rows = [
        sum(1 for _, row in lines[1:] if row.split()[:1] and row.split()[0].isdigit())
        for name, lines in sections
        if name in ("latency", "matrix")
    ]
    loads = any(name in ("peak", "loaded") for name, _ in sections)
    return max(rows, default=1) if loads else 1


def _latency(path: Path, lines: Lines, options: ImportOptions, imported: ImportedFigures) -> None:
    value = _matrix_entry(path, lines, options, imported, "latency")
    pattern: Pattern = "random" if "random" in lines[0][1] or _fell_back(path) else "sequential"
    cpu, memory = options.nodes or (0, 0)
    where = f"CPU node {cpu}, memory node {memory}"
    imported.latency.append(_latency_figure(value, pattern, options, where))


def _fell_back(path: Path) -> bool:
    """Return whether MLC could not disable prefetchers and chased randomly instead."""
    return "enabling random access" in text_of(path)


def _idle_pattern(text: str) -> Pattern:
    command = re.search(r"Command line parameters:(.*)", text)
    random = command is not None and re.search(r"\s-r\b", command[1]) is not None
    return "random" if random or "enabling random access" in text else "sequential"


def _latency_figure(
    value: float, pattern: Pattern, options: ImportOptions, where: str
) -> LatencyFigure:
    how = "random within a window of lines" if pattern == "random" else "prefetchers off"
    return LatencyFigure(
        pattern=pattern,
        value_ns=value,
        how=options.how,
        source=SOURCE,
        note="; ".join(part for part in (f"MLC's idle latency, {how}", where) if part),
    )


def _add_random_latency(imported: ImportedFigures) -> None:
    """Add MLC's sequential latency as random latency too if no random chase was measured."""
    if imported.latency and not any(figure.pattern == "random" for figure in imported.latency):
        first = imported.latency[0]
        imported.latency.append(
            LatencyFigure(
                value_ns=first.value_ns,
                how="assumed",
                source=SOURCE,
                note="stands in for random reads: MLC's sequential chase with prefetchers off, "
                "which hides TLB and row misses",
            )
        )
        imported.notes.append("MLC chased sequentially: random reads are assumed to take as long")


def _matrix_entry(
    path: Path, lines: Lines, options: ImportOptions, imported: ImportedFigures, name: str
) -> float:
    """Return the matrix entry of the chosen nodes."""
    columns: list[int] = []
    rows: dict[int, tuple[int, list[str]]] = {}
    for line, row in lines[1:]:
        if match := NODES.match(row):
            columns = [int(node) for node in match[1].split()]
            continue
        cells = row.split()
        if not columns or HEADER.match(row) or not cells or not cells[0].isdigit():
            continue
        if len(cells) != len(columns) + 1:
            raise refuse(
                path, line, f"{len(cells) - 1} entries, but the matrix has {len(columns)} nodes"
            )
        rows[int(cells[0])] = line, cells[1:]
    cpu, memory = options.nodes or (0, 0)
    if not rows:
        raise refuse(path, lines[0][0], f"the {name} matrix has no rows: is the file cut short?")
    if cpu not in rows or memory not in columns:
        raise refuse(
            path,
            lines[0][0],
            f"the {name} matrix has no nodes {cpu}:{memory}; choose with --nodes CPU:MEMORY, CPU "
            f"nodes {', '.join(map(str, rows))} and memory nodes {', '.join(map(str, columns))}",
        )
    if len(columns) > 1:
        imported.notes.append(
            f"of the {name} matrix, CPU node {cpu} and memory node {memory} (--nodes)"
        )
    line, values = rows[cpu]
    return number(path, line, f"the {name}", values[columns.index(memory)])


def _peak(
    path: Path, lines: Lines, options: ImportOptions, imported: ImportedFigures, *, nodes: int
) -> None:
    before = len(imported.bandwidth)
    for line, row in lines[1:]:
        match = RATE.match(row)
        mixture = _mixture(match[1]) if match else None
        if match is None or mixture is None:
            continue
        operation, share, note = mixture
        imported.bandwidth.append(
            BandwidthFigure(
                operation=operation,
                read_share=share,
                value_gb_per_s=round(number(path, line, match[1], match[2]) / 1e3 / nodes, 4),
                how="fitted" if nodes > 1 else options.how,
                source=SOURCE,
                note="; ".join(part for part in (note, _nodes_note(nodes)) if part),
            )
        )
    if len(imported.bandwidth) == before:
        raise refuse(
            path, lines[0][0], "expected bandwidths after this line: is the file cut short?"
        )


def _nodes_note(nodes: int) -> str:
    return f"MLC, all {nodes} nodes at once, divided by {nodes}" if nodes > 1 else "MLC"


def _mixture(name: str) -> tuple[Operation, float | None, str] | None:
    """Return operation, read share and note of one of MLC's traffic types."""
    plain = name.strip().lower()
    if plain == "all reads":
        return "read", None, ""
    if plain == "all nt writes":
        return "nt-store", None, ""
    if plain.startswith("stream-triad"):
        return "mixed", 0.6667, "as STREAM's triad: two reads to one write"
    if mix := MIX.match(plain):
        reads, writes = float(mix[1]), float(mix[2])
        note = "writes are nt-stores" if "nt" in plain else ""
        return "mixed", round(reads / (reads + writes), 4), note
    return None


def _matrix(path: Path, lines: Lines, options: ImportOptions, imported: ImportedFigures) -> None:
    value = _matrix_entry(path, lines, options, imported, "bandwidth")
    operation, share, _ = _traffic(lines)
    imported.bandwidth.append(
        BandwidthFigure(
            operation=operation,
            read_share=share,
            value_gb_per_s=round(value / 1e3, 4),
            how=options.how,
            source=SOURCE,
            note="MLC, CPU node {}, memory node {}".format(*(options.nodes or (0, 0))),
        )
    )


def _traffic(lines: Lines) -> tuple[Operation, float | None, bool]:
    """Return operation, read share, and whether MLC's line of the traffic type states them."""
    for _, row in lines:
        if "traffic" in row.lower():
            if "read-only" in row.lower():
                return "read", None, True
            if mix := MIX.search(row):
                reads, writes = float(mix[1]), float(mix[2])
                return "mixed", round(reads / (reads + writes), 4), True
    return "read", None, False


def _loaded(
    path: Path, lines: Lines, options: ImportOptions, imported: ImportedFigures, *, nodes: int
) -> None:
    points: list[Point] = []
    delays: list[int] = []
    in_table = False
    for line, row in lines[1:]:
        in_table = in_table or row.lstrip().startswith("=====")
        match = LOADED.match(row)
        if match:
            in_table = True
            ns = number(path, line, "the latency", match[2])
            rate = number(path, line, "the bandwidth", match[3]) / 1e3 / nodes
            points.append(checked(path, line, (rate, ns)))
            delays.append(int(match[1]))
        elif in_table and row.strip()[:5].isdigit():
            raise refuse(path, line, f"not a delay, ns and MB/s: {row.strip()!r}")
    if not points:
        raise refuse(
            path, lines[0][0], "expected loaded latencies after this line: is the file cut short?"
        )
    _, share, is_stated = _traffic(lines)
    read_share = options.units.read_share if options.units.read_share is not None else share
    if not is_stated and options.units.read_share is None:
        imported.notes.append(
            "the traffic type is not stated: assumed to be reads only (--read-share)"
        )
    if len(points) == 1:
        gb_per_s, ns = points[0]
        imported.notes.append(
            f"left out a single loaded latency ({ns:g} ns at {gb_per_s:g} GB/s): a curve needs two"
        )
        return
    if missing := missing_delays(delays):
        imported.notes.append(f"the table of loaded latencies is {missing}")
    # MLC begins without delay, which is the highest load.
    family = {1.0 if read_share is None else read_share: points[::-1]}
    add_curves(imported, path, family, options, _nodes_note(nodes), by_delay=True)


IMPORTERS.register("mlc")(
    Importer(
        "Intel Memory Latency Checker (MLC)",
        lambda _path, text: (
            TITLE in text
            or PASTED.search(text) is not None
            or any(start.search(text) for name, start in SECTIONS.items() if name != "other")
        ),
        _read,
        _read_many,
    )
)
