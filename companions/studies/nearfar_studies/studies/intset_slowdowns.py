"""The paper's list, hash table and skip list on persistent memory, from profiles in DRAM.

The paper compares with a volatile program in DRAM. So one source is built and run here twice:
plain, and with transactions. The time of the second program on Optane is predicted; the cost of its
transactions in DRAM is measured.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean

from matplotlib import figure as drawing

from nearfar.api import predict
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, WorkloadProfile, load
from nearfar.documents.prediction import PhasePrediction
from nearfar.documents.study import ComparisonRow, ComparisonTable, StudyResult, TextTable
from nearfar.documents.workload import Phase
from nearfar.native_files import include_folder
from nearfar_studies.applications import MEASURED, nearfar
from nearfar_studies.compare import column, covered, mean_max, row, table
from nearfar_studies.study import STUDIES, Study, StudyInputs

SOURCE = Path(__file__).parents[1] / "programs" / "intset" / "intset.c"
FAR = "optane-200"
MODEL = "persist"
PUBLISHED = {"list": ("sorted list", 3.2), "hash": ("hash table", 11.2), "skip": ("skip list", 4.7)}
"""Section 4.2: geometric means over its sizes, which only its figure 5 shows."""
PUBLISHED_MEAN = 5.54
PUBLISHED_RANGE = (1.6, 11.7)

SIZES = {256: 100_000, 1024: 40_000, 4096: 10_000, 16384: 2_000}
"""Initial numbers of elements, and of operations on a list of that size: from that of the original
benchmark up to lists that take some ten microseconds to walk."""
OPERATIONS = 500_000
"""Operations on the other sets, whatever their size: enough for timing."""

COMMITTED = {"fences": 6.0, "flushes": 5.0, "nt_store_bytes": 384.0}
"""Counts of a transaction that inserts into a list, by `nearfar profile` in libpmemobj 1.12.1 (a
24-byte range added, a node allocated)."""

OPERATIONS_OF_A_CHANGE = 4.0
"""Operations per change of a set: half of all operations look up a key. Half of the others change
nothing, because the key to insert is present or the key to remove is not."""


@STUDIES.register("intset-slowdowns")
class IntsetSlowdowns(Study):
    """A list, a hash table, a skip list."""

    title = "a list, a hash table and a skip list on Optane, against volatile ones in DRAM"
    source = (
        "L. Bastelli, A. Baldassin, E. Francesquini, Programando para Memória Persistente, "
        "WSCAD 2022"
    )

    def run(self, given: StudyInputs) -> StudyResult:
        """Build, profile and predict."""
        volatile, persistent, near = profiles(given.near)
        return compare(self, volatile, persistent, near)

    def draw(self, result: StudyResult, figure: drawing.Figure) -> str:
        """Draw the slowdowns next to the published ones."""
        axes = figure.add_subplot()
        compared = result.tables[0]
        places = list(range(len(compared.rows)))
        axes.plot(places, column(compared, "published"), "o", label="published")
        axes.plot(places, column(compared), "s", label="ours")
        axes.plot(places, column(compared, "persisting in DRAM"), "^", label="persisting in DRAM")
        axes.set_xticks(places, [each.what for each in compared.rows])
        axes.set_ylabel("slowdown against volatile in DRAM")
        axes.set_yscale("log")
        axes.grid(visible=True, alpha=0.25)
        axes.legend()
        return f"Slowdowns by structure. {self.source}"


def profiles(near: Path | None) -> tuple[WorkloadProfile, WorkloadProfile, DeviceProfile]:
    """Return the profiles of the volatile and the persistent program, and this machine's memory.

    Raises NearfarError with `MACHINE_LACKS` where nothing can be compiled or profiled.
    """
    with tempfile.TemporaryDirectory(prefix="nearfar-intset-") as name:
        folder = Path(name)
        if near is None:
            near = folder / "near.json"
            nearfar("measure", "dram", *MEASURED, "--quiet", "-o", str(near))
        volatile, persistent = (profile(folder, kind, SIZES) for kind in (False, True))
        return volatile, persistent, load(near, DeviceProfile)


def profile(
    folder: Path, persistent: bool, sizes: dict[int, int], operations: int = OPERATIONS
) -> WorkloadProfile:
    """Build one of the two programs in `folder` and return its profile."""
    program = folder / ("persistent" if persistent else "volatile")
    output = program.with_suffix(".json")
    options = ["-O2", *_flags(), f"-DPERSISTENT={int(persistent)}", f"-I{include_folder()}"]
    nearfar("cc", *options, str(SOURCE), "-o", str(program))
    words = [str(operations), *(str(word) for pair in sizes.items() for word in pair)]
    nearfar("profile", "--repetitions", "3", "-q", "-o", str(output), "--", str(program), *words)
    return load(output, WorkloadProfile)


def compare(
    study: Study, volatile: WorkloadProfile, persistent: WorkloadProfile, near: DeviceProfile
) -> StudyResult:
    """Predict the persistent program on Optane and compare its times with the volatile ones."""
    far = load_device(FAR)
    names = [phase.name for phase in persistent.phases if phase.name.partition(" ")[0] in PUBLISHED]
    predicted = (
        predict(profile=persistent, near=near, far=[far], model=MODEL, phase=names)
        .devices[0]
        .phases
    )
    by_phase = {phase.phase: phase for phase in predicted}
    base = {phase.name: phase.near_cpu_time_ns.value for phase in volatile.phases}
    rows = []
    for kind, (words, published) in PUBLISHED.items():
        phases = [by_phase[name] for name in names if name.partition(" ")[0] == kind]
        rows.append(_row(words, published, phases, base))
    rows.append(_row("geometric mean", PUBLISHED_MEAN, list(by_phase.values()), base, judged=False))
    compared = table("slowdown by structure", "section 4.2, figure 5(d)", "slowdown", rows)
    return study.result(
        f"near times, misses, flushes, fences and streamed bytes of a program of our own, "
        f"volatile and in transactions, in this machine's DRAM ({near.name}, "
        f"{persistent.producer.cpu_model}); the published figures of {FAR}",
        tables=[compared],
        texts=[
            TextTable(
                title="by size: slowdown, and what an update that changes something persists",
                columns=["structure and size", "slowdown", "in DRAM", *COMMITTED],
                rows=[
                    [
                        name,
                        f"{by_phase[name].far_time_ns.value / base[name]:.2f}",
                        f"{by_phase[name].near_time_ns.value / base[name]:.2f}",
                        *_persisted(next(p for p in persistent.phases if p.name == name)),
                    ]
                    for name in names
                ]
                + [
                    [
                        "libpmemobj 1.12.1, an insert into a list",
                        "",
                        "",
                        *(f"{count:g}" for count in COMMITTED.values()),
                    ]
                ],
            )
        ],
        verdict=_verdict(
            compared, [by_phase[name].far_time_ns.value / base[name] for name in names]
        ),
    )


def _verdict(compared: ComparisonTable, by_size: list[float]) -> list[str]:
    """Return the errors, the coverage of the intervals, and the cost of persisting alone."""
    *structures, mean = compared.rows
    inside, judged = covered(compared)
    persisting = compared.errors["persisting in DRAM"]
    in_dram = [each.rivals["persisting in DRAM"] for each in structures]
    shares = [
        math.log(dram) / math.log(each.ours)
        for each, dram in zip(structures, in_dram, strict=True)
        if each.ours and each.ours > 1.0
    ]
    share = sum(shares) / len(shares) if shares else 0.0
    much = "most" if share > 0.5 else "less than half"
    with_error = [each for each in structures if each.difference is not None]
    worst = max(with_error, key=lambda each: abs(each.difference or 0.0))
    side = "above" if (worst.difference or 0.0) > 0 else "below"
    return [
        f"geometric mean {mean.ours:.2f} against {PUBLISHED_MEAN}: {mean.difference:+.0%}; by size "
        f"{min(by_size):.1f} to {max(by_size):.1f} against {PUBLISHED_RANGE[0]} to "
        f"{PUBLISHED_RANGE[1]}",
        f"error by structure: {mean_max(compared.errors['ours'])}; taking the measured time of "
        f"persisting in DRAM, {mean_max(persisting)}; {inside} of {judged} published values are "
        "inside the intervals, which cover the memory's uncertainty but no difference of programs "
        "or processors",
        "slowdown of persisting in this machine's DRAM alone: "
        + ", ".join(
            f"{each.what} {dram:.1f}x" for each, dram in zip(structures, in_dram, strict=True)
        )
        + f": {much} of the predicted slowdown ({share:.0%} of its logarithm)",
        f"the {worst.what} has the largest error, {abs(worst.difference or 0.0):.0%} {side} the "
        "published mean; the paper gives sizes only on an axis and no times of its volatile "
        "programs, so sizes may differ",
    ]


def _row(
    what: str,
    published: float,
    phases: Sequence[PhasePrediction],
    base: dict[str, float],
    *,
    judged: bool = True,
) -> ComparisonRow:
    def mean(end: str) -> float:
        return geometric_mean(
            getattr(phase.far_time_ns, end) / base[phase.phase] for phase in phases
        )

    return row(
        what,
        published,
        mean("value"),
        interval=(mean("low"), mean("high")),
        rivals={
            "persisting in DRAM": geometric_mean(
                phase.near_time_ns.value / base[phase.phase] for phase in phases
            ),
            "null": 1.0,
        },
        judged=judged,
        note="" if judged else "all sizes of all three; not judged again",
    )


def _persisted(phase: Phase) -> list[str]:
    """Return the data that each transaction of a phase persists, from the counts of `COMMITTED`."""
    totals = {name: sum(getattr(r.traffic, name) for r in phase.objects) for name in COMMITTED}
    updates = (phase.operations or 1.0) / OPERATIONS_OF_A_CHANGE
    return [f"{total / updates:.1f}" for total in totals.values()]


def _flags() -> list[str]:
    """Return the compiler's options for the best flush this processor has."""
    try:
        known = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return []
    return [f"-m{flag}" for flag in ("clwb", "clflushopt") if flag in known]
