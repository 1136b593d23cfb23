"""The place in a program where sampling under QEMU ended, and its time to get there natively.

A program that takes too long to run to its end under QEMU has no known number of instructions, so
the sampled share of its time is unknown. But QEMU counts how often each block of instructions ran.
If a block ran for the n-th time shortly before sampling ended, the program also reaches this n-th
time natively. `nearfar_reach` runs the program to that place with a breakpoint.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.base.folders import memory_folder, owned_folder
from nearfar.base.threads import working_beside
from nearfar.native_files import native_file
from nearfar.program.control import Control
from nearfar.program.executable import Build
from nearfar.program.launch import Job, run_job

FILE_NAME = "blocks"
BLOCK = np.dtype([("address", np.uint64), ("bytes", np.uint64), ("count", np.uint64)])
"""struct nf_block of native/profile/qemu/blocks.h."""
MAX_BLOCKS = 65536
LOOKS = 40
"""Readings of the counts while sampling lasts; the place found is between the last two."""
MIN_PERIOD_S = 0.01
"""Least time between readings, which take about a millisecond."""
MAX_TIMES = 20_000
"""Maximum number of executions of a place; each stops the program twice, for some 10 us."""
STOPS = (1.1, 1.25, 1.0)
"""CPU time that stops cost over the measured time of stepping over the place: value, maximum and
minimum. The measured time lacks the start of each stop. The value is from one loop only: 658 stops
of 24 us cost 1.1 times the stepping time."""
MAX_TRIES = 2
"""Maximum number of places that are tried: natively a program may take another path, for instance
because the processor differs."""
PREFIXES = frozenset((0xF2, 0xF3))
STRING_CODES = frozenset((*range(0x6C, 0x70), *range(0xA4, 0xA8), *range(0xAA, 0xB0)))


@dataclass(frozen=True)
class TimedPart:
    """Native times of the sampled part of a program."""

    cpu_ns: Estimate
    wall_ns: float


@dataclass(frozen=True)
class _SampledCounts:
    """The counts at one moment of sampling."""

    blocks: np.ndarray[tuple[int], np.dtype[np.void]]
    instructions: int


@dataclass(frozen=True)
class _Mapping:
    begin: int
    end: int
    file_begin: int
    path: str


@dataclass(frozen=True)
class CodePlace:
    """An instruction of a file, and how many executions of it came before sampling ended."""

    path: str
    offset: int
    times: int


class SampledEnd:
    """Counts of blocks while a program is sampled under QEMU."""

    def __init__(self, folder: Path, sample_s: float) -> None:
        """Make the table of counts in the run folder."""
        self._blocks = np.memmap(folder / FILE_NAME, dtype=BLOCK, mode="w+", shape=(MAX_BLOCKS,))
        self._period_s = max(MIN_PERIOD_S, sample_s / LOOKS)
        self._readings: list[_SampledCounts] = []
        self._maps: list[_Mapping] = []
        self._process_file = folder / "sampled.pid"

    def note_process(self) -> None:
        """Note the calling process, which becomes QEMU."""
        self._process_file.write_text(str(os.getpid()))

    @contextlib.contextmanager
    def watching(self, instructions: Callable[[], int]) -> Iterator[None]:
        """Read the counts while the body runs and sampling lasts.

        `instructions` returns those executed so far, or 0 once sampling has ended.
        """

        def watch(ended: threading.Event) -> None:
            while not ended.wait(self._period_s):
                if executed := instructions():
                    self._readings = [
                        *self._readings[-1:],
                        _SampledCounts(self._blocks.copy(), executed),
                    ]
                    self._read_maps()
                elif self._readings:
                    return

        with working_beside(watch):
            yield

    def _read_maps(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            process = int(self._process_file.read_text())
            self._maps = mappings(Path(f"/proc/{process}/maps").read_text())

    def time_part(
        self, job: Job, plain: Build, sampled: int, longest_s: Callable[[int], float]
    ) -> TimedPart | None:
        """Time the sampled part natively: run the program to a place near the end of sampling.

        `sampled`: instructions executed while sampling. `longest_s` returns how long a run may
        take, given the number of tries left. Returns None if no place was found or reached.
        """
        if len(self._readings) < 2:
            return None
        before, after = self._readings
        reachable = places(before.blocks, after.blocks, self._maps, str(plain.executable))
        for tried, place in enumerate(reachable):
            reached = time_to_place(place, job, plain, longest_s(len(reachable) - tried))
            if reached is None:
                continue
            times, wall_ns = reached
            # The program reached the place between the two readings.
            low, high = sorted(sampled / reading.instructions for reading in (before, after))
            ratio = 2 * sampled / (before.instructions + after.instructions)
            cpu_ns = Estimate(times.value * ratio, times.low * low, times.high * high)
            return TimedPart(cpu_ns, wall_ns * ratio)
        return None


def mappings(text: str) -> list[_Mapping]:
    """Return the mapped files of /proc/PID/maps."""
    rows = []
    for line in text.splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[5].startswith("/"):
            begin, end = (int(word, 16) for word in words[0].split("-"))
            rows.append(_Mapping(begin, end, int(words[2], 16), words[5]))
    return rows


def places(
    before: np.ndarray[tuple[int], np.dtype[np.void]],
    after: np.ndarray[tuple[int], np.dtype[np.void]],
    maps: Sequence[_Mapping],
    executable: str,
) -> list[CodePlace]:
    """Return places that the program reached between two readings of the counts, best first.

    `before` and `after` are copies of QEMU's table: address, bytes and count of each block. Blocks
    that begin inside another block are left out: the other block also runs them, uncounted.
    Repeated string instructions are left out because QEMU counts each repetition.
    """
    used = after[after["address"] != 0]
    order = np.argsort(used["address"])
    begins = used["address"][order].astype(np.int64)
    ends = begins + used["bytes"][order].astype(np.int64)
    inner = np.zeros(len(begins), dtype=bool)
    inner[1:] = np.maximum.accumulate(ends)[:-1] > begins[1:]
    overlapped = set(begins[inner].tolist())
    active = (after["count"] > before["count"]) & (after["count"] <= MAX_TIMES)
    rows = sorted(maps, key=lambda row: row.begin)
    starts = [row.begin for row in rows]
    main = os.path.realpath(executable)
    own = str(native_file("libnearfar_guest.so").resolve().parent)
    reachable = []
    for address, count in zip(after["address"][active], after["count"][active], strict=True):
        at = bisect.bisect(starts, int(address)) - 1
        if at < 0 or int(address) >= rows[at].end or int(address) in overlapped:
            continue
        place = CodePlace(
            rows[at].path, int(address) - rows[at].begin + rows[at].file_begin, int(count)
        )
        if not place.path.startswith(own) and not _is_repeated(place):
            reachable.append(place)
    return sorted(reachable, key=lambda place: (place.path != main, place.times))[:MAX_TRIES]


def _is_repeated(place: CodePlace) -> bool:
    """Return whether the instruction is a repeated string instruction, or cannot be read."""
    try:
        with Path(place.path).open("rb") as file:
            file.seek(place.offset)
            code = file.read(4)
    except OSError:
        return True
    rest = code[1:]
    if rest and 0x40 <= rest[0] <= 0x4F:
        rest = rest[1:]
    return len(code) < 4 or (code[0] in PREFIXES and rest[0] in STRING_CODES)


def time_to_place(
    place: CodePlace, job: Job, plain: Build, longest_s: float
) -> tuple[Estimate, float] | None:
    """Return CPU and wall time of the program up to `place`, ns; None if `place` is not reached.

    The run takes at most `longest_s`, with the part before --after.
    """
    with owned_folder("nearfar-run-", memory_folder()) as folder:
        control = Control.create(folder)
        result = folder / "reached"
        helper = native_file("nearfar_reach")
        words = [str(helper), place.path, str(place.offset), str(place.times), str(result)]
        words += [str(plain.executable), *job.command]
        limit = f"{longest_s:.1f} s"
        # All of the run is counted, so its limit includes the part before --after.
        bounded = replace(job, command=words, after_s=0.0, duration_s=longest_s, limit=limit)
        try:
            run_job(bounded, helper, plain.environment, folder)
        finally:
            control.close()
        if not result.exists():
            return None
        cpu_ns, stepping_ns, wall_ns = (float(word) for word in result.read_text().split())
    ends_ns = [max(0.0, cpu_ns - factor * stepping_ns) for factor in STOPS]
    return Estimate(*ends_ns), wall_ns * ends_ns[0] / cpu_ns if cpu_ns else wall_ns
