"""A memory that is full: the program goes on with what there is, and the record says so."""

from typing import Any

import planned

MIB = 24
"""Three objects of it and one of 16 MiB are more than node 1 has (128 MiB, of which the kernel
takes some 70)."""
FITS = 24 << 20
"""At least so much does fit there."""
HOLD = ["phases"] * 6
"""Some 4 s in which all objects are there: asking where so many pages are takes a while."""


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
    far = dict.fromkeys(("make_array", "make_growing", "make_mapping", "make_cleared"), "far")
    record = planned.run(planned.plan(far), str(MIB), *HOLD, maps={"far": "node:1"})
    print(record["fallback_bytes"], record["pictures"], record["warnings"])
    assert bytes_in(record, "far") > FITS
    assert bytes_in(record, "near") > MIB << 20, "the list, and what did not fit"
    assert worst(record) < planned.ON_PLAN

    maps = {"near": "node:1", "far": "node:0"}
    record = planned.run(planned.plan({"make_list": "far"}), str(MIB), *HOLD, maps=maps)
    print(record["fallback_bytes"], record["pictures"], record["warnings"])
    assert bytes_in(record, "near") > FITS
    assert bytes_in(record, "far") > MIB << 20
    assert worst(record) < planned.ON_PLAN
