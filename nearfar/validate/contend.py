"""The contending core, as a process of its own: ``python -m nearfar.validate.contend CPU KERNEL
BYTES SPEC`` runs a kernel of `nearfar measure` over its own memory until it is killed.
"""

from __future__ import annotations

import ctypes
import signal
import sys

_PDEATHSIG = 1
"""PR_SET_PDEATHSIG of linux/prctl.h: killed when our parent ends, stopped or not."""

GROW_NS = 3e6
"""At the beginning of a slice: looks at the clock become rare, as beside a device curve."""

SLICE_NS = 2e9
"""Of one call into the native module; the next begins some 100 us later."""


def main(arguments: list[str]) -> None:
    """Contend; says ``ready`` once its memory is there."""
    from nearfar._measure import Worker, together
    from nearfar.measure.obtain import source_of
    from nearfar.measure.spec import parse_spec
    from nearfar.measure.topology import detect

    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    cpu, kernel, size_bytes, text = arguments
    spec = parse_spec(text)
    memory = source_of(spec, detect())(int(size_bytes), spec.pages or "4k")
    worker = Worker(int(cpu), kernel, memory, region_bytes=int(size_bytes))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        together([worker], SLICE_NS, GROW_NS)


if __name__ == "__main__":
    main(sys.argv[1:])
