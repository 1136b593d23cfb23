"""Running a program with a limit of its memory; the kernel compresses or swaps the rest."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.base.folders import memory_folder, owned_folder
from nearfar.base.units import PAGE_BYTES, format_bytes, parse_size_bytes
from nearfar.documents import producer
from nearfar.documents.run_record import PagedRun, PagedRunPhase, RunMemory, RunRecord
from nearfar.machine.sysfs import Tree
from nearfar.memories.paged import set_up
from nearfar.memories.paged.group import (
    ControlGroup,
    GroupCounts,
    GroupParent,
    find_group_parent,
    make_group,
)
from nearfar.memories.paged.keeper import Keeper, Way, kept
from nearfar.memories.paged.ledger import Ledger, open_ledger
from nearfar.memories.spec import PAGED, MemorySpec, parse_spec
from nearfar.options.run import RunOptions
from nearfar.program.control import Control
from nearfar.program.executable import check_program, find_executable
from nearfar.program.launch import Job, RunOutcome, run_job
from nearfar.run.launch import plain_program
from nearfar.run.paged_watch import PagedWatch

MIN_BUDGET_BYTES = 1 << 20
"""Least limit: a process needs its stack, its libraries' data and page tables at once."""
_ROOM = 1.25
"""Ratio of swap to a program's peak: slots of pages that came back may still be occupied."""


class LimitedGroup:
    """A group with a limit; `counts` and `swap_outs` are final once `finish` was called."""

    def __init__(self, group: ControlGroup, keeper: Keeper) -> None:
        self.group, self.keeper = group, keeper
        self.counts = GroupCounts(0, 0, 0, 0, 0, 0)
        self.swap_outs = _swap_outs()
        self._finished = False

    def finish(self) -> None:
        """Read the counts at the end of the program, and remove the limit; do so once."""
        if self._finished:
            return
        self._finished = True
        self.counts = self.group.counts()
        self.swap_outs = _swap_outs() - self.swap_outs
        self.group.limit(None)


@contextlib.contextmanager
def limited_group(
    ledger: Ledger, place: GroupParent, budget_bytes: int | None, *, way: Way = "kernel"
) -> Iterator[LimitedGroup]:
    """Make a group with this limit (None: none); swap is there already."""
    group = make_group(ledger, place)
    with contextlib.ExitStack() as stack:
        keeper = Keeper()
        if budget_bytes is not None:
            keeper = stack.enter_context(kept(group, budget_bytes, way))
        limited = LimitedGroup(group, keeper)
        yield limited
        limited.finish()


@dataclass(frozen=True)
class PagedOutcome:
    """A run in a group, and the group's counts at its end."""

    ended: RunOutcome
    limited: LimitedGroup
    phases: list[PagedRunPhase]

    @property
    def peak_bytes(self) -> int:
        """Most memory of the program, bytes: the smaller of two peaks, each of which may be high.

        The process's peak starts at that of nearfar, from which it was forked. The group's peak
        includes files that the program read, and is 0 if the kernel does not keep it.
        """
        counted = self.limited.counts.peak_bytes
        return min(self.ended.peak_bytes, counted or self.ended.peak_bytes)


@dataclass(frozen=True)
class PagedLimit:
    """Limit of a program's memory, and where the rest goes."""

    spec: MemorySpec
    algorithm: str
    budget_bytes: int


def far_spec(options: RunOptions) -> MemorySpec:
    """Return the paged memory of `options`."""
    spec = parse_spec(options.far or "", paged=True)
    if spec.kind not in PAGED:
        raise CommandError(
            f"--far {options.far} is no paged memory: run PLAN --map far={options.far} puts data "
            "there; --far is zram, zswap[:FILE] or swap:FILE|DEVICE"
        )
    return spec


def near_share(near: str) -> float | None:
    """Return the share that `near` names, None if it names a size; refuse anything else."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", near)
    if match is None:
        if (size := parse_size_bytes(near)) < MIN_BUDGET_BYTES:
            raise CommandError(
                f"--near {near} is below the least of any program: {format_bytes(size)} of at "
                f"least {format_bytes(MIN_BUDGET_BYTES)}"
            )
        return None
    share = float(match[1]) / 100
    if not 0 < share <= 1:
        raise CommandError(f"--near {near} must be more than 0 and at most 100 %")
    return share


def dry_run(options: RunOptions) -> list[str]:
    """Return what a run would do to this machine, as commands; refuse what it cannot."""
    spec, place = far_spec(options), find_group_parent()
    share = near_share(options.near or "")
    first = [f"{' '.join(options.program)}  # without a limit, for its peak"]
    limit = options.near or "" if share is None else f"{share:.0%} of the peak"
    lines = limited_commands(spec, place, limit, options.program, most_bytes())
    return [*first, *lines] if share is not None else lines


def limited_commands(
    spec: MemorySpec, place: GroupParent, limit: str, program: Sequence[str], swap_bytes: int
) -> list[str]:
    """Return the commands that set up swap and a limit for `program`; refuse what is impossible."""
    set_up.check(spec, swap_bytes)
    group = place.parent / "nearfar-PID-0"
    return [
        *set_up.command_lines(spec, swap_bytes),
        f"mkdir {group}",
        f"echo {limit} > {group / place.limit}",
        f"{' '.join(program)}  # in the group",
        f"rmdir {group}  # at the end",
    ]


def most_bytes() -> int:
    """Return the size of swap for a program whose peak is not known: half of what is available."""
    available = Tree(Path("/")).table("proc/meminfo").get("MemAvailable", "0 kB").split()[0]
    return (int(available) << 10) // 2 // PAGE_BYTES * PAGE_BYTES


def run_paged(options: RunOptions, job: Job, say: Callable[[str], None]) -> RunRecord:
    """Run `job` with at most --near of its memory in main memory."""
    if not options.yes:
        raise CommandError("--far changes this machine's swap for the run: add --yes")
    spec, share, place = far_spec(options), near_share(options.near or ""), find_group_parent()
    executable = find_executable(job.command[0])
    check_program(executable)
    room = most_bytes()
    set_up.check(spec, room if share is None else PAGE_BYTES)
    with owned_folder("nearfar-plain-", None) as twins, open_ledger() as ledger:
        executable, environment = plain_program(executable, twins, say)
        full = None
        budget = 0 if share is not None else parse_size_bytes(options.near or "")
        if share is not None:
            say("runs it without a limit first, for its peak")
            full = _run_without_limit(ledger, place, job, executable, environment)
            budget = round(share * full.peak_bytes) // PAGE_BYTES * PAGE_BYTES
            room = round(_ROOM * full.peak_bytes) // PAGE_BYTES * PAGE_BYTES
            if budget < MIN_BUDGET_BYTES:
                raise CommandError(
                    f"--near {options.near} of the program's {format_bytes(full.peak_bytes)} "
                    f"is below the least of any program, {format_bytes(MIN_BUDGET_BYTES)}"
                )
        swap = set_up.set_up(ledger, spec, room)
        say(f"limits its memory to {format_bytes(budget)}")
        run = run_limited(ledger, place, budget, job, executable, environment=environment)
    limit = PagedLimit(spec, swap.algorithm, budget)
    return _record(limit, run, full, command=list(job.command), executable=executable)


def _run_without_limit(
    ledger: Ledger, place: GroupParent, job: Job, executable: Path, environment: Mapping[str, str]
) -> PagedOutcome:
    full = run_limited(ledger, place, None, job, executable, environment=environment)
    if full.ended.failed:
        raise NearfarError(
            f"the program {full.ended.status} without a limit, so its peak is not known: name "
            "--near in bytes, such as 300MiB",
            ExitCode.PROGRAM_FAILED,
        )
    return full


def run_limited(
    ledger: Ledger,
    place: GroupParent,
    budget_bytes: int | None,
    job: Job,
    executable: Path,
    *,
    environment: Mapping[str, str] | None = None,
    way: Way = "kernel",
) -> PagedOutcome:
    """Run `job` in a new group with this limit (None: none); swap is there already."""
    variables = dict(os.environ if environment is None else environment)
    with contextlib.ExitStack() as stack:
        limited = stack.enter_context(limited_group(ledger, place, budget_bytes, way=way))
        folder = stack.enter_context(owned_folder("nearfar-run-", memory_folder()))
        control = stack.enter_context(contextlib.closing(Control.create(folder)))
        watch = PagedWatch(control, limited.group)
        watch.start(dict)
        try:
            ended = run_job(job, executable, variables, folder, in_child=limited.group.join)
        finally:
            watch.close()
    return PagedOutcome(ended, limited, watch.phases)


def _swap_outs() -> int:
    text = Tree(Path("/")).text("proc/vmstat") or ""
    match = re.search(r"^pswpout ([0-9]+)$", text, re.MULTILINE)
    return int(match[1]) if match else 0


def _record(
    limit: PagedLimit,
    run: PagedOutcome,
    full: PagedOutcome | None,
    *,
    command: list[str],
    executable: Path,
) -> RunRecord:
    ended = run.ended
    return RunRecord(
        producer=producer(),
        plan="",
        policy="paged",
        command=command,
        executable=str(executable),
        exit_status=ended.status,
        wall_time_ns=ended.wall_ns,
        cpu_time_ns=ended.cpu_ns,
        allocator="the program's",
        memories=[
            RunMemory(name="near", device="", spec="dram"),
            RunMemory(name="far", device="", spec=str(limit.spec)),
        ],
        objects=[],
        pages_by_memory={},
        recognised_share_of_profile=None,
        recognised_share_of_heap=None,
        heap_bytes=0,
        out_of_sight_bytes=0,
        fallback_bytes=0,
        pictures=0,
        processes=0,
        warnings=limit_warnings(limit, run.limited.counts),
        paged=PagedRun(
            **limit_counts(limit, run.limited),
            full_bytes=None if full is None else full.peak_bytes,
            full_wall_time_ns=None if full is None else full.ended.wall_ns,
            phases=run.phases,
        ),
    )


def limit_warnings(limit: PagedLimit, counts: GroupCounts) -> list[str]:
    """Return a sentence where the kernel ended the program."""
    if not counts.killed:
        return []
    return [
        f"the kernel ended {counts.killed} of the program's processes: "
        f"{format_bytes(limit.budget_bytes)} are below what it needs at once (locked or in "
        "use), or swap was full; choose a larger --near, or plan with a larger budget"
    ]


class LimitCounts(TypedDict):
    """Fields of a `PagedRun` that are a group's counts."""

    budget_bytes: int
    algorithm: str
    major_faults: int
    swap_ins: int
    swap_outs: int
    peak_bytes: int
    reliefs: int
    killed: int


def limit_counts(limit: PagedLimit, limited: LimitedGroup) -> LimitCounts:
    """Return the counts of a group as fields of a `PagedRun`."""
    counts = limited.counts
    return LimitCounts(
        budget_bytes=limit.budget_bytes,
        algorithm=limit.algorithm,
        major_faults=counts.major_faults,
        swap_ins=counts.swap_ins,
        swap_outs=limited.swap_outs,
        peak_bytes=counts.peak_bytes,
        reliefs=limited.keeper.reliefs,
        killed=counts.killed,
    )
