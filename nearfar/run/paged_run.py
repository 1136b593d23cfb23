"""Running a program with its memory limited, and compressed or swapped memory for the rest."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.base.folders import memory_folder, owned_folder
from nearfar.base.units import PAGE_BYTES, format_bytes, parse_size_bytes
from nearfar.documents import producer
from nearfar.documents.run_record import PagedRun, RunMemory, RunRecord
from nearfar.machine.sysfs import Tree
from nearfar.memories.paged import set_up
from nearfar.memories.paged.group import Group, GroupCounts, Place, find_place, make_group
from nearfar.memories.paged.keeper import Keeper, kept
from nearfar.memories.paged.ledger import Ledger, open_ledger
from nearfar.memories.spec import PAGED, MemorySpec, parse_spec
from nearfar.options.run import RunOptions
from nearfar.program.control import Control
from nearfar.program.executable import check_program, find_executable
from nearfar.program.launch import Job, RunOutcome, run_job

MIN_BUDGET_BYTES = 1 << 20
"""Least limit: a process needs its stack, its libraries' data and page tables at once."""
_ROOM = 1.25
"""Swap over a program's peak: slots of pages that came back may still be taken."""


@dataclass(frozen=True)
class PagedOutcome:
    """A run in a group, and the group's counts at its end."""

    ended: RunOutcome
    counts: GroupCounts
    swap_outs: int
    reliefs: int

    @property
    def peak_bytes(self) -> int:
        """Most memory of the program.

        A process's peak begins at that of nearfar, which it was forked from; the group's has files
        that the program read, and is 0 where the kernel does not keep it.
        """
        return min(self.ended.peak_bytes, self.counts.peak_bytes or self.ended.peak_bytes)


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
    """Return the share that `near` names, None for a size; refuse what is neither."""
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
    spec, place = far_spec(options), find_place()
    share = near_share(options.near or "")
    room = _most_bytes()
    set_up.check(spec, room)
    group = place.parent / "nearfar-PID-0"
    first = [f"{' '.join(options.program)}  # without a limit, for its peak"]
    limit = options.near if share is None else f"{share:.0%} of the peak"
    return [
        *(first if share is not None else []),
        *set_up.shown(spec, room),
        f"mkdir {group}",
        f"echo {limit} > {group / place.limit}",
        f"{' '.join(options.program)}  # in the group",
        f"rmdir {group}  # at the end",
    ]


def _most_bytes() -> int:
    """Return the size of swap for a program whose peak is not known: half of what is available."""
    available = Tree(Path("/")).table("proc/meminfo").get("MemAvailable", "0 kB").split()[0]
    return (int(available) << 10) // 2 // PAGE_BYTES * PAGE_BYTES


def run_paged(options: RunOptions, job: Job, say: Callable[[str], None]) -> RunRecord:
    """Run `job` with at most --near of its memory in main memory."""
    if not options.yes:
        raise CommandError("--far changes this machine's swap for the run: add --yes")
    spec, share, place = far_spec(options), near_share(options.near or ""), find_place()
    executable = find_executable(job.command[0])
    check_program(executable)
    room = _most_bytes()
    set_up.check(spec, room if share is None else PAGE_BYTES)
    with open_ledger() as ledger:
        full = None
        budget = 0 if share is not None else parse_size_bytes(options.near or "")
        if share is not None:
            say("runs it without a limit first, for its peak")
            full = _unlimited(ledger, place, job, executable)
            budget = round(share * full.peak_bytes) // PAGE_BYTES * PAGE_BYTES
            room = round(_ROOM * full.peak_bytes) // PAGE_BYTES * PAGE_BYTES
            if budget < MIN_BUDGET_BYTES:
                raise CommandError(
                    f"--near {options.near} of the program's {format_bytes(full.peak_bytes)} "
                    f"is below the least of any program, {format_bytes(MIN_BUDGET_BYTES)}"
                )
        swap = set_up.set_up(ledger, spec, room)
        say(f"limits its memory to {format_bytes(budget)}")
        run = run_limited(ledger, place, budget, job, executable)
    limit = PagedLimit(spec, swap.algorithm, budget)
    return _record(limit, run, full, command=list(job.command), executable=executable)


def _unlimited(ledger: Ledger, place: Place, job: Job, executable: Path) -> PagedOutcome:
    full = run_limited(ledger, place, None, job, executable)
    if full.ended.failed:
        raise NearfarError(
            f"the program {full.ended.status} without a limit, so its peak is not known: name "
            "--near in bytes, such as 300MiB",
            ExitCode.PROGRAM_FAILED,
        )
    return full


def run_limited(
    ledger: Ledger, place: Place, budget_bytes: int | None, job: Job, executable: Path
) -> PagedOutcome:
    """Run `job` in a new group with this limit (None: none); swap is there already."""
    group = make_group(ledger, place)
    before = _swap_outs()
    with contextlib.ExitStack() as stack:
        keeper = Keeper()
        if budget_bytes is not None:
            keeper = stack.enter_context(kept(group, budget_bytes))
        folder = stack.enter_context(owned_folder("nearfar-run-", memory_folder()))
        Control.create(folder).close()
        ended = run_job(job, executable, dict(os.environ), folder, in_child=group.join)
    return PagedOutcome(ended, _counts(group), _swap_outs() - before, keeper.reliefs)


def _counts(group: Group) -> GroupCounts:
    counts = group.counts()
    group.limit(None)  # nothing of it is left that a limit should press on
    return counts


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
    ended, counts = run.ended, run.counts
    warnings = []
    if counts.killed:
        warnings.append(
            f"the kernel ended {counts.killed} of the program's processes: "
            f"{format_bytes(limit.budget_bytes)} are below what it needs at once (locked or in "
            "use), or swap was full; choose a larger --near"
        )
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
        warnings=warnings,
        paged=PagedRun(
            budget_bytes=limit.budget_bytes,
            algorithm=limit.algorithm,
            major_faults=counts.major_faults,
            swap_ins=counts.swap_ins,
            swap_outs=run.swap_outs,
            peak_bytes=counts.peak_bytes,
            reliefs=run.reliefs,
            killed=counts.killed,
            full_bytes=None if full is None else full.peak_bytes,
            full_wall_time_ns=None if full is None else full.ended.wall_ns,
        ),
    )
