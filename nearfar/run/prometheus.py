"""A RunRecord in Prometheus' text format, for node_exporter's textfile collector."""

from __future__ import annotations

import time
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from nearfar.base.files import write_atomically
from nearfar.documents import RunRecord

MAX_OBJECTS = 50
"""Most objects with their own series, the largest: a label per call stack overloads a server."""


def write_metrics(record: RunRecord, path: Path) -> None:
    """Write the metrics to `path` atomically, in base units as Prometheus recommends."""
    write_atomically(path, metrics(record))


def metrics(record: RunRecord) -> bytes:
    """Return the metrics; the label `program` is the executable."""
    registry = CollectorRegistry()
    program = record.executable

    def gauge(name: str, title: str, *labels: str) -> Gauge:
        return Gauge(f"nearfar_run_{name}", title, ["program", *labels], registry=registry)

    def once(name: str, title: str, value: float | None) -> None:
        if value is not None:
            gauge(name, title).labels(program).set(value)

    once("wall_seconds", "Wall time of the program.", record.wall_time_ns / 1e9)
    once("cpu_seconds", "User and system time, children included.", record.cpu_time_ns / 1e9)
    once("succeeded", "1 if it ended with exit code 0.", record.exit_status == "exited 0")
    if record.processes:
        # Under a kernel policy no library is preloaded, so no blocks are counted.
        once("heap_bytes", "Bytes in blocks at the fullest moment.", record.heap_bytes)
        once(
            "fallback_bytes",
            "Bytes elsewhere than planned because memory was full.",
            record.fallback_bytes,
        )
        once(
            "out_of_sight_bytes",
            "Anonymous bytes outside of blocks and recognised mappings.",
            record.out_of_sight_bytes,
        )
    once(
        "recognised_ratio",
        "Recognised share of the plan's bytes.",
        record.recognised_share_of_profile,
    )
    once("migrations", "Moves of objects while it ran.", len(record.migrations))
    moved = sum(migration.moved_bytes for migration in record.migrations)
    once("migrated_bytes", "Bytes moved while it ran.", moved)
    once("finished_timestamp_seconds", "Time of this file.", time.time())
    memory = gauge("memory_bytes", "Bytes in each memory at the fullest moment.", "memory")
    for name, size in record.pages_by_memory.items():
        memory.labels(program, name).set(size)
    on_plan = gauge(
        "object_on_plan_ratio", "Share of an object's pages in its planned memory.", "object", "id"
    )
    object_bytes = gauge(
        "object_bytes", "Bytes of an object in each memory.", "object", "id", "memory"
    )
    largest = sorted(record.objects, key=lambda row: row.recognised_bytes, reverse=True)
    for row in largest[:MAX_OBJECTS]:
        if row.on_plan is not None:
            on_plan.labels(program, row.name, str(row.object)).set(row.on_plan)
        for name, size in row.bytes_by_memory.items():
            object_bytes.labels(program, row.name, str(row.object), name).set(size)
    return bytes(generate_latest(registry))
