"""Near memories, far memories, sizes and threads at which programs on paper are judged."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import samples

from nearfar.devices.library import device_names, load_device
from nearfar.documents import DeviceProfile, load

HERE = Path(__file__).parents[1] / "golden/inputs/near.json"
"""A measured memory: 4 KiB pages, a chains curve, bandwidths of few cores."""

NEARS = (
    "made up",
    "measured",
    "ddr4-2666-cascade-lake",
    "ddr4-2666-local",
    "ddr5-4800-local",
    "thesis-dram",
    "xmem-near",
)
HIDINGS = ("all", "bus", "nothing")
POINTS = ((1 << 25, 1), (1 << 25, 4))
"""Lines per array, and threads."""

QUICK = (
    *((near, "all", *at) for near, at in product(NEARS, POINTS)),
    ("made up", "all", 1 << 25, 8),
    ("measured", "bus", 1 << 25, 1),
)
"""The points of `make test`: each near memory with one thread and with several. Where all is hidden
near, near time tells least, and most predictions were wrong."""

ASSEMBLY = (QUICK[-1], ("ddr4-2666-local", "bus", 1 << 25, 4))
"""The points at which programs with inline assembly are judged."""

WHOLE = (
    *((*of, *at) for of, at in product(product(NEARS, HIDINGS), POINTS)),
    *((near, "bus", 1 << 10, 1) for near in NEARS),
    *((near, "bus", 1 << 25, 16) for near in NEARS),
)
"""The points of `make benchmarks`."""


def near_device(name: str) -> DeviceProfile:
    """Return a near memory of `NEARS`."""
    if name == "made up":
        return samples.device()
    return load(HERE, DeviceProfile) if name == "measured" else load_device(name)


_far = cache(load_device)


def fars(*names: str) -> list[DeviceProfile]:
    """Return these devices of the library, or all."""
    return [_far(name) for name in names or device_names()]
