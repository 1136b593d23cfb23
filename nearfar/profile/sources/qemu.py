"""Unmodified programs, under QEMU's user-mode emulator with a plugin that sees every access."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.units import format_ns
from nearfar.native_files import native_file
from nearfar.profile.sources import emulator
from nearfar.profile.sources.replay import Replay, ReplayFacts, sampled_shares
from nearfar.profile.sources.source import SourceReport
from nearfar.program.executable import Build
from nearfar.program.launch import Job, RunOutcome, run_job

REST_FACTOR = 4
"""A program that is not over when sampling is may run so many times longer, to tell which share of
its work was looked at; then it is stopped."""
PRELOAD = "LD_PRELOAD"


class QemuSource:
    """The emulator reports the program's accesses, a preloaded library its allocations."""

    name = "qemu"
    names_instructions = False

    def __init__(self, sample_s: float, rate_log2: int) -> None:
        """Look at the first `sample_s` seconds under the emulator, one line in 2^rate_log2."""
        self._emulator = emulator.find()
        self.compiler = f"unmodified, QEMU {self._emulator.version}"
        self._sample_s = sample_s
        self._rate_log2 = rate_log2

    def plain(self, executable: Path, given: Path | None, folder: Path) -> Build:
        """Return the program itself."""
        del folder
        return emulator.unmodified(executable, given, self.name)

    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run the plain build under the emulator."""
        del executable
        file = emulator.program_file(plain.executable)
        replay = Replay(folder, self._rate_log2, self._sample_s, file.is_static)
        if file.is_static and file.end:
            replay.tell_module(file.begin, file.end, plain.executable)
        environment = {k: v for k, v in plain.environment.items() if k != PRELOAD}
        watched = self._bounded(replace(job, command=self._command(job, plain)))
        with replay.running():
            outcome = run_job(watched, self._emulator.path, environment, folder)
        if replay.facts.replaced:
            raise CommandError(
                f"{job.command[0]} became another program (exec), which QEMU does not follow: name "
                "that program itself, with what the first would set up for it",
                ExitCode.PROGRAM_FAILED,
            )
        if not replay.facts.attached and not file.is_static:
            raise CommandError(
                f"{job.command[0]} {outcome.status} before nearfar's library was loaded into it: "
                "does it run without nearfar?",
                ExitCode.PROGRAM_FAILED,
            )
        cut_off = job.duration_s is None and job.driver is None and not outcome.finished
        caveats = self._caveats(replay.facts, file, outcome, cut_off)
        return outcome, SourceReport(sampled_shares(replay.facts), caveats=caveats)

    def _command(self, job: Job, plain: Build) -> list[str]:
        plugin = str(native_file("libnearfar_qemu.so"))
        mine = str(native_file("libnearfar_guest.so"))
        others = os.environ.get(PRELOAD)
        preloads = f"{mine}:{others}" if others else mine
        # QEMU splits options at commas, and knows no way to quote one in an environment.
        for text in (plugin, preloads):
            if "," in text:
                raise CommandError(f"QEMU cannot be given {text}: there is a comma in its path")
        words = [emulator.NAME, "-cpu", "max", "-plugin", plugin]
        words += ["-E", f"{PRELOAD}={preloads}", "-0", job.command[0], str(plain.executable)]
        return [*words, *job.command[1:]]

    def _bounded(self, job: Job) -> Job:
        if job.duration_s is not None or job.driver is not None:
            return job
        longest = self._sample_s * (1 + REST_FACTOR)
        return replace(job, duration_s=longest, limit=f"{longest:g} s, see --sample")

    def _caveats(
        self, facts: ReplayFacts, file: emulator.ProgramFile, outcome: RunOutcome, cut_off: bool
    ) -> list[str]:
        found = [
            f"the program was not rebuilt: it ran under QEMU {self._emulator.version}, which shows "
            "neither values nor how addresses come about, so all classes are opaque but for "
            "what advances from page to page; `nearfar cc` builds a profile that knows them"
        ]
        if "SIGILL" in outcome.status:
            found.append(
                f"QEMU {self._emulator.version} knows no AVX-512, which would end a program so: "
                "build it for a smaller processor (-march=x86-64-v3)"
            )
        if file.is_static:
            found.append(
                "the program is linked statically: what it allocates could not be seen, and is "
                "under 'unknown memory'; link it dynamically"
            )
        if facts.forks:
            found.append(
                f"{facts.forks} child processes were started and not followed: only the first "
                "process was counted, but near time is of all"
            )
        if not facts.sampled_to_the_end:
            part = sum(facts.sampled) / max(1, sum(facts.instructions))
            found.append(
                f"accesses were looked at for the first {format_ns(self._sample_s * 1e9)} under "
                f"QEMU, {part:.0%} of the instructions executed; near times and operations are "
                "of that part, by its instructions"
            )
        if cut_off:
            found.append(
                "the program was stopped before its end, so that share is not known: near times "
                "are too long for what was counted; give it less to do, or --sample longer"
            )
        return found
