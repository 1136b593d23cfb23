"""Proposals to split types into hot and cold fields, each judged by the models as a new program.

The hot part is a prefix of the fields by accesses. Every prefix is tried: the profile that the
split program would have is made, near time included, and placed within the same near memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nearfar.base.estimate import Estimate, scale_estimate, sum_estimates
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.field_split import FieldSplit
from nearfar.documents.prediction import HostRule
from nearfar.place.evaluation import Evaluation, evaluate
from nearfar.place.hot_cold import POINTER_BYTES, HotCold, Visits
from nearfar.place.problem import Problem, problem_of
from nearfar.place.split_near_time import NearTimes
from nearfar.place.split_profile import bare_profile, split_profile, with_near_time
from nearfar.place.task import PlaceTask
from nearfar.place.type_use import TypeUse, type_uses
from nearfar.predict.derive import near_memory
from nearfar.predict.field_effects import shares
from nearfar.predict.host import DEFAULT_HOST
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.phases import phases_of
from nearfar.predict.traffic import Array, PhaseTraffic

BUDGET_SHARE = 0.25
"""Near memory for which splits are judged, as a share of the program's memory."""
MAX_TYPES = 4
"""Number of types that are tried: those with most misses."""
MAX_PREFIXES = 6
"""Number of hot parts that are tried of each type."""
MAX_HOT_SHARE = 0.75
"""Largest hot part, as a share of its type."""
MIN_SAVED = 0.02
"""Least saving of a proposed split, as a slowdown: saved time over near time."""


def propose_splits(
    workload: WorkloadProfile,
    near: DeviceProfile,
    far: DeviceProfile,
    host: HostRule = DEFAULT_HOST,
    programs: list[list[SplitProgram]] | None = None,
) -> list[FieldSplit]:
    """Return the splits that save most time, at most one for each object.

    `programs`: the result of `split_programs`, which is the same for all far memories.
    """
    workload = bare_profile(workload)
    programs = split_programs(workload, near) if programs is None else programs
    if not programs:
        return []
    budget = int(BUDGET_SHARE * sum(owner.size_bytes for owner in workload.objects))
    memories = JudgedMemories(programs[0][0].near, far, budget, host)
    before = memories.placed(workload)
    near_ns = sum(phase.near_cpu_time_ns.value for phase in workload.phases)
    if near_ns <= 0.0:
        return []
    proposals: list[FieldSplit] = []
    for programs_of_type in programs:
        placed = [_PlacedSplit(program, memories) for program in programs_of_type]
        saving = [split for split in placed if split.saved_ns(before) > MIN_SAVED * near_ns]
        if saving:
            best = min(saving, key=lambda split: split.likely_ns)
            proposals.append(_split_document(best, near_ns, before))
    return sorted(proposals, key=lambda proposal: -proposal.saved.value)


VISITS: tuple[Visits, ...] = ("value", "few", "many")


class AfterSplit(NamedTuple):
    """The program after a split, under one assumption about visits of the cold part."""

    profile: WorkloadProfile
    phases: list[PhaseTraffic]
    near_ns: list[Estimate]
    """Near time of each phase, with its bounds."""


@dataclass(frozen=True)
class SplitProgram:
    """The program after a split; it is made for an assumption about visits when that is asked."""

    split: HotCold
    workload: WorkloadProfile
    """The program before the split."""
    near: MemoryCosts
    """Near memory, the same of all programs."""
    near_times: NearTimes
    _made: dict[Visits, AfterSplit] = field(default_factory=dict, init=False, compare=False)

    def after(self, visits: Visits) -> AfterSplit:
        """Return the program under an assumption about visits."""
        if visits not in self._made:
            profile, waits = split_profile(self.workload, self.split, visits)
            near_ns = self.near_times.after(profile, waits)
            profile = with_near_time(profile, [time.value for time in near_ns])
            self._made[visits] = AfterSplit(profile, phases_of(profile), near_ns)
        return self._made[visits]


def split_programs(workload: WorkloadProfile, near: DeviceProfile) -> list[list[SplitProgram]]:
    """Return the programs after each candidate split, a list for each type that is tried."""
    workload = bare_profile(workload)
    side = near_memory(near)
    near_times = NearTimes(workload, side)
    uses = type_uses(workload)[:MAX_TYPES]
    programs = [
        [SplitProgram(split, workload, side, near_times) for split in _candidates(use)]
        for use in uses
    ]
    return [programs_of_type for programs_of_type in programs if programs_of_type]


class PlacedProgram(NamedTuple):
    """A plan of a program, without its interval."""

    problem: Problem
    shares: Array

    @property
    def time_ns(self) -> float:
        """Its time."""
        return float(self.problem.shared_times_ns(self.shares[np.newaxis])[0])

    def evaluation(self) -> Evaluation:
        """Return its time and slowdown with intervals, which take most of the work."""
        return evaluate(self.problem, self.shares[np.newaxis])[0]


@dataclass(frozen=True)
class JudgedMemories:
    """Memories and budget that splits are judged for."""

    near: MemoryCosts
    far: DeviceProfile
    budget_bytes: int
    host: HostRule

    def placed(
        self, workload: WorkloadProfile, phases: list[PhaseTraffic] | None = None
    ) -> PlacedProgram:
        """Return the best plan within the budget, objects in parts where they can be.

        `phases`: those of the workload, where they are known.
        """
        workload = bare_profile(workload)
        phases = phases or phases_of(workload)
        problem = problem_of(workload, phases, self.near, [self.far], host=self.host)
        task = PlaceTask(problem, workload, "exact", frozenset({"parts"}))
        whole = task.choose_whole(self.budget_bytes, "exact")
        chosen = task.extended(self.budget_bytes, whole.shares, {"parts"}).shares
        return PlacedProgram(problem, np.asarray(chosen))


@dataclass(frozen=True)
class _PlacedSplit:
    """A split program with its plan for each assumption about visits that was asked for."""

    program: SplitProgram
    memories: JudgedMemories
    _plans: dict[Visits, PlacedProgram] = field(default_factory=dict, init=False, compare=False)

    def plan(self, visits: Visits) -> PlacedProgram:
        """Return the plan under an assumption about visits."""
        if visits not in self._plans:
            after = self.program.after(visits)
            self._plans[visits] = self.memories.placed(after.profile, after.phases)
        return self._plans[visits]

    @property
    def likely_ns(self) -> float:
        """Time by which splits are compared, ns: the sum of those with likely and many visits."""
        return self.plan("value").time_ns + self.plan("many").time_ns

    def saved_ns(self, before: PlacedProgram) -> float:
        """Return the time that the split saves, ns."""
        return before.time_ns - self.plan("value").time_ns


def _candidates(use: TypeUse) -> Iterator[HotCold]:
    """Yield the splits whose hot part is a prefix of the fields by accesses."""
    fields = use.fields
    for count in range(1, min(len(fields), MAX_PREFIXES + 1)):
        split = HotCold(use, tuple(fields[:count]))
        if 0 < split.hot_bytes <= MAX_HOT_SHARE * use.type_bytes:
            yield split


def _split_document(placed: _PlacedSplit, near_ns: float, unsplit: PlacedProgram) -> FieldSplit:
    """Return the split as a document: its fields, and the slowdowns before and after it.

    `near_ns` is the near time of the unsplit program, to which both slowdowns refer.
    """
    split, use, memories = placed.program.split, placed.program.split.use, placed.memories
    before = unsplit.evaluation().time_ns
    after = {visits: placed.plan(visits).evaluation().time_ns for visits in VISITS}
    saved = _saved_slowdown(placed, near_ns, before, after)
    hot = [touched.field for touched in split.hot]
    share = _misses_share(split)
    sentence = (
        f"{split.hot_bytes} of {use.type_bytes} bytes ({', '.join(hot)}) take {share:.0%} of the "
        f"misses of {use.type}: a split lowers the slowdown by {saved.value:.2f} "
        f"({saved.low:.2f} to {saved.high:.2f}) with {BUDGET_SHARE:.0%} of the data near, the "
        f"rest in {memories.far.name}"
    )
    return FieldSplit(
        far=memories.far.name,
        type=use.type,
        type_bytes=use.type_bytes,
        object=use.object,
        hot_fields=hot,
        hot_bytes=split.hot_bytes,
        hot_misses_share=share,
        pointer_bytes=POINTER_BYTES if use.alone else 0,
        budget_bytes=memories.budget_bytes,
        slowdown_before=scale_estimate(before, 1.0 / near_ns),
        slowdown_after=scale_estimate(after["value"], 1.0 / near_ns),
        saved=saved,
        near_factor=scale_estimate(_near_time(placed.program), 1.0 / near_ns),
        sentence=sentence,
    )


def _saved_slowdown(
    placed: _PlacedSplit,
    near_ns: float,
    before: Estimate,
    after: Mapping[Visits, Estimate],
) -> Estimate:
    """Return the slowdown that a split saves; `before` and `after` are times in ns."""
    lows, highs = [], []
    for visits, time_ns in after.items():
        # Both times have the same uncertain inputs, so their ends are compared pairwise.
        ends = [
            before.low - time_ns.low,
            before.value - time_ns.value,
            before.high - time_ns.high,
        ]
        program = placed.program.after(visits)
        fast_ns, slow_ns = (
            placed.memories.placed(with_near_time(program.profile, times)).time_ns
            for times in (
                [time.low for time in program.near_ns],
                [time.high for time in program.near_ns],
            )
        )
        likely_ns = placed.plan(visits).time_ns
        lows.append(min(ends) - max(0.0, slow_ns - likely_ns))
        highs.append(max(ends) + max(0.0, likely_ns - fast_ns))
    saved_ns = before.value - after["value"].value
    return scale_estimate(Estimate(saved_ns, min(lows), max(highs)), 1.0 / near_ns)


def _near_time(program: SplitProgram) -> Estimate:
    """Return near time after a split, ns; the interval spans all assumptions about visits."""
    sums = {visits: sum_estimates(program.after(visits).near_ns) for visits in VISITS}
    return Estimate(
        sums["value"].value,
        min(time.low for time in sums.values()),
        max(time.high for time in sums.values()),
    )


def _misses_share(split: HotCold) -> float:
    """Return the share of the type's misses that the hot fields take."""
    hot = total = 0.0
    keys = {(touched.offset, touched.bytes) for touched in split.hot}
    for accesses in split.use.phases.values():
        for access in accesses:
            for touched, share in zip(access.fields, shares(access.fields), strict=True):
                total += share * access.misses
                if (touched.offset, touched.bytes) in keys:
                    hot += share * access.misses
    return hot / total if total else 0.0
