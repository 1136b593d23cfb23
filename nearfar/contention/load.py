"""The program that loads memory: ``python -m nearfar.contention.load CPU KERNEL BYTES SPEC``.

It runs a kernel of `nearfar measure` over its own memory until it is killed.
"""

from __future__ import annotations

import os
import sys

from nearfar._measure import Worker, together
from nearfar.base.terminate import end_with_parent
from nearfar.measure.fastest_isa import FastestIsa
from nearfar.measure.obtain import source_of
from nearfar.memories.spec import parse_spec
from nearfar.memories.topology import detect

GROW_NS = 3e6
"""Time over which checks of the clock become rare, as in the load of a device curve."""

SLICE_NS = 2e9
"""Length of one call into the native module; the next begins some 100 us later."""


def main(arguments: list[str]) -> None:
    """Load memory; prints ``ready`` once the memory is allocated and an instruction set chosen."""
    end_with_parent(os.getppid())  # also while stopped
    cpu, kernel, size_bytes, text = arguments
    spec = parse_spec(text)
    memory = source_of(spec, detect())(int(size_bytes), spec.pages or "4k")
    isa = FastestIsa().of_kernel(kernel, int(cpu), memory)
    worker = Worker(int(cpu), kernel, memory, region_bytes=int(size_bytes), isa=isa)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        together([worker], SLICE_NS, GROW_NS)


if __name__ == "__main__":
    main(sys.argv[1:])
