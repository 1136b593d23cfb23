"""X-Mem's slowdowns on its emulated memory, in kind: three small programs, profiled here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, Plan, WorkloadProfile
from nearfar.documents.study import ComparisonTable, StudyResult, TextTable
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.models.xmem import effective_latencies_ns
from nearfar.predict.traffic import CHASE, INDEPENDENT, STREAM
from nearfar.study.compare import row, table
from nearfar.study.study import STUDIES, Given, Study
from nearfar.study.x_mem_programs import CACHE, GRAPH, INDEX, PHASE, Program, profiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAR = "xmem-near"
FARS = (
    "xmem-far-300ns-10gb",
    "xmem-far-300ns-5gb",
    "xmem-far-450ns-10gb",
    "xmem-far-450ns-5gb",
    "xmem-far-600ns-10gb",
    "xmem-far-600ns-5gb",
)
"""Its emulated memories, the mildest first and the harshest last."""

PATTERNS = {"pointer chase": CHASE, "random": INDEPENDENT, "stream": STREAM}

OPERATIONS = {GRAPH: "an edge", INDEX: "an order of four rows", CACHE: "a request"}

OURS, UNGUIDED = "optimal", "page-interleaved"


@dataclass(frozen=True)
class Published:
    """A range of slowdowns over its memories, and how much of the program's data was near."""

    program: Program
    near_share: float
    low: float
    high: float

    @property
    def what(self) -> str:
        """Say what was near."""
        if self.near_share == 0.0:
            return f"{self.program.kind}, all far"
        return f"{self.program.kind}, 1/{1 / self.near_share:.0f} near"


PUBLISHED = (
    Published(GRAPH, 0.0, 2.6, 5.9),
    Published(GRAPH, 0.5, 1.09, 1.29),
    Published(INDEX, 1 / 16, 1.24, 1.48),
    Published(CACHE, 1 / 8, 1.08, 1.17),
)


@STUDIES.register("x-mem-slowdowns")
class XMemSlowdowns(Study):
    """Three kinds of program on the emulated memories."""

    title = "X-Mem's slowdowns of a graph, an index and a cache, in kind"
    source = "S. R. Dulloor et al., Data Tiering in Heterogeneous Memory Systems, EuroSys 2016"

    def run(self, given: Given) -> StudyResult:
        """Build, profile, place and predict the three programs."""
        near = load_device(NEAR)
        made = profiles(near)
        fars = [load_device(name) for name in FARS]
        plans = {
            one: [_plan(made[one.program.name], near, far, one.near_share) for far in fars]
            for one in PUBLISHED
        }
        found = _ends(plans)
        return StudyResult(
            name=self.name,
            title=self.title,
            source=self.source,
            inputs="programs of 150 to 250 MB in nearfar/study/programs/x_mem, built and profiled "
            "here; near time taken to its machine (150 ns, 40 GB/s) by the model, with this "
            "machine's caches and clock; its six emulated memories as published. Nothing of its "
            "results",
            tables=[found],
            texts=[_effective(near, fars), _objects(plans)],
            verdict=_verdict(plans, made),
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw published ranges beside ours."""
        axes = figure.add_subplot()
        rows = result.tables[0].rows
        for at, _ in enumerate(PUBLISHED):
            pair = rows[2 * at : 2 * at + 2]
            for place, ends, colour in (
                (at - 0.1, [r.published or 0.0 for r in pair], "black"),
                (at + 0.1, [r.ours or 0.0 for r in pair], "C0"),
            ):
                axes.plot([place] * 2, ends, "o-", color=colour)
        axes.set_xticks(range(len(PUBLISHED)), [one.what for one in PUBLISHED], fontsize=8)
        axes.set_ylabel("slowdown")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.25)
        return (
            "Slowdowns on the mildest and the harshest of X-Mem's memories: published (black), of "
            f"our programs of the same kind (blue). {self.source}."
        )


def _plan(
    workload: WorkloadProfile, near: DeviceProfile, far: DeviceProfile, near_share: float
) -> Plan:
    from nearfar.place.api import place

    return place(workload, near, far, f"{100 * near_share:g}%", PHASE)


def slowdown(plan: Plan, name: str = OURS) -> tuple[float, float, float]:
    """Return value, low and high of one of a plan's alternatives."""
    found = next(one.slowdown for one in plan.alternatives if one.name == name)
    return found.value, found.low, found.high


def _ends(plans: Mapping[Published, Sequence[Plan]]) -> ComparisonTable:
    rows = []
    for one, found in plans.items():
        for which, published, plan in (
            ("mildest memory", one.low, found[0]),
            ("harshest memory", one.high, found[-1]),
        ):
            value, low, high = slowdown(plan)
            rows.append(
                row(
                    f"{one.what}, {which}",
                    published,
                    value,
                    interval=(low, high),
                    rivals={"unguided": slowdown(plan, UNGUIDED)[0]},
                )
            )
    return table(
        "least and greatest slowdown over its memories",
        "sections 2 and 6",
        "slowdown",
        rows,
        note="other programs of the same kind, which do nothing beside their data structures (no "
        "transactions' logic, no network) and run on one or two threads: a difference is no error "
        "of a model. unguided: pages of every object dealt out alike",
    )


def _effective(near: DeviceProfile, fars: Sequence[DeviceProfile]) -> TextTable:
    """Latency per line by pattern: the rule that X-Mem places by."""
    local = near_memory(near)
    memories = [local, *(far_memory(far, local) for far in fars)]
    rows = []
    for memory in memories:
        costs = effective_latencies_ns(memory)
        by_pattern = [float(costs[column]) for column in PATTERNS.values()]
        first = effective_latencies_ns(local)
        rows.append(
            [
                memory.device.name,
                *(
                    f"{ns:.1f} ({ns / float(first[column]):.1f}x)"
                    for ns, column in zip(by_pattern, PATTERNS.values(), strict=True)
                ),
            ]
        )
    return TextTable(
        title="effective latency of a line by pattern, ns (over near)",
        columns=["memory", *PATTERNS],
        rows=rows,
    )


def _objects(plans: Mapping[Published, Sequence[Plan]]) -> TextTable:
    rows = []
    for one, found in plans.items():
        if one.near_share == 0.0:
            continue
        kept = [
            f"{thing.name.split(', ')[-1]} ({thing.size_bytes / 1e6:.0f} MB)"
            for thing in found[-1].placements
            if thing.memory == "near" and thing.size_bytes > found[-1].footprint_bytes / 1000
        ]
        rows.append([one.what, ", ".join(kept) or "nothing above a thousandth of the data"])
    return TextTable(
        title="what is kept near, harshest memory", columns=["program", "objects"], rows=rows
    )


def _verdict(
    plans: Mapping[Published, Sequence[Plan]], made: Mapping[str, WorkloadProfile]
) -> list[str]:
    verdict = []
    for one, found in plans.items():
        values = [slowdown(plan)[0] for plan in found]
        unguided = [slowdown(plan, UNGUIDED)[0] for plan in found]
        low, high = min(values), max(values)
        overlap = low <= one.high and high >= one.low
        verdict.append(
            f"{one.what}: published {one.low:.2f} to {one.high:.2f}, ours {low:.2f} to {high:.2f} "
            f"({'the ranges meet' if overlap else 'they do not meet'})"
            + (
                f"; unguided {min(unguided):.2f} to {max(unguided):.2f}"
                if one.near_share > 0.0
                else ""
            )
        )
    return [*verdict, *(_why(one, found[-1], made) for one, found in plans.items())]


def _why(one: Published, harshest: Plan, made: Mapping[str, WorkloadProfile]) -> str:
    """Say what an operation of ours takes, and what it would for the published slowdown."""
    phase = next(p for p in made[one.program.name].phases if p.name == PHASE)
    count = phase.operations or 1.0
    near_ns = phase.near_cpu_time_ns.value / count
    lines = sum(thing.traffic.misses() for thing in phase.objects) / count
    added_ns = near_ns * (slowdown(harshest)[0] - 1.0)
    needed_ns = max(added_ns, 0.0) / (one.high - 1.0)
    return (
        f"{one.what}, on the harshest memory: {OPERATIONS[one.program]} of ours takes "
        f"{near_ns:.3g} ns near, misses {lines:.3g} times, and {added_ns:.3g} ns are added; the "
        f"published {one.high:.2f} would be that of one that takes {needed_ns:.3g} ns"
    )
