"""``--peak_injection_bandwidth``: all threads on their own nodes' memory, five kinds of traffic."""

from __future__ import annotations

from typing import Any

from nearfar_like.bench import BufferPlace
from nearfar_like.mlc import tables
from nearfar_like.mlc.run import MlcRun, mb_per_s
from nearfar_like.mlc.traffic import STREAM_TRIAD_LIKE, TYPES

ROWS = {
    "ALL Reads": "R",
    "3:1 Reads-Writes": "W3",
    "2:1 Reads-Writes": "W2",
    "1:1 Reads-Writes": "W5",
    "Stream-triad like": STREAM_TRIAD_LIKE,
}


def run(run: MlcRun) -> dict[str, Any]:
    """Measure without delays."""
    return peaks(run, "Measuring Peak Injection Memory Bandwidths for the system", (0,), 1)


def peaks(run: MlcRun, title: str, delays: tuple[int, ...], digits: int) -> dict[str, Any]:
    """Measure each kind with each delay; print and return the best of each."""
    cpus = run.bandwidth_cpus()
    size = run.bandwidth_bytes(len(cpus))
    run.head(None, size)
    run.check(None, run.workers(cpus, BufferPlace(), size, TYPES["R"]))
    run.say(title)
    if len(delays) > 1:
        run.say(f"Trying {len(delays)} injection rates for each kind of traffic")
    run.units_line()
    run.threads_line()
    run.say("Using traffic with the following read-write ratios")
    table = []
    for row, name in ROWS.items():
        kind = TYPES[name]
        if run.arguments.has("U") and not kind.random_kernel:
            run.note(f"{row} is sequential only: left out, as -U asks for random accesses")
            continue
        if (run.arguments.number("l") or 64) > 64 and not kind.strided_kernel:
            run.note(f"{row} has no stride: left out, as -l asks for one")
            continue
        best: dict[str, Any] = {}
        for delay in delays:
            workers = run.workers(cpus, BufferPlace(), size, kind, delay)
            bandwidth = mb_per_s(run.measure(None, workers), [kind] * len(workers))
            if not best or bandwidth["value_mb_per_s"] > best["value_mb_per_s"]:
                best = {"delay_cycles": delay, **bandwidth}
        run.lines(tables.ratios({row: best["value_mb_per_s"]}, digits))
        run.spread(row, best, "mb_per_s")
        table.append({"traffic": name, "title": row, **best})
    return {"buffer_bytes": size, "threads": len(cpus), "peaks": table}
