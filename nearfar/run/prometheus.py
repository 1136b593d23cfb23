"""A RunRecord as a file of Prometheus' text format, for node_exporter's textfile collector."""

from __future__ import annotations

import time
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from nearfar.base.files import write_atomically
from nearfar.documents import RunRecord

MOST_OBJECTS = 50
"""Objects with series of their own, by size: a label a call stack would drown a server."""


def write_metrics(record: RunRecord, path: Path) -> None:
    """Write what a run did to `path`, whole or not at all; base units, as Prometheus asks for."""
    write_atomically(path, metrics(record))


def metrics(record: RunRecord) -> bytes:
    """Return the text; the label `program` is the file that ran."""
    registry = CollectorRegistry()
    program = record.executable

    def gauge(name: str, says: str, *labels: str) -> Gauge:
        return Gauge(f"nearfar_run_{name}", says, ["program", *labels], registry=registry)

    def once(name: str, says: str, value: float | None) -> None:
        if value is not None:
            gauge(name, says).labels(program).set(value)

    once("wall_seconds", "How long the program ran.", record.wall_time_ns / 1e9)
    once("cpu_seconds", "User and system time, children included.", record.cpu_time_ns / 1e9)
    once("succeeded", "1 if it ended with exit code 0.", record.exit_status == "exited 0")
    if record.processes:  # under a policy of the kernel's nothing is preloaded, or counted
        once("heap_bytes", "In blocks, at the fullest moment.", record.heap_bytes)
        once("fallback_bytes", "Not where they were to be: no room.", record.fallback_bytes)
        once("out_of_sight_bytes", "Neither in blocks nor recognised.", record.out_of_sight_bytes)
    once("recognised_ratio", "Of the plan's bytes.", record.recognised_share_of_profile)
    once("migrations", "Moves while it ran.", len(record.migrations))
    moved = sum(one.moved_bytes for one in record.migrations)
    once("migrated_bytes", "Moved while it ran.", moved)
    once("finished_timestamp_seconds", "When this was written.", time.time())
    memory = gauge("memory_bytes", "In each memory, at the fullest moment.", "memory")
    for name, there in record.pages_by_memory.items():
        memory.labels(program, name).set(there)
    on_plan = gauge("object_on_plan_ratio", "Of an object's pages, where planned.", "object", "id")
    there_of = gauge("object_bytes", "An object's, in each memory.", "object", "id", "memory")
    largest = sorted(record.objects, key=lambda one: one.recognised_bytes, reverse=True)
    for one in largest[:MOST_OBJECTS]:
        if one.on_plan is not None:
            on_plan.labels(program, one.name, str(one.object)).set(one.on_plan)
        for name, there in one.bytes_by_memory.items():
            there_of.labels(program, one.name, str(one.object), name).set(there)
    return bytes(generate_latest(registry))
