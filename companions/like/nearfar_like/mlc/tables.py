"""Tables in the layout of MLC's own, so that scripts which parse those can read these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

RULE = "=========================="


def latency_matrix(
    rows: Mapping[int, Mapping[int, float]], nodes: Sequence[int], first: str = "Numa node"
) -> list[str]:
    """Return ns by CPU node (rows) and memory node."""
    return _matrix(rows, nodes, "6.1f", first)


def bandwidth_matrix(rows: Mapping[int, Mapping[int, float]], nodes: Sequence[int]) -> list[str]:
    """Return MB/s by CPU node (rows) and memory node."""
    return _matrix(rows, nodes, "7.1f", "Numa node")


def _matrix(
    rows: Mapping[int, Mapping[int, float]], nodes: Sequence[int], form: str, first: str
) -> list[str]:
    lines = ["\t\tNuma node", f"{first}\t" + "\t".join(f"{node:6d}" for node in nodes)]
    for row, values in rows.items():
        cells = [f"{values[node]:{form}}" if node in values else "     -" for node in nodes]
        lines.append(f"{row:8d}\t" + "\t".join(cells))
    return lines


def ratios(values: Mapping[str, float], digits: int) -> list[str]:
    """Return MB/s by kind of traffic, in the form of the peak tables."""
    return [f"{title:17s}:\t{value:.{digits}f}" for title, value in values.items()]


def loaded(rows: Sequence[tuple[int, float, float]]) -> list[str]:
    """Return (delay, ns, MB/s) in the form of the loaded-latency table."""
    return [loaded_row(*row) for row in rows]


def loaded_head() -> list[str]:
    """Return the three lines before the first row."""
    return ["Inject\tLatency\tBandwidth", "Delay\t(ns)\tMB/sec", RULE]


def loaded_row(delay: int, latency_ns: float, mb_per_s: float) -> str:
    """Return one row; a latency of 0.00 means that none was measured, as in MLC."""
    return f" {delay:05d}\t{latency_ns:6.2f}\t{mb_per_s:9.1f}"


def writers_readers(
    title: str, rows: Mapping[int, Mapping[int, float]], nodes: Sequence[int]
) -> list[str]:
    """Return ns of a line from a writer's node to a reader's."""
    lines = [
        title,
        "\t\t\tReader Numa Node",
        "Writer Numa Node" + "\t".join(f"{node:6d}" for node in nodes),
    ]
    for writer in nodes:
        cells = [
            f"{rows[writer][reader]:6.1f}" if reader in rows.get(writer, {}) else "     -"
            for reader in nodes
        ]
        lines.append(f"{writer:13d}\t" + "\t".join(cells))
    return lines
