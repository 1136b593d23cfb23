"""``--idle_latency``: one thread of dependent loads, nothing else running."""

from __future__ import annotations

from typing import Any

from nearfar_like.bench import BufferPlace
from nearfar_like.mlc.run import MlcRun
from nearfar_like.repeat import summed


def run(run: MlcRun) -> dict[str, Any]:
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
    chase = run.chase(cpu, BufferPlace(node, arguments.path("J")), run.latency_bytes())
    run.head(chase.size_bytes, None)
    latency = summed(run.measure(chase, []).ns, "ns")
    cycles = latency["value_ns"] * run.bench.ghz
    run.say(
        f"Each iteration took {cycles:.1f} base frequency clocks (\t{latency['value_ns']:.1f}\tns)"
    )
    run.spread("idle latency", latency, "ns")
    return {"cpu": cpu, "memory": str(chase.place), "buffer_bytes": chase.size_bytes, **latency}
