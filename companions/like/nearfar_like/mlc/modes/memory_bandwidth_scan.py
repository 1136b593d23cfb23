"""``--memory_bandwidth_scan``: read bandwidth of every 1 GiB of a node, and its histogram.

All blocks are held until the end, so that each is other memory. Physical addresses are shown only
to root; without them the column says 0x0, as MLC does.
"""

from __future__ import annotations

from typing import Any

from nearfar_like.mlc.run import MlcRun
from nearfar_like.mlc.scan import scan

BUCKET_MB_PER_S = 5000
"""MB/s of one line of the histogram, as in MLC."""


def run(run: MlcRun) -> dict[str, Any]:
    """Scan ``-j``'s node from ``-n``'s CPUs with ``-t`` threads."""
    arguments = run.arguments
    first = next(node.id for node in run.nodes() if node.cpus)
    memory = arguments.number("j")
    memory = first if memory is None else run.node(memory, "-j").id
    reader = arguments.number("n")
    cpus = run.node(first if reader is None else reader, "-n").cpus
    if arguments.has("X"):
        cpus = run.bench.one_per_core(cpus)
    threads = arguments.number("t")
    cpus = cpus[: threads or None]
    run.say(
        f"Running memory bandwidth scan using {len(cpus)} threads on numa node "
        f"{run.node_of(cpus[0])} accessing memory on numa node {memory}"
    )
    blocks = scan(run, memory, cpus)
    buckets: dict[int, int] = {}
    for block in blocks:
        at = int(block["mb_per_s"]) // BUCKET_MB_PER_S * BUCKET_MB_PER_S
        buckets[at] = buckets.get(at, 0) + 1
    run.say(f"\nHistogram report of BW in MB/sec across each 1GB region on NUMA node {memory}")
    run.say("BW_range(MB/sec)\t#_of_1GB_regions")
    run.say("----------------\t----------------")
    for at in sorted(buckets):
        run.say(f"[{at}-{at + BUCKET_MB_PER_S - 1}]\t{buckets[at]}")
    if any(not block["physical_address"] for block in blocks):
        run.note("physical addresses are shown to root only: that column is not valid")
    run.say(f"\nDetailed BW report for each 1GB region allocated on NUMA node {memory}")
    run.say("phys_addr\tGBaligned_page#\tMB/sec")
    run.say("---------\t---------------\t------")
    for block in blocks:
        address = block["physical_address"]
        run.say(f"{address:#x}\t{address >> 30}\t{block['mb_per_s']:.0f}")
    return {"memory_node": memory, "threads": len(cpus), "blocks": blocks}
