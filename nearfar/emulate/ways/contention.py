"""Contention: another core draws on memory meanwhile, and takes last-level cache with it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import ClassVar

from nearfar.contention.companion import start_load
from nearfar.contention.program_memory import program_memory
from nearfar.emulate.runs import plain_of, plain_run, times_of
from nearfar.emulate.way import WAYS, Say, Times, Wanted
from nearfar.profile.session import ProfileRequest

REGION_BYTES = 256 << 20
"""What the other core stores to: beyond any last-level cache's share of a core."""


@WAYS.register("contention")
class Contention:
    """Sequential stores of one other core: of what one core can do, what slows others most."""

    slows_down: ClassVar[bool] = False

    def lacks(self, wanted: Wanted, executable: Path) -> str:
        """Return why not."""
        del executable
        if wanted.placements:
            return "contention slows all memory: it cannot keep a plan's objects near"
        if len(wanted.machine.cpus) < 2:
            return "this process may use one core only"
        return ""

    def run(self, request: ProfileRequest, wanted: Wanted, say: Say) -> Times:
        """Run near, then beside a storing core."""
        *own, other = wanted.machine.cpus

        def stay() -> None:
            os.sched_setaffinity(0, own)

        place = program_memory("dram,pages=4k,load=store", wanted.machine)
        with tempfile.TemporaryDirectory(prefix="nearfar-plain-") as folder:
            build = plain_of(request, Path(folder))
            say("run 1 of 2: near")
            near = plain_run(request, build, stay)
            say("run 2 of 2: beside a core that stores")
            companion = start_load(place, other, REGION_BYTES)
            try:
                emulated = plain_run(request, build, stay, companion.working())
            finally:
                companion.end()
        said = f"one core (CPU {other}) stores to memory meanwhile, and takes last-level cache"
        return times_of(near, emulated, [said])
