"""Idle latency of `measure` next to a reference chase, in the same lines and turns.

The reference (latency_chase.c) shares no code with our kernels: its own order, loop and clock. Both
chase the same memory file, because two mappings of fresh pages may differ, by links in different
words of its lines. Their samples take turns of some 40 ms, because the latency of a shared machine
drifts by 10 % within seconds. A round links the file again. It has the lower quartile of each
side's samples, which is close to the undisturbed latency; a profile has medians, 2 to 5 % higher
here. The median of the rounds' ratios counts. Ours also leaves out parts of a sample in which other
work ran. No other core is kept awake, as `measure` does, because the reference does not.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

from benchmarks import Row, make_row
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.statistics import median_estimate
from nearfar.base.units import format_bytes

SECONDS = 40

ROUNDS = 9
SAMPLES = 21
"""Samples of each side in a round, 15 ms each."""
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
            yield _row(reference, region_bytes, machine.cpus, machine.llc_bytes)


def _row(reference: Path, region_bytes: int, cpus: tuple[int, ...], llc_bytes: int) -> Row:
    descriptor = os.memfd_create("latency")
    os.truncate(descriptor, region_bytes)
    try:
        rounds = [
            _round_ns(reference, descriptor, region_bytes, cpus, llc_bytes) for _ in range(ROUNDS)
        ]
    finally:
        os.close(descriptor)
    ratio = median_estimate([ours / peer for ours, peer in rounds])
    ours, peer = (statistics.median(side) for side in zip(*rounds, strict=True))
    return make_row(
        f"idle latency of {format_bytes(region_bytes)}",
        100 * abs(ratio.value - 1),
        "% off",
        bar=3,
        peer="a chase in C, lower quartile of samples of 15 ms",
        command="make benchmarks ONLY=latency",
        note=f"{ours:.2f} ns, reference {peer:.2f}; ratio {ratio.value:.3f}, {ratio.low:.3f} to "
        f"{ratio.high:.3f}",
    )


def _round_ns(
    reference: Path, descriptor: int, region_bytes: int, cpus: tuple[int, ...], llc_bytes: int
) -> tuple[float, float]:
    """Return the lower quartiles of ours and of the reference, whose samples take turns."""
    from nearfar import _measure
    from nearfar.measure.sampler import Sampler
    from nearfar.samples.point import SamplePoint

    memory = _measure.Memory.file(descriptor, region_bytes, False)

    def refuse(page_bytes: int, size_bytes: int) -> _measure.Memory:
        raise AssertionError(f"a chase needs no buffer of {size_bytes} B, {page_bytes} B pages")

    sampler = Sampler({PAGE_BYTES: memory}, region_bytes, refuse, cpus, llc_bytes, spin=False)
    point = SamplePoint("latency", "chase", PAGE_BYTES, region_bytes)
    command = [str(reference), str(descriptor), str(region_bytes), str(cpus[0])]
    ours, peer = [], []
    with subprocess.Popen(
        command, stdin=PIPE, stdout=PIPE, text=True, pass_fds=(descriptor,)
    ) as chase:
        assert chase.stdin is not None
        _answer(chase)  # linked
        for _ in range(SAMPLES):
            ours.append(sampler.sample(point).value)
            chase.stdin.write(".")
            chase.stdin.flush()
            peer.append(float(_answer(chase)))
        chase.stdin.close()
    return sorted(ours)[SAMPLES // 4], sorted(peer)[SAMPLES // 4]


def _answer(chase: subprocess.Popen[str]) -> str:
    assert chase.stdout is not None
    line = chase.stdout.readline()
    if not line:
        raise NearfarError("the reference chase ended early", ExitCode.MACHINE_LACKS)
    return line
