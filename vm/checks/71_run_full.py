"""A memory that is full: the program goes on with what there is, and the record says so."""

from pathlib import Path
from typing import Any

import planned
from guest import NODES, sh

ALONE = True
MIB = 8
"""Of one object; far gets four."""
LEFT_MIB = 20
"""So much is left free on node 1, less than four objects: the rest of it is filled before, for
asking where many pages are takes an emulated processor a while."""
FITS = 8 << 20
"""At least so much does fit there: the kernel keeps some of what is free."""
HOLD = ["phases"] * 6
"""Some seconds in which all objects are there."""
SMALL_PAGES = ("--pages", "4KiB")
"""A huge page goes to another node where none is free in one piece, however much is free."""
FILL = Path("/dev/shm/fill")


def bytes_in(record: Any, memory: str) -> int:
    """Return the bytes of all objects that landed in a memory."""
    found = planned.landings(record).values()
    return sum(landing["bytes_by_memory"].get(memory, 0) for landing in found)


def worst(record: Any) -> float:
    """Return the smallest share on plan of any object."""
    found = planned.landings(record).values()
    return min(landing["on_plan"] for landing in found if landing["on_plan"] is not None)


def check() -> None:
    """Far full: the rest goes near. Near full (a small node stands for it): the rest goes far."""
    meminfo = (NODES / "node1/meminfo").read_text()
    free_mib = int(meminfo.partition("MemFree:")[2].split()[0]) >> 10
    fill = f"dd if=/dev/zero of={FILL} bs=1M count={max(free_mib - LEFT_MIB, 0)}"
    sh(f"numactl --membind=1 {fill}")
    try:
        full()
    finally:
        FILL.unlink()


def full() -> None:
    """Run both ways round."""
    far = dict.fromkeys(("make_array", "make_growing", "make_mapping", "make_cleared"), "far")
    record = planned.run(
        planned.plan(far), str(MIB), *HOLD, maps={"far": "node:1"}, options=SMALL_PAGES
    )
    print(record["fallback_bytes"], record["pictures"], record["warnings"])
    assert bytes_in(record, "far") > FITS
    assert bytes_in(record, "near") > MIB << 20, "the list, and what did not fit"
    assert worst(record) < planned.ON_PLAN

    maps = {"near": "node:1", "far": "node:0"}
    record = planned.run(
        planned.plan({"make_list": "far"}), str(MIB), *HOLD, maps=maps, options=SMALL_PAGES
    )
    print(record["fallback_bytes"], record["pictures"], record["warnings"])
    assert bytes_in(record, "near") > FITS
    assert bytes_in(record, "far") > MIB << 20
    assert worst(record) < planned.ON_PLAN
