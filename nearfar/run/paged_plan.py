"""Plans whose far memory is paged: near objects are locked, and the kernel pages all others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base.errors import CommandError, NearfarError
from nearfar.base.units import PAGE_BYTES, format_bytes
from nearfar.documents.plan import Plan
from nearfar.documents.run_record import PagedAlone, PagedRun
from nearfar.machine.sysfs import Tree
from nearfar.memories.paged import set_up
from nearfar.memories.paged.acts import Act
from nearfar.memories.paged.group import GroupParent, find_group_parent
from nearfar.memories.paged.keeper import LOCKED_SHARE, Way
from nearfar.memories.paged.ledger import Ledger, open_ledger
from nearfar.memories.spec import PAGED, MemorySpec
from nearfar.options.run import RunOptions
from nearfar.program.launch import Job
from nearfar.run.local_memories import LocalMemory, resolve_memories
from nearfar.run.paged_run import (
    MIN_BUDGET_BYTES,
    LimitedGroup,
    PagedLimit,
    limit_counts,
    limited_commands,
    limited_group,
    most_bytes,
    run_limited,
)
from nearfar.run.paged_watch import PagedWatch

REST = "kernel"
"""Name of the memory of all data that the plan does not know; the kernel pages it."""
DAMON_RECLAIM = "sys/module/damon_reclaim/parameters"
DAMON_SETTINGS = {"min_age": "1000000", "enabled": "Y"}


@dataclass
class PagedRoom:
    """The limit and the swap of a run under a plan."""

    ledger: Ledger
    place: GroupParent
    limit: PagedLimit
    limited: LimitedGroup
    watch: PagedWatch | None = None

    def record(self, comparisons: list[PagedAlone]) -> PagedRun:
        """Return the record of the limit, after the end of the run."""
        watch = self.watch
        return PagedRun(
            **limit_counts(self.limit, self.limited),
            locked_bytes=0 if watch is None else watch.locked_bytes,
            phases=[] if watch is None else watch.phases,
            alone=comparisons,
        )


def paged_spec(memories: Sequence[LocalMemory]) -> MemorySpec | None:
    """Return the paged memory among `memories`; None: none is."""
    paged = [memory for memory in memories if memory.spec.kind in PAGED]
    if not paged:
        return None
    if len(memories) != 2:
        raise CommandError(
            f"{paged[0].name} is {paged[0].spec}: with a paged memory a plan has near memory and "
            "this one alone"
        )
    return paged[0].spec


def check_limit(plan: Plan, memories: Sequence[LocalMemory], *, yes: bool) -> GroupParent:
    """Refuse what the run could not set up, before anything is changed."""
    spec = memories[1].spec
    if not yes:
        raise CommandError(f"--map far={spec} changes this machine's swap for the run: add --yes")
    if plan.budget_bytes < MIN_BUDGET_BYTES:
        raise CommandError(
            f"the plan's budget of {format_bytes(plan.budget_bytes)} is below the least of any "
            f"program, {format_bytes(MIN_BUDGET_BYTES)}: plan with a larger --budget"
        )
    place = find_group_parent()
    set_up.check(spec, PAGE_BYTES)
    return place


def dry_run_commands(plan: Plan, options: RunOptions) -> list[str]:
    """Return what a run under `plan` would do to this machine, as commands."""
    memories = resolve_memories(plan, options.map)
    spec = paged_spec(memories)
    if spec is None:
        raise CommandError(f"{options.paged_map} matches none of the plan's far memories")
    place = check_limit(plan, memories, yes=True)
    limit, room = f"{plan.budget_bytes}", _swap_bytes(plan)
    lines = limited_commands(spec, place, limit, options.program, room)
    return (
        [*lines, *_comparison_commands(place, options.program)] if options.beside_kernel else lines
    )


def _comparison_commands(place: GroupParent, program: Sequence[str]) -> list[str]:
    """Return the commands of the runs without the plan, which precede the clean-up."""
    lines = []
    for way, why_not in _ways(place).items():
        if why_not:
            continue
        if way == "damon_reclaim":
            lines += [
                f"{Act('write', f'/{DAMON_RECLAIM}/{name}', value).command()}"
                "  # for the whole machine, until this last run has ended"
                for name, value in DAMON_SETTINGS.items()
            ]
        lines.append(f"{' '.join(program)}  # again, without the plan: {way}")
    return lines


def _swap_bytes(plan: Plan) -> int:
    """Return the size of swap for a run under `plan`, in whole pages."""
    room = min(most_bytes(), max(2 * plan.footprint_bytes, 4 * MIN_BUDGET_BYTES))
    return room // PAGE_BYTES * PAGE_BYTES


def locking(
    memories: Sequence[LocalMemory], budget_bytes: int, planned_bytes: int
) -> list[LocalMemory]:
    """Return the memories of a run at a limit: of unknown data, of locked data, and paged.

    At most `planned_bytes` (what the plan keeps near; 0: unknown) are locked. If allocations beyond
    the profile were locked too, the remaining data would have too little memory.
    """
    near, far = memories
    room = int(LOCKED_SHARE * budget_bytes) // PAGE_BYTES * PAGE_BYTES
    if planned_bytes:
        room = min(room, -(-planned_bytes // PAGE_BYTES) * PAGE_BYTES)
    rest = replace(near, name=REST, device="")
    return [rest, replace(near, locked=True, capacity_bytes=room), replace(far, capacity_bytes=0)]


@contextlib.contextmanager
def paged_room(
    plan: Plan, spec: MemorySpec, place: GroupParent, say: Callable[[str], None]
) -> Iterator[PagedRoom]:
    """Set up swap and a limit for a run, and undo both."""
    with open_ledger() as ledger:
        swap = set_up.set_up(ledger, spec, _swap_bytes(plan))
        say(f"limits its memory to {format_bytes(plan.budget_bytes)}")
        limit = PagedLimit(spec, swap.algorithm, plan.budget_bytes)
        with limited_group(ledger, place, plan.budget_bytes) as limited:
            yield PagedRoom(ledger, place, limit, limited)


def run_comparisons(
    room: PagedRoom, job: Job, executable: Path, environment: Mapping[str, str]
) -> list[PagedAlone]:
    """Run `job` without the plan at the same limit, in each way that this machine has."""
    rows = []
    for way, why_not in _ways(room.place).items():
        if why_not:
            rows.append(PagedAlone(way=way, why_not=why_not))
            continue
        try:
            rows.append(_run_comparison(room, way, job, executable, environment))
        except (NearfarError, OSError) as error:
            # The run under the plan has ended well: its record is kept.
            rows.append(PagedAlone(way=way, why_not=str(error)))
    return rows


def _ways(place: GroupParent, root: Path = Path("/")) -> dict[str, str]:
    """Return each way to run without a plan, with the reason if it is missing here, else ""."""
    first = place.version == 1
    no_damon = "this kernel has no CONFIG_DAMON_RECLAIM"
    return {
        "kernel": "",
        "memory.high": "memory.high is of control groups version 2; here is version 1"
        if first
        else "",
        "damon_reclaim": "" if Tree(root).exists(f"{DAMON_RECLAIM}/enabled") else no_damon,
    }


def _run_comparison(
    room: PagedRoom, way: str, job: Job, executable: Path, environment: Mapping[str, str]
) -> PagedAlone:
    limit: Way = "memory.high" if way == "memory.high" else "kernel"
    budget = room.limit.budget_bytes
    with _damon_reclaim() if way == "damon_reclaim" else contextlib.nullcontext():
        run = run_limited(
            room.ledger, room.place, budget, job, executable, environment=environment, way=limit
        )
    counts = run.limited.counts
    return PagedAlone(
        way=way,
        exit_status=run.ended.status,
        wall_time_ns=run.ended.wall_ns,
        cpu_time_ns=run.ended.cpu_ns,
        major_faults=counts.major_faults,
        swap_ins=counts.swap_ins,
        killed=counts.killed,
    )


@contextlib.contextmanager
def _damon_reclaim() -> Iterator[None]:
    """Enable DAMON's reclaim on the whole machine while the block runs."""
    tree = Tree(Path("/"))
    with open_ledger() as ledger:
        for name, value in DAMON_SETTINGS.items():
            before = tree.text(f"{DAMON_RECLAIM}/{name}") or ""
            path = f"/{DAMON_RECLAIM}/{name}"
            ledger.do(Act("write", path, value), Act("write", path, before))
        yield
