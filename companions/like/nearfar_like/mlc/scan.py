"""Bandwidth of a node, block after block; each block stays mapped until all are read."""

from __future__ import annotations

import os
import struct
from statistics import median
from typing import Any

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.measure import room
from nearfar.measure.native import _measure
from nearfar_like.local_machine import MAX_FREE_SHARE
from nearfar_like.mlc.run import MlcRun
from nearfar_like.real import RealBench

BLOCK_BYTES = 1 << 30
SAMPLES = 3
PASS_NS = 50e6
"""Length of a sample, ns: half of a block at 10 GB/s per thread."""

PRESENT = 1 << 63
FRAME = (1 << 55) - 1
"""Frame number in an entry of /proc/self/pagemap (Linux' admin-guide/mm/pagemap.rst)."""


def scan(run: MlcRun, memory: int, cpus: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return MB/s and physical address (0: unknown) of every block of a node."""
    bench = run.bench
    if not isinstance(bench, RealBench):
        raise CommandError(f"{bench.name} has no physical memory to scan")
    node = run.node(memory, "-j")
    count = int(min(node.free_bytes, room.available_bytes()) * MAX_FREE_SHARE) // BLOCK_BYTES
    if count == 0:
        raise NearfarError(
            f"node {memory} has less than 1 GiB free: end other programs first",
            ExitCode.MACHINE_LACKS,
        )
    run.say(f"Reserved {count} 1GB free regions")
    held: list[_measure.Memory] = []
    results = []
    for _ in range(count):
        # Other programs may take memory meanwhile, so the last block may not fit.
        if held and room.available_bytes() * MAX_FREE_SHARE < BLOCK_BYTES:
            run.note(f"stopped after {len(held)} regions: other programs took the rest")
            break
        block = bench.block(memory, BLOCK_BYTES)
        held.append(block)
        isa = bench.isa_of("read", cpus[0], block)
        run.noise.next()
        workers = [
            _measure.Worker(cpu, "read", block, part=part, parts=len(cpus), isa=isa)
            for part, cpu in enumerate(cpus)
        ]
        rates = [
            sum(worker.gb_per_s for worker in _measure.together(workers, PASS_NS, PASS_NS / 5).each)
            for _ in range(SAMPLES)
        ]
        run.noise.value(f"region {len(held)}", [1e3 * rate for rate in rates], "mb_per_s")
        results.append(
            {"mb_per_s": 1e3 * median(rates), "physical_address": physical_address(block.address)}
        )
    return results


def physical_address(address: int) -> int:
    """Return the physical address of a page; 0: the kernel hides it."""
    page = os.sysconf("SC_PAGE_SIZE")
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as pages:  # noqa: PTH123
            pages.seek(address // page * 8)
            (entry,) = struct.unpack("<Q", pages.read(8))
    except (OSError, struct.error):
        return 0
    return (entry & FRAME) * page if entry & PRESENT else 0
