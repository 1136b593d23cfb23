"""Options of `measure`: of a whole measurement, and of one kernel alone."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nearfar.base.errors import CommandError
from nearfar.base.units import parse_size_bytes
from nearfar.options.option import Option, Options
from nearfar.options.shared import JsonOptions

MIN_LARGEST_BYTES = 64 << 10
"""Least value of --largest: four times the smallest region that is always measured."""


@dataclass(frozen=True, kw_only=True)
class MemoryOptions(Options):
    """The memory that is measured, and how long."""

    memory: Annotated[str, Option(position="first")] = "dram"
    """dram, node:N (a NUMA node), file:PATH (a temporary file in that folder), devdax:/dev/daxX.Y
    (a DAX device: its content is overwritten), hugetlb:2M|1G (reserved pages), model:NAME (a
    simulated memory: a library device, a profile's path, or random:SEED); paged memories, which
    nearfar sets up and takes down (with --yes): zram, zswap[:FILE], swap:FILE|DEVICE. core: this
    processor's core instead of a memory, about 40 s, into a machine profile. Options of a memory
    follow a comma: pages=4k|thp|2m|1g (only that page size; thp: transparent huge pages, 2m and 1g:
    reserved ones), load=none|read|store|copy (what another core does to the memory meanwhile),
    dax=require (refuse a file that has a page cache), algorithm=lz4 (of zram and zswap)."""
    seconds: float | None = None
    """Time for everything in s, shared among the parts (at least 3 rounds are made)."""
    repetitions: int | None = None
    """Make exactly this many rounds (at least 2), however long they take."""
    threads: int | None = None
    """Use at most this many cores (with --kernel: exactly this many, default 1)."""
    largest: str | None = None
    """Largest region, such as 256MiB. Default: 8 times the last-level cache, less where memory is
    short, more where DRAM only caches the memory (Memory Mode)."""
    spin: bool = True
    """Keep another core awake with a PAUSE loop while this one is timed alone."""
    seed: int = 1
    """Seed of a simulated memory's noise."""

    def check_options(self) -> None:
        """Refuse numbers with which nothing can be measured."""
        if self.seconds is not None and not (self.seconds > 0 and math.isfinite(self.seconds)):
            raise CommandError(f"--seconds must be a positive number, not {self.seconds:g}")
        if self.repetitions is not None and self.repetitions < 2:
            raise CommandError(
                "--repetitions must be at least 2: the noise floor compares the first half of them "
                "with the second"
            )
        if self.threads is not None and self.threads < 1:
            raise CommandError(f"--threads must be at least 1, not {self.threads}")
        if self.largest is not None and self.largest_bytes < MIN_LARGEST_BYTES:
            raise CommandError(f"--largest must be at least 64KiB, not {self.largest}")

    @property
    def largest_bytes(self) -> int:
        """Return --largest in bytes; 0 if it was not given."""
        return 0 if self.largest is None else parse_size_bytes(self.largest)


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(MemoryOptions):
    """Options of a whole measurement."""

    output: Annotated[Path | None, Option(short="-o")] = None
    """File to write the device profile to; default: NAME.json, or no file with --json. All
    samples go to NAME.samples.parquet next to it. With --self-test: the verdicts, as JSON."""
    plot: Path | None = None
    """Also draw the results to this .png, .svg or .pdf, or one picture of each kind to this
    folder."""
    samples: bool = True
    """Keep all samples next to the profile, while measuring (for --resume) and as Parquet."""
    quick: bool = False
    """Only what predictions read, with fewer regions, thread counts and loads; about 20 s."""
    name: str = ""
    """Name of the device in the profile: lower case, digits, dashes. Default: from MEMORY."""
    title: str = ""
    """One-line description of the device."""
    only: str | None = None
    """Measure only these, separated by commas: bandwidth, chains, idle, loaded, loaded-writes,
    mixture, writes; inference, instrument, protocols."""
    resume: bool = False
    """Continue an interrupted measurement of the same memory, machine and settings."""
    accept_noise: bool = False
    """Write the profile even if noise (A/A floor and clock drift) exceeds 50 %, which about doubles
    the intervals of predictions."""
    since: Path | None = None
    """An earlier profile of this memory: warn of values that changed by more than noise. Default:
    the output file before it is replaced."""

    def check_options(self) -> None:
        """Refuse a name that no device of the library could have."""
        if self.name and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise CommandError(
                f"--name {self.name!r} must be lower-case letters, digits and single dashes"
            )
        super().check_options()

    def parts(self) -> Sequence[str]:
        """Return the parts that --only names."""
        return tuple(word.strip() for word in self.only.split(",")) if self.only else ()


@dataclass(frozen=True, kw_only=True)
class KernelShape(Options):
    """One kernel and its shape."""

    kernel: str | None = None
    """Run only this kernel, print ns per access or GB/s and write nothing; `list` lists them."""
    chains: int = 1
    """Independent chains, 1 to 32; only for --kernel chains."""
    access: str = "64"
    """With --kernel: size of one access, such as 256 or 4KiB; for a chase, size of its blocks."""
    stride: str = "0"
    """With --kernel: distance of neighbouring accesses; 0: side by side."""
    window: str = "0"
    """With --kernel: random accesses stay in a window of this size, which moves through the region;
    0: the whole region."""
    read_share: str = ""
    """With --kernel mixed and similar ones: share of loads among the lines touched, such as 75% or
    0.75."""
    fence_every: int = 1
    """With --kernel persist-...: accesses between two fences."""
    each: bool = False
    """With --kernel: time every access separately and print percentiles."""
    isa: str = ""
    """With --kernel: sse2, avx2, avx512 or scalar instead of the kernel's fastest here."""


@dataclass(frozen=True, kw_only=True)
class KernelOptions(KernelShape, MemoryOptions):
    """Options of one kernel's measurement."""


@dataclass(frozen=True, kw_only=True)
class MeasureModes(JsonOptions):
    """Printed output, and the test of the instrument itself."""

    self_test: bool = False
    """Measure model:NAME, or simulated cores for `core`, and compare what is inferred with the
    truth; exit code 1 if anything inferred is wrong. Other options: -o, --json; --seconds (CPU
    time) for a memory, --seed for cores."""
    yes: bool = False
    """Set up a paged memory (zram, zswap, swap), as root; without it, only show what would be
    done."""
