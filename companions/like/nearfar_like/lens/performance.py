"""The performance prober: bandwidth of one thread and of all, by access size and stride."""

from __future__ import annotations

from typing import Any

from nearfar.samples.point import SamplePoint
from nearfar_like.lens.probe import LensProbe, size_name

KINDS = ("read", "write", "nt-store")
ACCESSES = (64, 256, 1024, 4096)
STRIDES = (64, 128, 256, 512, 1024, 4096)


def run(probe: LensProbe) -> dict[str, Any]:
    """Print GB/s of random accesses by size, and of lines by stride."""
    tables = {"random": _table(probe, "access", ACCESSES)}
    probe.say("")
    tables["strided"] = _table(probe, "stride", STRIDES)
    return tables


def _table(probe: LensProbe, what: str, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    suffix, title = {
        "access": ("-random", "random accesses, GB/s, by size (bytes)"),
        "stride": ("-strided", "one line every stride, GB/s of lines"),
    }[what]
    counts = sorted({1, probe.facts.threads})
    kinds = [kind for kind in KINDS if probe.has(kind + suffix, f"{kind}{suffix}")]
    columns = [(kind + suffix, count) for kind in kinds for count in counts]
    rows: list[dict[str, Any]] = []
    if not columns:
        return rows
    probe.say(f"Performance prober: {title}")
    probe.table(what, [f"{kind.removesuffix(suffix)} x{count}" for kind, count in columns], 13)
    for size in sizes:
        values = []
        for kernel, threads in columns:
            point = SamplePoint(
                "bandwidth",
                kernel,
                probe.page_bytes,
                probe.facts.buffer_bytes,
                threads=threads,
                access_bytes=size if what == "access" else 64,
                stride_bytes=size if what == "stride" else 0,
            )
            value = probe.value(point)
            values.append(value)
            rows.append(
                {
                    "kernel": kernel,
                    "threads": threads,
                    f"{what}_bytes": size,
                    "value_gb_per_s": value,
                }
            )
        probe.row(size_name(size), values, 2, 13)
    return rows
