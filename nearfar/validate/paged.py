"""Validation in a paged memory: kernels and programs at limits, compared with predictions.

Each program runs without a limit, then at each limit under the Linux kernel alone and under
nearfar's plan, in turns. Times of all kinds of page moves are measured once. One of them is
measured again next to every program and scales the others, because a shared machine's clock changes
within minutes. Predictions are made before the runs that they are compared with; only near time and
this scale are measured with the runs.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.estimate import Estimate, scale_estimate
from nearfar.base.statistics import median_estimate
from nearfar.base.units import PAGE_BYTES, parse_size_bytes
from nearfar.documents import DeviceProfile, Plan, RunRecord, WorkloadProfile
from nearfar.documents.paged_validation import LockedRun, PagedCase, PagedCliff, PagedValidation
from nearfar.documents.plan import Prices
from nearfar.documents.prediction import PagedAxis
from nearfar.measure.paged.measure import exchange_ns, measure_paged
from nearfar.measure.settings import Progress
from nearfar.memories.paged import set_up
from nearfar.memories.paged.group import find_group_parent
from nearfar.memories.paged.ledger import open_ledger
from nearfar.memories.spec import parse_spec
from nearfar.native_files import include_folder
from nearfar.options.measure import MeasureOptions
from nearfar.options.place import PlaceOptions
from nearfar.options.run import RunOptions
from nearfar.options.validate import ValidateOptions
from nearfar.place.machine_file import FarMemory
from nearfar.place.paged import paged_plan
from nearfar.predict.paged import footprint_pages, paged_phases
from nearfar.predict.paged_device import paged_device
from nearfar.predict.total import TOTAL
from nearfar.program.launch import Job
from nearfar.run.api import run_plan
from nearfar.run.paged_run import PagedOutcome, most_bytes, run_limited
from nearfar.validate import whole_program
from nearfar.validate.beside import scaled_device
from nearfar.validate.kernel import FOLDER, OPTIMISATION, PHASE, load_profile, run_tool
from nearfar.validate.paged_scores import scored
from nearfar.validate.prepared import preparing

_COMPILE = ("cc", OPTIMISATION, "-g")
BUDGETS = ("75%", "50%", "25%")
REGION_BYTES = 96 << 20
"""Data of a kernel: about a second at the lowest limit, and 192 sampled pages."""
ROUNDS = {False: 3, True: 1}
"""Runs of each program at each limit, full and quick."""
MAX_SLOWDOWN = 40.0
"""Predicted slowdown above which a limit is omitted, because such runs take minutes."""
CLIFF_ERROR = 0.05
"""Share of a program's pages by which the predicted cliff may be wrong."""
MIN_SHARE = 0.08
"""Near share below which no cliff is searched for: a process needs some pages at the same time."""
KERNELS = FOLDER / "paged" / "paged.c"


@dataclass
class PagedSubject:
    """A kernel or program, its profile, and its runs so far."""

    name: str
    what: str
    command: list[str]
    plain: Path
    environment: Mapping[str, str]
    phase: str
    """Name of the judged phase; empty: all."""
    workload: WorkloadProfile
    plans: dict[str, Plan] = field(default_factory=dict)
    near_ns: list[float] = field(default_factory=list)
    cpu_ns: dict[str, list[float]] = field(default_factory=dict)
    """CPU times by budget, and by budget under the plan (`locked_key`)."""
    faults: dict[str, list[float]] = field(default_factory=dict)
    exchange_ns: list[float] = field(default_factory=list)
    cliff_share: float = 0.0
    """Predicted near share at which time doubles; 0: none."""

    def job(self, program: Path) -> Job:
        """Return a run of `program` with this one's arguments."""
        return Job([str(program), *self.command[1:]], discard_output=True)

    def budget_bytes(self, budget: str) -> int:
        """Return the limit for a budget, in percent of the pages that the program touches."""
        pages = footprint_pages(paged_phases(self.workload))
        return int(float(budget.rstrip("%")) / 100 * pages) * PAGE_BYTES

    def add(self, key: str, cpu_ns: float, faults: float) -> None:
        """Keep a run."""
        self.cpu_ns.setdefault(key, []).append(cpu_ns)
        self.faults.setdefault(key, []).append(faults)


def cliff_shares(share: float) -> tuple[str, str]:
    """Return the limits around a predicted cliff, as shares of the pages."""
    return f"{100 * (share + CLIFF_ERROR):.4f}%", f"{100 * (share - CLIFF_ERROR):.4f}%"


def locked_key(budget: str) -> str:
    """Return the key of runs under the plan."""
    return f"{budget} locked"


def validate_paged(
    options: ValidateOptions, progress: Progress, device: DeviceProfile | None = None
) -> PagedValidation:
    """Predict and measure kernels and programs in a paged memory; refuse what cannot be set up.

    `device`: the memory as measured before; None: it is measured.
    """
    spec = parse_spec(options.far, paged=True)
    set_up.check(spec, PAGE_BYTES)
    find_group_parent()
    left_out: dict[str, str] = {}
    with preparing() as prepared:
        subjects = list(_subjects(options, prepared.folder, progress))
        if device is None:
            progress(f"measuring {spec}", 0.0)
            device = measure_paged(MeasureOptions(memory=options.far, quick=True, samples=False))
        for subject in subjects:
            plan_all(subject, device, left_out)
        rounds = options.rounds or ROUNDS[options.quick]
        for number in range(rounds * len(subjects)):
            subject = subjects[number % len(subjects)]
            progress(f"running {subject.name}", number / (rounds * len(subjects)))
            run_round(subject, options.far, device, left_out)
    cases = [case for subject in subjects for case in cases_of(subject, device, left_out)]
    cliffs = [cliff for subject in subjects if (cliff := cliff_of(subject, left_out))]
    return scored(str(spec), device, cases, cliffs, left_out)


def dry_run(options: ValidateOptions) -> list[str]:
    """Return what a session does to this machine, as commands; refuse a memory it cannot set up."""
    spec = parse_spec(options.far, paged=True)
    room = most_bytes()
    set_up.check(spec, room)
    group = find_group_parent().parent / "nearfar-PID-N"
    return [*set_up.command_lines(spec, room), f"mkdir {group}  # for each run", f"rmdir {group}"]


def _subjects(options: ValidateOptions, folder: Path, progress: Progress) -> Iterator[PagedSubject]:
    programs = options.programs()
    words = [word.strip() for word in options.only.split(",")] if options.only else []
    names = [] if programs and not words else chosen_paged(words)
    size = parse_size_bytes(options.size) if options.size else REGION_BYTES
    for number, command in enumerate(programs):
        progress(f"profiling {Path(command[0]).name}", number / len(programs))
        program = whole_program.prepare(command, folder)
        workload = _profile(command, folder / f"program-{number}.json")
        yield PagedSubject(
            program.name, "program", list(command), program.plain, program.environment, "", workload
        )
    if names:
        progress("building kernels", 0.0)
        kernels = folder / "paged"
        run_tool([*_COMPILE, f"-I{include_folder()}", str(KERNELS), "-o", str(kernels)])
    for number, name in enumerate(names):
        progress(f"profiling {name}", number / len(names))
        command = [str(kernels), name, str(size)]
        program = whole_program.prepare(command, folder)
        workload = _profile(command, folder / f"{name}.json")
        yield PagedSubject(
            name, "kernel", command, program.plain, program.environment, PHASE, workload
        )


def paged_kernels() -> list[str]:
    """Return the names of the kernels for paged memories, as their source lists them."""
    return re.findall(r'\{"(\w+)", \w+, \d\}', KERNELS.read_text())


def chosen_paged(names: Sequence[str]) -> list[str]:
    """Return the kernels of these names, or all; refuse an unknown name."""
    known = paged_kernels()
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; known are: {', '.join(known)}"
            raise NearfarError(f"there is no kernel {name!r} for paged memories{hint}")
    return list(dict.fromkeys(names)) or known


def _profile(command: Sequence[str], output: Path) -> WorkloadProfile:
    run_tool(["profile", "--quiet", "-o", str(output), "--repetitions", "1", "--", *command])
    return load_profile(output)


def plan_all(subject: PagedSubject, device: DeviceProfile, left_out: dict[str, str]) -> None:
    """Make the plan of every budget before any run; leave out budgets with too slow runs."""
    phase = subject.phase or TOTAL
    far = [FarMemory(device)]
    for budget in BUDGETS:
        size = f"{subject.budget_bytes(budget)}B"
        options = PlaceOptions(profile=[subject.workload], near="dram", budget=size, phase=phase)
        plan = paged_plan(options, size, far, "dram", Prices())
        slowdown = next(bar.slowdown.value for bar in plan.alternatives if bar.name == "kernel")
        if slowdown > MAX_SLOWDOWN:
            left_out[f"{subject.name} at {budget}"] = f"predicted to be {slowdown:.0f}x slower"
        else:
            subject.plans[budget] = plan


def locks(plan: Plan) -> bool:
    """Return whether a plan locks anything."""
    return plan.memories[0].used_bytes > 0


def around(subject: PagedSubject) -> list[str]:
    """Return the two limits around the predicted cliff; empty if the cliff is not tested."""
    inside = MIN_SHARE + CLIFF_ERROR < subject.cliff_share < 1.0 - CLIFF_ERROR
    return list(cliff_shares(subject.cliff_share)) if inside else []


def _predicted_cliff(subject: PagedSubject, device: DeviceProfile) -> float:
    scaled = scaled_device(device, subject.exchange_ns)
    near = median_estimate(subject.near_ns)
    axis = predicted_axis(subject, scaled, subject.budget_bytes(BUDGETS[0]), near)
    return 0.0 if axis.cliff_share is None else axis.cliff_share.value


def cliff_of(subject: PagedSubject, left_out: Mapping[str, str]) -> PagedCliff | None:
    """Return the slowdowns around the predicted cliff; None: not tested, or left out."""
    limits = around(subject)
    if not limits or any(f"{subject.name} at {limit}" in left_out for limit in limits):
        return None
    near_ns = statistics.median(subject.near_ns)
    times = [subject.cpu_ns.get(key) for key in limits]
    above, below = (math.inf if each is None else statistics.median(each) for each in times)
    if math.inf in (above, below):
        return None
    return PagedCliff(
        name=subject.name,
        near_share=subject.cliff_share,
        slowdown_above=above / near_ns,
        slowdown_below=below / near_ns,
    )


def run_round(
    subject: PagedSubject, far: str, device: DeviceProfile, left_out: dict[str, str]
) -> None:
    """Run a program once without a limit, and at each limit alone and under its plan."""
    spec = parse_spec(far, paged=True)
    place = find_group_parent()
    job = subject.job(subject.plain)
    subject.exchange_ns.extend(exchange_ns(spec))
    with open_ledger() as ledger:
        set_up.set_up(ledger, spec, 2 * subject.budget_bytes("100%"))
        near = (ledger, place, None, job, subject.plain)
        full = run_limited(*near, environment=subject.environment)
        if full.ended.failed:
            raise NearfarError(f"{subject.name} {full.ended.status} without a limit")
        subject.near_ns.append(_judged(subject, full)[0])
        if not subject.cliff_share:
            subject.cliff_share = _predicted_cliff(subject, device)
        for budget in [*subject.plans, *around(subject)]:
            run = run_limited(
                ledger, place, subject.budget_bytes(budget), job, subject.plain,
                environment=subject.environment,
            )  # fmt: skip
            if run.ended.failed:
                left_out[f"{subject.name} at {budget}"] = run.ended.status
            else:
                subject.add(budget, *_judged(subject, run))
        # A second run without a limit shows the noise of near time.
        again = run_limited(*near, environment=subject.environment)
        subject.near_ns.append(_judged(subject, again)[0])
    for budget, plan in subject.plans.items():
        if locks(plan):
            options = RunOptions(map=[f"far={far}"], yes=True, program=subject.command, force=True)
            planned = subject.job(Path(subject.command[0]))
            record = run_plan(plan, "", options, planned)
            if record.exit_status != "exited 0":
                left_out[f"{subject.name} at {budget}, locked"] = record.exit_status
            else:
                subject.add(locked_key(budget), *_judged_record(subject, record))
    subject.exchange_ns.extend(exchange_ns(spec))


def _judged(subject: PagedSubject, run: PagedOutcome) -> tuple[float, float]:
    """Return CPU time and faults of the judged phases."""
    if not subject.phase:
        return run.ended.cpu_ns, run.limited.counts.major_faults
    row = next(row for row in run.phases if row.phase == subject.phase)
    return row.cpu_time_ns, row.major_faults


def _judged_record(subject: PagedSubject, record: RunRecord) -> tuple[float, float]:
    assert record.paged is not None
    if not subject.phase:
        return record.cpu_time_ns, record.paged.major_faults
    row = next(row for row in record.paged.phases if row.phase == subject.phase)
    return row.cpu_time_ns, row.major_faults


def cases_of(
    subject: PagedSubject, device: DeviceProfile, left_out: Mapping[str, str]
) -> Iterator[PagedCase]:
    """Yield the results of one program."""
    near = median_estimate(subject.near_ns)
    quiet = Estimate(near.value, near.value, near.value)
    exchange_median_ns = statistics.median(subject.exchange_ns)
    scaled = scaled_device(device, subject.exchange_ns)
    narrow = scaled_device(device, subject.exchange_ns, spread=False)
    for budget in subject.cpu_ns:
        if budget not in BUDGETS or f"{subject.name} at {budget}" in left_out:
            continue
        size = subject.budget_bytes(budget)
        row = predicted_axis(subject, scaled, size, near).budgets[0]
        cpu = median_estimate(subject.cpu_ns[budget])
        yield PagedCase(
            name=subject.name,
            what="kernel" if subject.what == "kernel" else "program",
            near_share=row.near_share,
            budget_bytes=size,
            near_ns=near,
            cpu_ns=cpu,
            slowdown=cpu.value / near.value,
            predicted=row.shown_slowdown(),
            predicted_alone=predicted_axis(subject, narrow, size, quiet).budgets[0].slowdown,
            faults=statistics.median(subject.faults[budget]),
            predicted_faults=row.faults,
            models={model.model: model.slowdown for model in row.models},
            fault_ns=exchange_median_ns,
            locked=_locked(subject, budget, cpu.value, left_out),
        )


def _locked(
    subject: PagedSubject, budget: str, alone_ns: float, left_out: Mapping[str, str]
) -> LockedRun | None:
    key, plan = locked_key(budget), subject.plans[budget]
    if key not in subject.cpu_ns or f"{subject.name} at {budget}, locked" in left_out:
        return None
    times = {bar.name: bar.time_ns.value for bar in plan.alternatives}
    cpu = median_estimate(subject.cpu_ns[key])
    return LockedRun(
        locked_bytes=plan.memories[0].used_bytes,
        predicted_gain=times["kernel"] / times["plan"],
        measured_gain=alone_ns / cpu.value,
        cpu_ns=cpu,
        faults=statistics.median(subject.faults[key]),
    )


def predicted_axis(
    subject: PagedSubject, device: DeviceProfile, size_bytes: int, near: Estimate
) -> PagedAxis:
    """Return the prediction at a limit, with the near time and noise measured in this session."""
    phases = subject.workload.phases
    judged = [phase for phase in phases if not subject.phase or phase.name == subject.phase]
    profiled_ns = sum(phase.near_cpu_time_ns.value for phase in judged)
    timed = msgspec.structs.replace(
        subject.workload,
        phases=[
            msgspec.structs.replace(
                phase,
                near_cpu_time_ns=scale_estimate(near, phase.near_cpu_time_ns.value / profiled_ns),
            )
            for phase in phases
        ],
    )
    names = [subject.phase] if subject.phase else []
    prediction = paged_device(timed, device, [f"{size_bytes}B"], names, 1)
    assert prediction.paged is not None
    return prediction.paged
