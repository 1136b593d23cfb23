"""The source of unmodified programs that uses the processor's counters and sampled addresses."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.units import format_ns
from nearfar.machine.sysfs import Tree
from nearfar.options.profile import ProfileOptions
from nearfar.profile.sources import perf_events, pmu, qemu_user
from nearfar.profile.sources.pmu import CounterEvent
from nearfar.profile.sources.replay import Replay, sampled_shares
from nearfar.profile.sources.source import SOURCES, AccessSource, SourceReport, refuse_sampling
from nearfar.program.executable import HOW_TO_BUILD, Build, check_program, preload
from nearfar.program.launch import Job, RunOutcome, run_job

EVERY_LINE = 0
"""log2 of the sampling rate: a sampled address may be in any line, so all lines need an owner."""
MIN_SAMPLES = 1000
"""Samples with which shares of objects are within 3 % (95 % of a binomial)."""
MIN_ON_SHARE = 0.25
"""Share of time that an event must be counted for its scaled count to be reliable."""
PRELOAD = "LD_PRELOAD"

TryOpen = Callable[[CounterEvent, bool], int]


def missing_counters(tree: Tree, try_open: TryOpen = perf_events.try_open) -> str:
    """Return why counters cannot be used, as the end of a sentence; "" if they can."""
    paranoid = tree.number("proc/sys/kernel/perf_event_paranoid")
    if paranoid is None:
        return "the kernel was built without perf events"
    for event in pmu.COUNTED:
        error = try_open(event, False)
        if error in (errno.EACCES, errno.EPERM):
            return (
                f"the kernel lets only root count (perf_event_paranoid is {paranoid}: sudo sysctl "
                "kernel.perf_event_paranoid=2), or a container's seccomp filter forbids it"
            )
        if error and event.name in pmu.NEEDED:
            return (
                f"this machine does not count {event.name} for programs ({os.strerror(error)}); "
                "virtual machines often have no counters"
            )
    return ""


def missing_samples(tree: Tree) -> str:
    """Return why no addresses can be sampled; "" if they can."""
    event = pmu.sampled_event(tree)
    if event is None:
        return "the processor has neither PEBS' mem-loads nor IBS, which sample addresses"
    error = perf_events.try_open(event, True)
    return f"{event.name} cannot be sampled ({os.strerror(error)})" if error else ""


def usable(tree: Tree | None = None) -> bool:
    """Return whether this machine counts events and samples addresses."""
    machine = tree or Tree(Path("/"))
    if pmu.sampled_event(machine) is None:
        return False
    return not missing_counters(machine) and not missing_samples(machine)


@SOURCES.register("counters")
class CounterSource(AccessSource):
    """The processor counts and samples; a preloaded library reports allocations."""

    name = "counters"
    order = 2
    run_as = "counted"
    runs = "counted program"
    finer = ("", "", "run longer")
    counts_children = True
    compiler = "unmodified, counted by the processor"

    @classmethod
    def of(cls, options: ProfileOptions, sample_s: float) -> CounterSource:
        """Return the source with all events of this machine."""
        refuse_sampling(options, cls.name, "the processor chooses its samples")
        if options.source is not None and (options.llc or options.ways):
            raise CommandError(
                "--llc and --ways are for caches that are simulated: --source counters counts the "
                "misses of this machine's own"
            )
        return cls(sample_s)

    @classmethod
    def offer(cls, options: ProfileOptions, executable: Path, sample_s: float) -> str | None:
        """Say what counters do not report about a plain program."""
        del sample_s
        check_program(executable)
        if not usable():
            return None
        return (
            f"{Path(options.command[0]).name} is not instrumented: counting with the processor's "
            f"counters; for access classes and other caches, {HOW_TO_BUILD}"
        )

    def __init__(
        self,
        sample_s: float,
        counted: Sequence[CounterEvent] = (),
        sampled: CounterEvent | None = None,
    ) -> None:
        """Sample the first `sample_s` seconds; by default, all events of this machine."""
        self._sample_s = sample_s
        self._counted, self._sampled = list(counted), sampled
        self._missing: list[str] = []
        self._no_samples = ""
        if not counted and sampled is None:
            self._find_events(Tree(Path("/")))

    def _find_events(self, tree: Tree) -> None:
        """Set the events that this processor can count and sample; refuse if there are none."""
        if why := missing_counters(tree):
            raise CommandError(
                f"--source counters cannot be used: {why}; --source qemu needs none",
                ExitCode.MACHINE_LACKS,
            )
        failed = {event.name: perf_events.try_open(event, False) for event in pmu.COUNTED}
        self._counted = [event for event in pmu.COUNTED if not failed[event.name]]
        self._missing = [name for name, error in failed.items() if error]
        self._no_samples = missing_samples(tree)
        if not self._no_samples:
            self._sampled = pmu.sampled_event(tree)

    def plain(self, executable: Path, given: Path | None, folder: Path) -> Build:
        """Return the program itself."""
        del folder
        return qemu_user.unmodified(executable, given, self.name)

    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run the program with the library that reports its allocations."""
        del executable
        replay = Replay(folder, EVERY_LINE, self._sample_s, plain.executable)
        replay.runs_natively()
        environment = {**plain.environment, PRELOAD: preload("libnearfar_guest.so")}
        watch = perf_events.PerfWatch(self._counted, self._sampled, _cpus())
        try:
            with replay.running(first=watch.attach, last=watch.close):
                outcome = run_job(
                    replace(job), plain.executable, environment, folder, watch.open_in_child
                )
        finally:
            watch.close()
        facts = watch.facts()
        replay.check_attached(
            f"{job.command[0]} {outcome.status}",
            "a set-user-id program loads none; --source qemu runs it",
        )
        counts, time_shares = watch.counts(facts)
        seen = SourceReport(sampled_shares(replay.facts), counted=counts)
        seen.caveats = self._caveats(facts, time_shares, replay.is_static)
        if not replay.facts.sampled_to_the_end:
            seen.caveats.append(
                f"counted for the first {format_ns(self._sample_s * 1e9)}; near times and "
                "operations are of that part, by its instructions"
            )
        return outcome, seen

    def _caveats(
        self, facts: perf_events.PerfFacts, time_shares: dict[str, float], is_static: bool
    ) -> list[str]:
        caveats = [
            "misses are those of this machine's caches and prefetchers, shared with other "
            "processes; access classes are opaque, and there are no miss curves for other caches"
        ]
        if self._no_samples:
            caveats.append(f"{self._no_samples}: misses are counted by phase, but not by object")
        elif facts.addressed < MIN_SAMPLES:
            caveats.append(
                f"only {facts.addressed} samples had an address: shares of objects are rough; run "
                "longer"
            )
        if self._missing:
            caveats.append(f"the processor does not count {', '.join(self._missing)}")
        caveats += [_multiplexed(name, share) for name, share in time_shares.items() if share < 1]
        if facts.lost or facts.throttled:
            caveats.append(
                f"{facts.lost} samples were lost and sampling was throttled {facts.throttled} "
                "times: shares of objects may overstate quiet stretches"
            )
        if facts.broken:
            caveats.append(f"{facts.broken} bytes of samples could not be read")
        if facts.of_others:
            caveats.append(
                f"{facts.of_others} samples were of child processes: their misses count for "
                "objects of the first process"
            )
        if is_static:
            caveats.append(qemu_user.STATIC_CAVEAT)
        return caveats


def _cpus() -> list[int]:
    """Return the CPUs that a program may run on."""
    return sorted(os.sched_getaffinity(0))


def _multiplexed(name: str, share: float) -> str:
    if not share:
        return f"{name} was never counted, since other counters took its place: it is not known"
    much = ": too little to be reliable" if share < MIN_ON_SHARE else ", and is scaled up"
    return f"{name} took turns with other counters and was counted {share:.0%} of the time{much}"
