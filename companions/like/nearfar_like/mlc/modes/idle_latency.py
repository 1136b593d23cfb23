"""``--idle_latency``: one thread of dependent loads, nothing else running."""

from __future__ import annotations

from typing import Any

from nearfar_like.bench import Place
from nearfar_like.mlc.run import Run
from nearfar_like.repeat import summed


def run(run: Run) -> dict[str, Any]:
    """Measure ``-c``'s latency to ``-j``, ``-i`` or ``-J``."""
    arguments = run.arguments
    chosen = arguments.number("c")
    cpu = run.all_cpus()[0] if chosen is None else run.usable(chosen, "-c")
    node = arguments.number("j")
    if node is not None:
        run.node(node, "-j")
    if (home := arguments.number("i")) is not None:
        run.usable(home, "-i")
        node = run.node_of(home)
    chase = run.chase(cpu, Place(node, arguments.path("J")), run.latency_bytes())
    run.head(chase.size_bytes, None)
    found = summed(run.measure(chase, []).ns, "ns")
    cycles = found["value_ns"] * run.bench.ghz
    run.say(
        f"Each iteration took {cycles:.1f} base frequency clocks (\t{found['value_ns']:.1f}\tns)"
    )
    run.spread("interval, ns", found, "ns")
    return {"cpu": cpu, "memory": str(chase.place), "buffer_bytes": chase.size_bytes, **found}
