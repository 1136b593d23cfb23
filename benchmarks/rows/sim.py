"""The simulator: its errors against published measurements, and its speed.

The published chase (VANS, MICRO 2020) is not part of the repository; without it, its rows are left
out with a message. A hash of their size divides regions into those that the three constants are
fitted to and those held out.
"""

from __future__ import annotations

import csv
import hashlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Row, alternate, make_row, paired_ratio
from nearfar import _sim
from nearfar import _window as _window_module
from nearfar.devices.library import load_device
from nearfar.profile.bursts.trace import make_trace
from nearfar.sim.from_device import Plateau, fit_reads, from_device, read_shares
from nearfar.sim.memory import make_memory
from nearfar.sim.parameters import (
    DeviceInterleave,
    DeviceModel,
    MemoryLevel,
    ThreadBandwidth,
    WriteQueue,
)

SECONDS = 30

HERE = Path(__file__).parent
PUBLISHED = HERE.parents[2] / "shared" / "reference" / "devices"
ONE_DIMM = PUBLISHED / "optane100_vans_raw_noninterleaved.csv"
SIX_DIMMS = PUBLISHED / "optane100_vans_raw_interleaved.csv"
OTHER_DIMM = PUBLISHED / "optane100_shiftlab_rmw_assoc.csv"
"""Chase of another laboratory (USENIX Security 2023, Systems-ShiftLab/optane_sec23_ae at
5d4804adcd2e), of another DIMM, in cycles. Nothing in the repository is fitted to it."""
OTHER_GHZ = 2.1
COMMAND = "make benchmarks ONLY=sim"

LEAST_READ_BYTES = 256
LEAST_WRITE_BYTES = 512
"""Smaller regions measure the fence after each pass, not the device."""

ACCESSES = 1 << 24
REGION_BYTES = 1 << 30
REPETITIONS = 5

WINDOW_RUNS = 20
MCA_LOOP = "movq (%rbx), %rcx\nmovq %rcx, %rdx\nincq %rsi\n"

_ANY = ThreadBandwidth(1.0, 1.0)
"""Latencies do not depend on it."""


@dataclass(frozen=True)
class Measured:
    """Holds a region of the published chase."""

    region_bytes: int
    write_ns: float
    read_ns: float

    @property
    def held_out(self) -> bool:
        """Return whether the fit must not use it."""
        return hashlib.sha256(str(self.region_bytes).encode()).digest()[0] % 2 == 1


def rows() -> Iterator[Row]:
    """Yield rows of error, then of speed."""
    if ONE_DIMM.exists() and SIX_DIMMS.exists():
        yield from _errors()
    else:
        print("the published Optane chase is not beside this repository: its rows are left out")
    yield from _speed()
    yield from _window()


def optane(devices: int = 1, rmw_blocks: int = 70) -> DeviceModel:
    """Return the Optane DIMM with constants to be fitted.

    70 blocks of 256 B: another measurement, of write amplification, agrees with 67 to 70 (FAST
    2020, OptaneStudy graphs/09-infer_xpbuffer.csv;
    tests/native/sim/device/write_amplification_test.cpp).
    """
    return DeviceModel(
        "optane",
        media_ns=380.0,
        read=_ANY,
        write=_ANY,
        nt_store=_ANY,
        buffers=(
            MemoryLevel("rmw", rmw_blocks * 256, 180.0, 256, 0, "random", 60.0),
            MemoryLevel("ait", 4096 * 4096, 310.0, 4096, 16, "lru", 110.0),
        ),
        media_drain_ns=110.0,
        queue=WriteQueue(4096, 28.0),
        interleave=DeviceInterleave(devices, 4096) if devices > 1 else None,
    )


def published(path: Path) -> list[Measured]:
    """Return the published chase of 64 B blocks, by region."""
    with path.open(encoding="utf-8") as file:
        result = csv.DictReader(line for line in file if not line.startswith("#"))
        return [
            Measured(
                int(row["region_bytes"]), float(row["write_ns_per_line"]),
                float(row["read_ns_per_line"]),
            )
            for row in result
            if row["raw_type"] == "raw-chasing-separate-64"
        ]  # fmt: skip


def _errors() -> Iterator[Row]:
    single = [m for m in published(ONE_DIMM) if m.region_bytes >= LEAST_READ_BYTES]
    fitted = [m for m in single if not m.held_out]
    held_out = [m for m in single if m.held_out]
    model = fit_reads(optane(), [Plateau(m.region_bytes, m.read_ns) for m in fitted])
    errors = [abs(_read_ns(model, m.region_bytes) / m.read_ns - 1) for m in held_out]
    what = f"{len(held_out)} of {len(single)} regions held out by a hash of their size"
    yield _error("Optane, one DIMM, read, mean", statistics.mean(errors), 0.8, what)
    yield _error("Optane, one DIMM, read, max", max(errors), 5.0, what)
    six = [m for m in published(SIX_DIMMS) if m.region_bytes >= LEAST_READ_BYTES]
    wider = replace(model, interleave=DeviceInterleave(6, 4096))
    errors = [abs(_read_ns(wider, m.region_bytes) / m.read_ns - 1) for m in six]
    yield _error("Optane, six DIMMs, same constants, mean", statistics.mean(errors), 1.5,
                 f"{len(six)} regions, none fitted")  # fmt: skip
    yield from _write_errors()
    if OTHER_DIMM.exists():
        yield _library_error()


def _library_error() -> Row:
    """Return the error of the library's device beside a DIMM that it is not fitted to."""
    with OTHER_DIMM.open(encoding="utf-8") as file:
        lines = csv.DictReader(line for line in file if not line.startswith("#"))
        measured = {int(row["size"]): float(row["mask_clean"]) / OTHER_GHZ for row in lines}
    model = from_device(load_device("optane-100-1dimm"))
    errors = [
        _read_ns(model, size) / ns - 1
        for size, ns in measured.items()
        if size >= LEAST_READ_BYTES
    ]  # fmt: skip
    what = f"chase of another laboratory's DIMM, {len(errors)} regions, none fitted"
    return make_row(
        "the library's Optane DIMM, read, mean",
        100 * statistics.mean(map(abs, errors)),
        "%",
        bar=4.0,
        peer=what,
        command=COMMAND,
        note=f"{min(errors):+.1%} to {max(errors):+.1%}, mean {statistics.mean(errors):+.1%}",
    )


def _read_ns(model: DeviceModel, region_bytes: int) -> float:
    shares = read_shares(model, region_bytes)
    latencies = [level.latency_ns for level in model.levels] + [model.media_ns]
    return sum(share * ns for share, ns in zip(shares, latencies, strict=True))


def _write_shares(model: DeviceModel, region_bytes: int) -> list[float]:
    """Write the region in rounds, as published, without reads between them."""
    lines = region_bytes // 64
    ran = _sim.run(
        memory=make_memory(model),
        operation="persist",
        region_bytes=region_bytes,
        access_bytes=64,
        stride_bytes=64,
        warm_up=min(max(100_000, 2 * lines), 600_000),
        accesses=200_000,
        fence_every=1 << 30,
    )
    return [count / ran.lines for count in ran.written]


def _write_errors() -> Iterator[Row]:
    single = [m for m in published(ONE_DIMM) if m.region_bytes >= LEAST_WRITE_BYTES]
    shares = {m.region_bytes: np.array(_write_shares(optane(), m.region_bytes)) for m in single}
    fitted = [m for m in single if not m.held_out]
    matrix = np.array([shares[m.region_bytes] / m.write_ns for m in fitted])
    constants, *_ = np.linalg.lstsq(matrix, np.ones(len(fitted)), rcond=None)
    errors = [
        abs(float(shares[m.region_bytes] @ constants) / m.write_ns - 1)
        for m in single
        if m.held_out
    ]  # fmt: skip
    yield _error("Optane, one DIMM, write, mean", statistics.mean(errors), 8.0,
                 f"{len(errors)} regions held out")  # fmt: skip


def _error(name: str, error: float, bar_percent: float, peer: str) -> Row:
    return make_row(name, 100 * error, "%", bar=bar_percent, peer=peer, command=COMMAND)


def stream() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return independent random loads of lines of 1 GiB."""
    rng = np.random.default_rng(1)
    lines = rng.integers(0, REGION_BYTES // 64, ACCESSES, dtype=np.uint64)
    return lines << np.uint64(7)


def with_caches() -> DeviceModel:
    """Return three levels of caches in front of six Optane DIMMs."""
    caches = (
        MemoryLevel("L1", 32 << 10, 1.0, 64, 8),
        MemoryLevel("L2", 1 << 20, 4.0, 64, 16),
        MemoryLevel("L3", 32 << 20, 20.0, 64, 16),
    )
    return replace(optane(6), caches=caches)


def _speed() -> Iterator[Row]:
    words = stream()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "plain"
        subprocess.run(["cc", "-O2", str(HERE / "sim.c"), "-o", str(program)], check=True)
        words.tofile(folder / "stream")
        plain = partial(_plain_ns, [str(program), str(folder / "stream"), str(REGION_BYTES)])
        for isa, bar in (("avx512", 2.0), ("avx2", 2.5)):
            if isa not in _sim.isas():
                print(f"this processor has no {isa}: its row is left out")
                continue
            memory = make_memory(with_caches())
            ours, peer = alternate([partial(_simulated_ns, memory, words, isa), plain], REPETITIONS)
            yield make_row(
                f"simulation of caches and Optane, {isa}",
                statistics.median(peer) * paired_ratio(ours, peer),
                "ns per access",
                bar=bar,
                judge="ratio",
                peer="the same 16.8 M loads made, huge pages, one thread",
                peer_value=statistics.median(peer),
                command=COMMAND,
            )
        yield from _cachegrind(program, folder, words)


def _simulated_ns(memory: Any, words: Any, isa: str) -> float:
    before = time.process_time()
    _sim.replay(memory, words, isa)
    return (time.process_time() - before) / words.size * 1e9


def _plain_ns(command: list[str]) -> float:
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(answer.stdout.split()[0])


def _cachegrind(program: Path, folder: Path, words: Any) -> Iterator[Row]:
    """Return cachegrind's time for the same program: two levels, no device."""
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: its row is left out (`make setup`)")
        return
    short = folder / "short"
    words[: ACCESSES // 8].tofile(short)
    command = [
        "valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null", "-q",
        str(program), str(short), str(REGION_BYTES),
    ]  # fmt: skip
    memory = make_memory(with_caches())
    isa = _sim.isas()[0]
    ours, peer = alternate(
        [partial(_simulated_ns, memory, words, isa), partial(_plain_ns, command)], 1
    )
    yield make_row(
        f"simulation of caches and Optane, {isa}, beside cachegrind",
        ours[0],
        "ns per access",
        bar=1.0,
        judge="ratio",
        peer="valgrind --tool=cachegrind --cache-sim=yes on the plain program's loop",
        peer_value=peer[0],
        command=COMMAND,
    )


def _window() -> Iterator[Row]:
    """Return the speed of the simulated core on bursts whose every access misses."""
    sys.path.insert(0, str(HERE.parents[1] / "tests/python"))
    import window_bursts

    trace = make_trace(window_bursts.many_bursts(("-",)), 0)
    served = trace.served(0.0)
    core = _window_module.Core(
        window=224, width=4.0, store_buffer=56, miss_buffers=12, computing=1, arithmetic=1.0,
        first_level=5.0, second_level=14.0, last_level=50.0, mispredicted=16.0,
    )  # fmt: skip
    memory = _window_module.Medium(
        latency=[300.0] * _window_module.MOST_IN_FLIGHT, line=10.0, write=10.0, write_back=2.0,
        stream=12.0,
    )  # fmt: skip

    def ours() -> float:
        before = time.process_time()
        for _ in range(WINDOW_RUNS):
            _window_module.run(trace.native, served, core, memory, memory)
        return WINDOW_RUNS * len(served) / (time.process_time() - before) / 1e6

    tool = shutil.which("llvm-mca") or shutil.which("llvm-mca-16")
    peer = ours if tool is None else partial(_mca_rate, tool)
    rates, peers = alternate([ours, peer], REPETITIONS)
    yield make_row(
        "window model: accesses that all miss, three instructions each",
        statistics.median(rates),
        "M accesses/s a core",
        bar=20.0,
        at_most=False,
        peer="" if tool is None else "llvm-mca on the same loop, whose loads all hit",
        peer_value=None if tool is None else statistics.median(peers),
        command=COMMAND,
    )


def _mca_rate(tool: str) -> float:
    """Return millions of loads a second that llvm-mca simulates, its start left out."""

    def seconds(iterations: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(
            [tool, "-mcpu=skylake", f"-iterations={iterations}"], input=MCA_LOOP,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    few, many = 1_000, 101_000
    return (many - few) / (seconds(many) - seconds(few)) / 1e6
