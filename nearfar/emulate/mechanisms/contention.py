"""Contention: another core loads memory during the run and occupies last-level cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from nearfar.base.folders import owned_folder
from nearfar.contention.co_runner import start_load
from nearfar.contention.program_memory import STAND_IN, program_memory
from nearfar.emulate.mechanism import MECHANISMS, EmulationTarget, EmulationTimes, Say
from nearfar.emulate.runs import plain_build_of, run_plain, times_of
from nearfar.profile.session import ProfileRequest

REGION_BYTES = 256 << 20
"""Memory that the other core stores to: larger than any core's share of a last-level cache."""


@MECHANISMS.register("contention")
class Contention:
    """Sequential stores of another core, the access pattern that slows other cores most."""

    slows_down: ClassVar[bool] = False

    def missing(self, target: EmulationTarget, executable: Path) -> str:
        """Return why contention cannot be used; empty if it can."""
        del executable
        if target.placements:
            return "contention slows all memory: it cannot keep a plan's objects near"
        if len(target.machine.cpus) < 2:
            return "this process may use 1 CPU; 2 are needed"
        return ""

    def run(self, request: ProfileRequest, target: EmulationTarget, say: Say) -> EmulationTimes:
        """Run near, then with a storing core."""
        *program_cpus, other = target.machine.cpus

        def pin() -> None:
            os.sched_setaffinity(0, program_cpus)

        memory = program_memory(STAND_IN, target.machine)
        with owned_folder("nearfar-plain-", None) as folder:
            build = plain_build_of(request, folder)
            say("run 1 of 2: near")
            near = run_plain(request, build, pin)
            say("run 2 of 2: with a core that stores")
            co_runner = start_load(memory, other, REGION_BYTES)
            try:
                emulated = run_plain(request, build, pin, co_runner.working())
            finally:
                co_runner.end()
        caveat = f"CPU {other} stores to memory meanwhile, and takes last-level cache"
        return times_of(near, emulated, [caveat])
