"""Samples of a paged memory: rounds of faults and evictions in the worker's process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.terminate import end_with_parent
from nearfar.base.units import PAGE_BYTES, format_bytes
from nearfar.memories.paged.group import ControlGroup

AGAIN_FAULTS = 0.5
"""Expected faults of a walk at random, per page of the region."""
LIMIT_SWEEPS = 3
"""Sweeps at a limit in each round. In one of ten a written page takes three times as long (27 us
instead of 8 with zram on Linux 6.18). The value is the median of all; the range has nine in ten."""
MAX_KILLS = 3
"""Kills of the worker in a row from which swap or memory counts as full. The kernel kills now and
then at a limit where all pages are in use and an allocation of its own finds none quickly."""
_KERNEL_BYTES = 1 << 18
"""Room for the kernel's own allocations for the group, such as stacks of threads."""
_WRITTEN_S = 60.0
"""Time that a drive may take to write a region, at most."""


PageData = Literal["records", "noise", "words"]
"""Data of the pages (native/measure/paged.hpp)."""


@dataclass(frozen=True)
class PagePoint:
    """Settings of one sample, which is taken once a round."""

    data: PageData
    operation: Literal["read", "write"] = "read"
    in_order: bool = False
    threads: int = 1
    huge: bool = False
    at_limit: bool = False
    """Whether the group may hold a part of the region only: each fault sends a page away."""
    kept_share: float = 0.5
    """That part."""
    again: bool = False
    """Whether pages are touched at random, near ones too, instead of each page once."""


@dataclass
class PageSamples:
    """Samples of one point, in ns per page: one a round, or one for each sweep at a limit."""

    fault_ns: list[float] = field(default_factory=list)
    fault_cpu_ns: list[float] = field(default_factory=list)
    tails_ns: list[list[float]] = field(default_factory=list)
    evict_ns: list[float] = field(default_factory=list)
    evict_cpu_ns: list[float] = field(default_factory=list)
    compressed_share: list[float] = field(default_factory=list)
    compression_work: float | None = None
    """Work of a compressor on a page of the data, in places searched."""
    retouches: list[float] = field(default_factory=list)


class WorkerKilledError(NearfarError):
    """The kernel killed the worker."""


class WorkerProcess:
    """The worker in its control group, as seen from here."""

    def __init__(self, group: ControlGroup) -> None:
        self._group = group
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        this = os.getpid()

        def before_exec() -> None:
            end_with_parent(this)
            self._group.join()

        return subprocess.Popen(
            [sys.executable, "-m", "nearfar.measure.paged.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=before_exec,  # noqa: PLW1509 - no other thread holds a lock that this needs
        )

    def start_again(self) -> None:
        """Start a new process without a region; the group has no limit."""
        self.end()
        self._group.limit(None)
        self._process = self._start()

    def end(self) -> None:
        """Kill the process, if there is one, and wait for its end."""
        self._process.kill()
        self._process.communicate()

    def ask(self, do: str, **request: object) -> dict[str, Any]:
        """Return the worker's answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        return json.loads(line)  # type: ignore[no-any-return]

    def _ended(self) -> NearfarError:
        code = self._process.wait()
        killed = code == -signal.SIGKILL
        why = "was killed: swap or memory is full" if killed else f"ended with {code}"
        return (WorkerKilledError if killed else NearfarError)(
            f"cannot measure this memory: the process whose pages are swapped {why}; choose a "
            "smaller --largest",
            ExitCode.MACHINE_LACKS,
        )


@contextmanager
def worker_in(group: ControlGroup) -> Iterator[WorkerProcess]:
    """Yield a worker in `group`; it has ended afterwards."""
    worker = WorkerProcess(group)
    try:
        yield worker
    finally:
        worker.end()


@dataclass
class PageSampler:
    """One region; it is filled again where a point needs other content."""

    worker: WorkerProcess
    group: ControlGroup
    size_bytes: int
    cpus: list[int]
    zram: str = ""
    """Folder of the zram device in sysfs; empty: another kind."""
    _region_content: tuple[PageData, bool] | None = None
    _work: float = 0.0
    _seed: int = 0

    def sample(self, point: PagePoint, into: PageSamples) -> None:
        """Take one sample of `point`, again where the kernel killed the worker.

        Errors: the worker was killed `MAX_KILLS` times in a row.
        """
        for kill in range(1, MAX_KILLS + 1):
            try:
                self._sample(point, into)
                break
            except WorkerKilledError:
                if kill == MAX_KILLS:
                    raise
                self.worker.start_again()
                self._region_content = None

    def _sample(self, point: PagePoint, into: PageSamples) -> None:
        self._seed += 1
        if point.huge or self._region_content != (point.data, point.huge):
            self.group.limit(None)
            made = self.worker.ask(
                "make",
                size_bytes=self.size_bytes,
                huge=point.huge,
                data=point.data,
                seed=self._seed,
            )
            self._region_content, self._work = (point.data, point.huge), float(made["work"])
        into.compression_work = self._work
        if point.at_limit:
            self._sample_at_limit(point, into)
            return
        if not point.huge:
            # Bring the pages back in this way first; their eviction is timed next.
            self._touch(point)
        before = self._zram_bytes()
        evicted = self.worker.ask("evict")
        after = self._zram_bytes()
        if after[0] > before[0]:
            # Incompressible pages are stored whole, and the kernel may store others meanwhile.
            share = (after[1] - before[1]) / (after[0] - before[0])
            into.compressed_share.append(min(share, 1.0))
        if evicted["pages"]:
            into.evict_ns.append(evicted["wall_ns"] / evicted["pages"])
            into.evict_cpu_ns.append(evicted["cpu_ns"] / evicted["pages"])
        self._wait_until_evicted()
        _add(into, self._touch(point))

    def _sample_at_limit(self, point: PagePoint, into: PageSamples) -> None:
        """Touch the region while only a part of it fits: a fault brings a page and evicts one."""
        if point.again:
            self._touch(point)  # all are near
            near = self._touch_again(point)
        self._wait_until_evicted()
        kept = int(point.kept_share * self.size_bytes)
        self.group.limit(self.group.counts().used_bytes + kept + _KERNEL_BYTES)
        try:
            if point.again:
                self._touch_again(point)  # until the kernel's page lists have settled
                _add_random(into, self._touch_again(point), near)
                return
            self._touch(point)  # fills the near part
            for _ in range(LIMIT_SWEEPS):
                _add(into, self._touch(point), by_fault=True)
        finally:
            self.group.limit(None)

    def _touch(self, point: PagePoint) -> dict[str, Any]:
        self._seed += 1
        return self.worker.ask(
            "touch",
            cpus=self.cpus[: point.threads],
            write=point.operation == "write",
            in_order=point.in_order,
            seed=self._seed,
        )

    def _touch_again(self, point: PagePoint) -> dict[str, Any]:
        self._seed += 1
        pages = self.size_bytes // PAGE_BYTES
        count = round(AGAIN_FAULTS * pages / (1.0 - point.kept_share))
        return self.worker.ask("touch again", cpu=self.cpus[0], count=count, seed=self._seed)

    def _wait_until_evicted(self) -> None:
        """Wait until no page is in main memory: pages on a drive are written first, then freed."""
        begun = time.monotonic()
        while left := self.worker.ask("resident")["pages"]:
            if time.monotonic() - begun > _WRITTEN_S:
                size = format_bytes(left * PAGE_BYTES)
                raise NearfarError(
                    f"cannot measure this memory: {size} do not leave main memory: swap is full "
                    "or too slow; choose a smaller --largest",
                    ExitCode.MACHINE_LACKS,
                )
            self.group.counts()  # makes Linux sum its statistics, else done every two seconds
            self.group.send_away()
            time.sleep(0.002)

    def _zram_bytes(self) -> tuple[int, int]:
        """Return the bytes of pages in zram, uncompressed and compressed; 0, 0 without zram."""
        if not self.zram:
            return 0, 0
        words = (Path(self.zram) / "mm_stat").read_text().split()
        return int(words[0]), int(words[1])


def _add_random(into: PageSamples, seen: dict[str, Any], near: dict[str, Any]) -> None:
    """Add the time of faults in excess of the same touches with all pages near.

    Random touches are spread evenly over distances, so half of the touches of near pages have a
    distance of more than half of the near memory.
    """
    faults = max(seen["major"], 1)
    into.fault_ns.append(max(seen["wall_ns"] - near["wall_ns"], 0.0) / faults)
    into.fault_cpu_ns.append(max(seen["cpu_ns"] - near["cpu_ns"], 0.0) / faults)
    into.retouches.append((seen["pages"] - faults) / faults / 2)


def _add(into: PageSamples, seen: dict[str, Any], *, by_fault: bool = False) -> None:
    # Read-ahead brings pages without a fault, so time is divided among all pages that were away.
    pages = max(seen["major"], 1) if by_fault else seen["pages"]
    into.fault_ns.append(seen["wall_ns"] / pages)
    into.fault_cpu_ns.append(seen["cpu_ns"] / pages)
    into.tails_ns.append(seen["tails_ns"])
