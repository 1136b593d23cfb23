"""Runs of `nearfar-bench`'s sets, in rounds, for the study of the cost of persisting them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nearfar.base.errors import ExitCode, NearfarError
from nearfar_bench.memories import BenchMemory, find_memory
from nearfar_bench.native import find_kind, run

STRUCTURES = ("list", "hash", "skip")
VOLATILE, NO_FLUSH, DRAM, SYNCED, DISK = "volatile", "tmpfs,noflush", "tmpfs", "tmpfs,msync", "disk"
SAFE, UNLOGGED, PUBLISHED = "safe", "unlogged", "published"


@dataclass(frozen=True)
class SetPlan:
    """Planned runs: throughput over a fixed time, in rounds."""

    sizes: Sequence[int] = (256, 2048)
    """Initial numbers of keys. The first is that of the original benchmark, and the only one used
    on a disk. Creating a list with more than the second takes longer than timing it."""
    repeats: int = 10
    """Number of rounds, as published."""
    seconds: float = 0.1
    """Long enough for 50,000 operations in memory; the published runs took 10 s."""
    disk_seconds: float = 0.3


@dataclass(frozen=True)
class SetCase:
    """One set in one memory."""

    structure: str
    size: int
    memory: str
    safety: str = SAFE


@dataclass
class SetRuns:
    """Throughputs and counts of all rounds."""

    plan: SetPlan
    throughput: dict[SetCase, list[float]] = field(default_factory=dict)
    """Operations per second, by round."""
    counts: dict[SetCase, dict[str, float]] = field(default_factory=dict)
    """Counts per operation, for cases on `DRAM` with the first size."""
    changes: dict[SetCase, float] = field(default_factory=dict)
    """Share of operations that changed something."""
    sync_ns: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Time to make one line durable by msync, by memory: in the page synced last, and in a random
    page. On `SYNCED` this is the Linux kernel's own time."""
    lacking: str = ""
    """Why there is no disk here; empty: there is one."""

    def ns(self, case: SetCase) -> list[float]:
        """Return ns per operation of each round."""
        return [1e9 / each for each in self.throughput[case]]


def sets(plan: SetPlan, memories: Sequence[str]) -> SetRuns:
    """Time safe sets in `memories`, in rounds; raises the errors of `measure`."""
    _need_pools()
    runs = SetRuns(plan)
    places = {word: find_memory(word) for word in memories}
    for _ in range(plan.repeats):
        for structure in STRUCTURES:
            for size in plan.sizes:
                for word, place in places.items():
                    _time(runs, SetCase(structure, size, word), place)
    return runs


def measure(plan: SetPlan) -> SetRuns:
    """Run all cases in rounds; raises NearfarError with `MACHINE_LACKS` without pools."""
    _need_pools()
    runs = SetRuns(plan)
    memories = {word: find_memory(word) for word in (VOLATILE, NO_FLUSH, DRAM, SYNCED)}
    try:
        memories[DISK] = find_memory(DISK)
    except NearfarError as error:
        if error.exit_code is not ExitCode.MACHINE_LACKS:
            raise
        runs.lacking = str(error)
    cases = _cases(plan, DISK in memories)
    for case in cases:
        if case.memory == DRAM and case.size == plan.sizes[0]:
            _count(runs, case, memories[DRAM])
    for _ in range(plan.repeats):
        for case in cases:
            _time(runs, case, memories[case.memory])
    for word in (SYNCED, DISK):
        if word in memories:
            runs.sync_ns[word] = _sync_ns(memories[word], plan.disk_seconds)
    return runs


def _need_pools() -> None:
    if find_kind("log").needs:
        raise NearfarError(
            "sets in pools need libpmem-dev and libpmemobj-dev, which were not installed when "
            "nearfar was built: run `make setup`",
            ExitCode.MACHINE_LACKS,
        )


def _cases(plan: SetPlan, with_disk: bool) -> list[SetCase]:
    cases = []
    first = plan.sizes[0]
    for structure in STRUCTURES:
        for size in plan.sizes:
            cases += [SetCase(structure, size, each) for each in (VOLATILE, NO_FLUSH, DRAM, SYNCED)]
            cases += [SetCase(structure, size, each, PUBLISHED) for each in (DRAM, SYNCED)]
        cases.append(SetCase(structure, first, DRAM, UNLOGGED))
        if with_disk:
            cases += [SetCase(structure, first, DISK, each) for each in (SAFE, UNLOGGED, PUBLISHED)]
    return cases


def _arguments(case: SetCase, plan: SetPlan) -> dict[str, str]:
    seconds = plan.disk_seconds if case.memory == DISK else plan.seconds
    return {
        "structure": case.structure,
        "initial": str(case.size),
        "safety": case.safety,
        "seconds": str(seconds),
    }


def _time(runs: SetRuns, case: SetCase, memory: BenchMemory) -> None:
    timed = run("intset", _arguments(case, runs.plan), memory, "time")
    if timed.operations == 0:
        raise NearfarError(
            f"a set on {case.memory} finished no operation in {runs.plan.disk_seconds} s: the "
            "disk is too slow or too busy for this study",
            ExitCode.MACHINE_LACKS,
        )
    runs.throughput.setdefault(case, []).append(timed.operations / timed.wall_ns * 1e9)
    runs.changes[case] = timed.notes.get("changes_share") or 0.0


def _count(runs: SetRuns, case: SetCase, memory: BenchMemory) -> None:
    # Counts depend on the operations alone: 20,000 make them precise to a few per mille.
    arguments = {**_arguments(case, runs.plan), "operations": "20000"}
    line = run("intset", arguments, memory, "count")
    runs.counts[case] = {name: n / line.operations for name, n in line.counts.items()}
    runs.changes[case] = line.notes.get("changes_share") or 0.0


def _sync_ns(memory: BenchMemory, seconds: float) -> tuple[float, float]:
    # An operation of either kind copies one line and syncs once.
    log_arguments = {"record": "8", "commit": "checksum", "pool_bytes": "1MiB"}
    block_arguments = {"block": "4KiB", "blocks": "1024"}
    same_page, random_page = (
        run(kind, {**arguments, "seconds": str(seconds)}, memory, "time")
        for kind, arguments in (("log", log_arguments), ("blocks", block_arguments))
    )
    return (
        same_page.wall_ns / max(same_page.operations, 1),
        random_page.wall_ns / max(random_page.operations, 1),
    )
