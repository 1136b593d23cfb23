"""Idle latency of `measure` next to a reference chase, in the same pages and turns.

The reference (latency_chase.c) shares no code with our kernels: its own order, loop, clock and way
to leave out other work. Both chase the same memory file, because two mappings of fresh pages may
differ. Each run links the file again. Both sides give the lower quartile of their samples, which is
close to the undisturbed latency; a profile has medians, 2 to 5 % higher here, because the clock of
a shared machine changes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import Row, alternate, make_row, paired_ratio
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes

SECONDS = 35

PAIRS = 7
SAMPLES = 21
"""Samples of ours in a turn, 15 ms each, as long as the reference's."""
PAGE_BYTES = 4096
BLOCK_BYTES = 2 << 20
CACHED = (16 << 10, 256 << 10)
"""Regions within the first cache and within the second."""
BEYOND_BYTES = 256 << 20
"""Least size of the region beyond the last level. It is more than twice as large as that, because
a smaller one would have to be warmed up."""


def rows() -> Iterator[Row]:
    """Yield a row a region."""
    from nearfar.memories.topology import detect

    machine = detect()
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder) / "chase"
        source = str(Path(__file__).with_name("latency_chase.c"))
        subprocess.run(["cc", "-O2", source, "-o", str(reference)], check=True)
        beyond = max(BEYOND_BYTES, 2 * machine.llc_bytes + BLOCK_BYTES)
        for region_bytes in (*CACHED, beyond // BLOCK_BYTES * BLOCK_BYTES):
            descriptor = os.memfd_create("latency")
            os.truncate(descriptor, region_bytes)
            try:
                ours, peer = alternate(
                    [
                        partial(_our_ns, descriptor, region_bytes, machine.cpus, machine.llc_bytes),
                        partial(_peer_ns, reference, descriptor, region_bytes, machine.cpus[0]),
                    ],
                    PAIRS,
                )
            finally:
                os.close(descriptor)
            ratio = paired_ratio(ours, peer)
            yield make_row(
                f"idle latency of {format_bytes(region_bytes)}: {statistics.median(ours):.2f} ns, "
                f"reference {statistics.median(peer):.2f}; ratio {ratio:.3f}",
                100 * abs(ratio - 1),
                "% off",
                bar=3,
                peer="a chase in C, lower quartile of samples of 15 ms",
                command="make benchmarks ONLY=latency",
            )


def _our_ns(descriptor: int, region_bytes: int, cpus: tuple[int, ...], llc_bytes: int) -> float:
    """Return the lower quartile of some samples, in memory that is linked again."""
    from nearfar import _measure
    from nearfar.measure.sampler import Sampler
    from nearfar.samples.point import SamplePoint

    memory = _measure.Memory.file(descriptor, region_bytes, False)

    def refuse(page_bytes: int, size_bytes: int) -> _measure.Memory:
        raise AssertionError(f"a chase needs no buffer of {size_bytes} B, {page_bytes} B pages")

    sampler = Sampler({PAGE_BYTES: memory}, region_bytes, refuse, cpus, llc_bytes)
    point = SamplePoint("latency", "chase", PAGE_BYTES, region_bytes)
    samples = sorted(sampler.sample(point).value for _ in range(SAMPLES))
    return samples[SAMPLES // 4]


def _peer_ns(reference: Path, descriptor: int, region_bytes: int, cpu: int) -> float:
    done = subprocess.run(
        [reference, str(descriptor), str(region_bytes), str(cpu)],
        capture_output=True,
        text=True,
        pass_fds=(descriptor,),
        check=False,
    )
    if done.returncode != 0:
        raise NearfarError(
            f"the reference chase failed with {done.returncode}", ExitCode.MACHINE_LACKS
        )
    return float(done.stdout)
