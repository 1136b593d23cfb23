"""The rows of maps.py at a million keys, but for two examples that cannot be had there.

The example skip list has four levels: a million keys would take it hours. A node of the example
radix tree takes 4 KiB, so a million keys take it 5 GB of tmpfs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from benchmarks import Row
from benchmarks.map_runs import MAPS, peer
from benchmarks.rows.maps import persistent, volatile
from nearfar.base.errors import NearfarError

N = 1_000_000
REPETITIONS = 1
"""A million operations of some microseconds are seconds of processor time: one run says it to a few
per cent, and all of them take minutes."""
TOO_SLOW = ("skip-list",)
ROOM_BYTES = {"radix": 12 << 30}
"""Free memory that the example needs, with as much again for what else runs."""


def rows() -> Iterator[Row]:
    """Yield them."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        peer()
    except NearfarError as error:
        print(f"maps_million: no rows of persistent maps: {error}")
    else:
        for name in MAPS:
            if name in TOO_SLOW or free < ROOM_BYTES.get(name, 0):
                print(f"maps_million: the example {name} cannot be measured at {N:,} keys here")
                continue
            yield from persistent(name, N, REPETITIONS)
    yield from volatile(N, REPETITIONS)
