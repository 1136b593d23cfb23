"""The source of unmodified programs that run under QEMU with a plugin that reports accesses."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.units import format_ns
from nearfar.native_files import native_file
from nearfar.options.profile import ProfileOptions
from nearfar.profile.deadline import LEAST_SLOWDOWN, START_S, RunDeadline
from nearfar.profile.sources import qemu_user
from nearfar.profile.sources.replay import Replay, sampled_shares
from nearfar.profile.sources.sampled_end import SampledEnd, TimedPart
from nearfar.profile.sources.source import SOURCES, AccessSource, SourceReport
from nearfar.program.executable import HOW_TO_BUILD, Build, check_program, preload
from nearfar.program.language_runtimes import GO_HEAP, runs_other_code
from nearfar.program.launch import Job, RunOutcome, run_job

REST_FACTOR = 4
"""After sampling, a program may run on for so many times the sampled time, which shows which share
of its work was sampled; then it is stopped. With a deadline, the whole run is sampled."""
PRELOAD = "LD_PRELOAD"
OF_THE_REST = (
    "intervals of slowdown allow for all or none of the remaining time being spent waiting for "
    "memory; they are narrower with more time for sampling"
)
BACKGROUND = "the program went on in the background"
"""Beginning of the caveat of a program that left processes, which nearfar ended."""

DEFAULT_RATE = 64
"""Default sampling rate: one line of every page, as for `nearfar cc`."""
MAX_RATE = 4096
"""Largest sampling rate: beyond, even a program of many gigabytes has too few sampled lines."""


@SOURCES.register("qemu")
class QemuSource(AccessSource):
    """QEMU reports the program's accesses; a preloaded library its allocations."""

    name = "qemu"
    order = 3
    run_as = "under qemu"
    runs = "program under QEMU"
    finer = ("give a smaller --rate", "; --rate 1 sees every line", "give a smaller --rate")
    times_parts = True
    how_to_get = f"install QEMU to profile it as it is ({qemu_user.HOW_TO_INSTALL})"

    @classmethod
    def of(cls, options: ProfileOptions, sample_s: float) -> QemuSource:
        """Return the source with the sampling that --rate and --sample-instructions ask for."""
        instructions, rate = options.sample_instructions, options.rate
        if instructions is not None and instructions < 1:
            raise CommandError(f"--sample-instructions must be at least 1, not {instructions}")
        rate = DEFAULT_RATE if rate is None else rate
        if not 1 <= rate <= MAX_RATE or rate & (rate - 1):
            raise CommandError(f"--rate must be a power of two from 1 to {MAX_RATE}, not {rate}")
        return cls(sample_s, rate.bit_length() - 1, instructions or 0)

    @classmethod
    def offer(cls, options: ProfileOptions, executable: Path, sample_s: float) -> str | None:
        """Return a sentence on how much of a plain program is sampled; None without QEMU."""
        check_program(executable)
        if not qemu_user.installed():
            return None
        name = Path(options.command[0]).name
        # With a deadline, the sampled time is known only after the plain run.
        first = "" if options.ends_s is not None else f"first {sample_s:g} s "
        if runs_other_code(executable):
            return f"sampling the {first}of {name} under QEMU" if first else ""
        return (
            f"{name} is not instrumented: sampling {f'its {first}' if first else 'it '}under QEMU; "
            f"for all of it, faster, {HOW_TO_BUILD}"
        )

    def __init__(self, sample_s: float, rate_log2: int, instructions: int = 0) -> None:
        """Sample the first `sample_s` seconds under QEMU, one line in 2^rate_log2.

        If `instructions` is not 0, sampling also ends after so many instructions from the program's
        first mark, or from its start if its own file has no marks. After sampling the program may
        run on for `REST_FACTOR` times as long.
        """
        self._qemu = qemu_user.find()
        self.compiler = f"unmodified, QEMU {self._qemu.version}"
        self._sample_s = sample_s
        self._deadline: RunDeadline | None = None
        self.rate_log2 = rate_log2
        self.instructions = instructions
        self._from_start = False

    def plain(self, executable: Path, given: Path | None, folder: Path) -> Build:
        """Return the program itself."""
        del folder
        return qemu_user.unmodified(executable, given, self.name)

    def within(self, deadline: RunDeadline, job: Job, by_itself: RunOutcome) -> QemuSource:
        """Return the source that samples for as long as there is time."""
        source = copy.copy(self)
        source._deadline = deadline
        if job.ends_itself:
            plain_s = by_itself.wall_ns / 1e9 if by_itself.finished else None
            source._sample_s = deadline.sample_s(plain_s)
            source.how_long = f" for at most {source._sample_s:.0f} s"
        else:
            source._sample_s = deadline.counted_s()
        return source

    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run the plain build under QEMU."""
        del executable
        if self.instructions:
            self._from_start = not qemu_user.marks_phases(plain.executable)
        replay = Replay(
            folder,
            self.rate_log2,
            self._sample_s,
            plain.executable,
            self.instructions,
            from_start=self._from_start,
        )
        environment = {k: v for k, v in plain.environment.items() if k != PRELOAD}
        watched = self._bounded(replace(job, command=self._command(job, plain)))
        end = SampledEnd(folder, self._sample_s)
        with replay.running(), end.watching(replay.sampled_instructions):
            outcome = run_job(watched, self._qemu.path, environment, folder, end.note_process)
        if replay.facts.replaced:
            raise CommandError(
                f"{job.command[0]} replaced itself with another program (exec), which QEMU does "
                "not follow: run that program itself, with the same environment",
                ExitCode.PROGRAM_FAILED,
            )
        replay.check_attached(f"{job.command[0]} {outcome.status}", "does it run without nearfar?")
        cut_off = job.ends_itself and not outcome.finished
        if cut_off:  # a crash now may be QEMU's: Ruby's handler of SIGTERM crashes under QEMU
            outcome = replace(outcome, failed=False)
        timed = None
        sampled = [count for count in replay.facts.sampled if count]
        if cut_off and len(sampled) == 1:
            timed = end.time_part(job, plain, sampled[0], self._longest_part_s)
        caveats = self._caveats(replay, outcome, cut_off, timed)
        return outcome, SourceReport(
            sampled_shares(replay.facts),
            caveats=caveats,
            timed=timed,
            share_known=timed is not None or not cut_off,
            part_was_chosen=self.instructions > 0,
        )

    def _command(self, job: Job, plain: Build) -> list[str]:
        plugin = str(native_file("libnearfar_qemu.so"))
        preloads = preload("libnearfar_guest.so")
        # QEMU splits options at commas, which cannot be quoted.
        for text in (plugin, preloads):
            if "," in text:
                raise CommandError(
                    f"the path {text} has a comma, which QEMU's options cannot hold: install "
                    "nearfar elsewhere"
                )
        words = [qemu_user.NAME, "-cpu", "max", "-plugin", plugin]
        words += ["-E", f"{PRELOAD}={preloads}", "-0", job.command[0], str(plain.executable)]
        return [*words, *job.command[1:]]

    def _bounded(self, job: Job) -> Job:
        if not job.ends_itself:
            return job
        if self._deadline is not None:
            longest = START_S + self._sample_s
            return job.ending_after(longest, f"{longest:.1f} s, see --time")
        longest = START_S + self._sample_s * (1 + REST_FACTOR)
        return replace(job, duration_s=longest, limit=f"{longest:g} s, see --sample")

    def _longest_part_s(self, tries: int) -> float:
        """Return how long a native run of the sampled part may take, with `tries` left."""
        if self._deadline is not None:
            return self._deadline.part_s(tries)
        return START_S + self._sample_s / LEAST_SLOWDOWN

    def _caveats(
        self, replay: Replay, outcome: RunOutcome, cut_off: bool, timed: TimedPart | None
    ) -> list[str]:
        facts = replay.facts
        known = "" if replay.runs_other_code else "; build with `nearfar cc` to know them"
        caveats = []
        if timed is not None:
            caveats.append(
                f"only the first {format_ns(timed.cpu_ns.value)} of the program's CPU time were "
                f"sampled, in {format_ns(self._sample_s * 1e9)} under QEMU: times are of that "
                f"part; {OF_THE_REST}"
            )
        caveats += [
            f"the program was not rebuilt: it ran under QEMU {self._qemu.version}, which "
            "reports no values or address dependences, so all access classes are opaque except "
            f"sequences from page to page{known}"
        ]
        if "SIGILL" in outcome.status:
            caveats.append(
                f"QEMU {self._qemu.version} has no AVX-512, which may have caused SIGILL: "
                "build the program without it (-march=x86-64-v3)"
            )
        if replay.is_static and replay.own_memory != GO_HEAP:
            caveats.append(
                f"the program is linked statically: its allocations could not be seen and are "
                f"under '{replay.own_memory}'; link it dynamically"
            )
        if facts.forks:
            caveats.append(_about_children(facts.forks, outcome))
        if timed is None and not facts.sampled_to_the_end:
            part = sum(facts.sampled) / max(1, sum(facts.instructions))
            sampled = f"{format_ns(self._sample_s * 1e9)} under QEMU"
            if self.instructions:
                since = "" if self._from_start else " after the first mark"
                sampled = f"{self.instructions} instructions{since}"
            caveats.append(
                f"accesses were sampled in the first {sampled}, {part:.0%} of the instructions "
                "executed; near times and operations are scaled to that share"
                + ("" if self.instructions else f"; {OF_THE_REST}")
            )
        if cut_off and timed is None:
            caveats.append(
                "the program was stopped before its end, so the sampled share is not known and "
                "near times are too long for the counts; give it less work, or a longer --sample"
            )
        return caveats


def _about_children(forks: int, outcome: RunOutcome) -> str:
    started = "1 child process was" if forks == 1 else f"{forks} child processes were"
    text = f"{started} started and not counted: misses are those of the first process, near time "
    text += "that of all"
    if outcome.outlived:
        text = f"{BACKGROUND}, where nothing was counted; {text}"
    return text
