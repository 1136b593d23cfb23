"""Options of `profile`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from nearfar.options.option import Option
from nearfar.options.shared import DriverOptions, ProgramOptions


@dataclass(frozen=True, kw_only=True)
class ProfileOptions(DriverOptions, ProgramOptions):
    """Options of `profile`."""

    EXAMPLE: ClassVar[str] = "nearfar profile -o run.json -- PROGRAM ARGS"

    driver: str | None = None
    """Shell command that gives the program its work, such as a server's client: it starts with the
    program, and the program is stopped when it ends. NEARFAR_RUN_DIR and NEARFAR_PID in its
    environment let it mark phases with `nearfar mark` or nearfar.program.control."""
    output: Annotated[Path, Option(short="-o")] = Path("run.json")
    """File to write the profile to."""
    repetitions: int = 3
    """How often the plain build runs; near time is the median."""
    after: str = "0s"
    """Count only from this long after the start, such as 5s."""
    llc: str | None = None
    """Size of the last-level cache to simulate, such as 32MiB; by default this machine's."""
    near: Path | None = None
    """A device profile measured on this machine: it says how much last-level cache a core really
    gets, which in a virtual machine is less than the processor claims."""
    ways: int | None = None
    """Ways of the last-level cache; by default this machine's."""
    memory: str = "64MiB"
    """Size of the tables of one process."""
    size: Sequence[str] = ()
    """Size the program was run at, such as n=1e5, stored in the profile; repeat for several."""
    split: Literal["size"] | None = None
    """size: separate what one call stack allocates by the sizes of the blocks, by powers of two (a
    slab allocator's classes). Tags need no option: see NEARFAR_TAG in nearfar/mark.h."""
    phases: Literal["marked", "auto"] = "marked"
    """auto: detect phases by what is touched over time, where the program marks none."""
    plain: Path | None = None
    """A plain build of the program, if not the one it holds."""
    source: str | None = None
    """Where accesses come from. compiled: a program built by `nearfar cc`. counters: the
    processor's counters and address samples (PEBS, IBS), so this machine's own caches. qemu: any
    program, under Debian's qemu-user. Default: the first of these that is available."""
    sample: str | None = None
    """With qemu or counters: observe for this long; default 60s. Then the program goes on, which
    shows the share of its work that was observed; under QEMU it is stopped after four times as
    long."""
    sample_instructions: int | None = None
    """With qemu: observe everything up to the program's first mark and this many instructions
    after it, or after the start of a program without marks; the same counts in every run."""
    rate: int | None = None
    """With qemu: observe one cache line in this many; by default 64."""
    bursts: bool = False
    """Run the plain build again, under QEMU and for as long as --sample says, and record short
    series of accesses with their dependences, for the model `window`."""

    ends_s: Annotated[float | None, Option(position="none")] = None
    """Reading of the monotonic clock, s, by which all runs have ended."""
