"""The paper's list, hash set and skip list in DRAM, on a disk, on Optane and an SSD.

DRAM and this machine's disk are measured, the other two are predicted. The study also counts the
steps for recovery that the published programs omit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from matplotlib import figure as drawing

from nearfar.base.estimate import Estimate
from nearfar.documents.study import ComparisonRow, ComparisonTable, StudyResult, TextTable
from nearfar_bench.slowdowns import Pair, geometric_mean_slowdown, slowdown
from nearfar_studies.compare import column, facts, mean_max, row, table
from nearfar_studies.intset_predicted import predicted
from nearfar_studies.intset_runs import (
    DISK,
    DRAM,
    NO_FLUSH,
    PUBLISHED,
    SAFE,
    STRUCTURES,
    UNLOGGED,
    VOLATILE,
    SetCase,
    SetPlan,
    SetRuns,
    measure,
)
from nearfar_studies.intset_texts import NAMES, hidden, left_out, mean, sync_rule, with_interval
from nearfar_studies.study import STUDIES, Study, StudyInputs

ON_PMEM = {"list": 3.2, "hash": 11.2, "skip": 4.7}
ON_SSD = {"list": 47.0, "hash": 274.8, "skip": 167.4}
"""Section 4.2: geometric means over its sizes, which only an axis of figure 5 shows."""
PMEM_MEAN, SSD_MEAN = 5.54, 129.3
THEIR_STEPS = "their steps here"
UNIT = "times the volatile set's time"
PMEM, SSD = "optane-200", "ssd-dc-s4600"
"""Section 4.1: four Optane modules beside a Xeon 5317 (200 series), an Intel DC S4600."""


@STUDIES.register("intset-measured")
class IntsetMeasured(Study):
    """A list, a hash set, a skip list, run here."""

    title = "a list, a hash set and a skip list kept in memory and on a disk, run here"
    source = (
        "L. Bastelli, A. Baldassin, E. Francesquini, Programando para Memória Persistente, "
        "WSCAD 2022"
    )

    def run(self, given: StudyInputs) -> StudyResult:
        """Measure and predict; `given` is not used."""
        del given
        return compare(self, measure(SetPlan()))

    def draw(self, result: StudyResult, figure: drawing.Figure) -> str:
        """Draw both tables' slowdowns."""
        for place, compared in enumerate(result.tables, 1):
            axes = figure.add_subplot(1, len(result.tables), place)
            places = list(range(len(compared.rows)))
            axes.plot(places, column(compared, "published"), "o", label="published")
            axes.plot(places, column(compared), "s", label="predicted")
            for name in compared.errors:
                if name not in ("ours", "null"):
                    axes.plot(places, column(compared, name), "^", label=name)
            axes.set_xticks(places, [each.what for each in compared.rows], rotation=20)
            axes.set_yscale("log")
            axes.set_ylabel(compared.unit)
            axes.set_title(compared.title, fontsize="small")
            axes.grid(visible=True, alpha=0.25)
            axes.legend(fontsize="small")
        return f"Slowdowns against the volatile set in DRAM. {self.source}"


def compare(study: Study, runs: SetRuns) -> StudyResult:
    """Compare the runs with the published figures."""
    with_disk = DISK in runs.sync_ns
    sizes = runs.plan.sizes
    here = {
        "in DRAM here": (DRAM, SAFE),
        "no flushes": (NO_FLUSH, SAFE),
        THEIR_STEPS: (DRAM, PUBLISHED),
    }
    memory = SetComparison(ON_PMEM, PMEM_MEAN, PMEM, sizes, here, sizes)
    on_disk = {"this disk": (DISK, SAFE)} if with_disk else {}
    disk = SetComparison(ON_SSD, SSD_MEAN, SSD, sizes, on_disk, sizes[:1])
    on_pmem = table(
        "slowdown on persistent memory, against the volatile set in DRAM",
        "section 4.2, figure 5(d)",
        UNIT,
        memory.rows(runs),
    )
    on_ssd = table(
        "slowdown on an SSD by msync, against the volatile set in DRAM",
        "section 4.2, figure 5(d)",
        UNIT,
        disk.rows(runs),
        note=f"this disk: of {sizes[0]} keys" if with_disk else f"no disk: {runs.lacking}",
    )
    between = table(
        "time on the SSD over time on persistent memory: the volatile set's time is in neither",
        "section 4.2, figure 5(d), one slowdown over the other",
        "times the time on persistent memory",
        _between(memory, disk, runs),
    )
    return study.result(
        f"sets of our own, {', '.join(f'{size:,}' for size in runs.plan.sizes)} keys of "
        f"twice as many, half look-ups, {runs.plan.repeats} rounds of "
        f"{runs.plan.seconds:g} s; flushes and fences counted in libpmem; published figures of "
        f"{PMEM} and {SSD}",
        tables=[on_pmem, on_ssd, between],
        texts=[left_out(), hidden(runs, with_disk), *sync_rule(runs, with_disk), _facts(runs)],
        verdict=_verdict(runs, on_pmem, on_ssd, between),
    )


@dataclass(frozen=True)
class SetComparison:
    """One of the paper's two memories, compared with the runs here."""

    published: dict[str, float]
    mean: float
    device: str
    sizes: Sequence[int]
    """Predicted sizes."""
    measured: dict[str, tuple[str, str]]
    """Memory and safety of the sets that were run here, by their name in the table."""
    measured_sizes: Sequence[int]

    def rows(self, runs: SetRuns) -> list[ComparisonRow]:
        """Return a row for each structure, and one for their geometric mean."""
        rows = [
            self._row(runs, NAMES[structure], figure, [structure])
            for structure, figure in self.published.items()
        ]
        return [*rows, self._row(runs, "geometric mean", self.mean, STRUCTURES)]

    def slowdown_of(
        self, runs: SetRuns, structures: Sequence[str], safety: str = PUBLISHED
    ) -> Estimate:
        """Return the predicted slowdown, a geometric mean of all structures and sizes."""
        ends = [
            _ratio(
                predicted(runs, SetCase(structure, size, DRAM, safety), self.device),
                runs,
                structure,
                size,
            )
            for structure in structures
            for size in self.sizes
        ]
        return Estimate(
            geometric_mean(end.value for end in ends),
            geometric_mean(end.low for end in ends),
            geometric_mean(end.high for end in ends),
        )

    def _row(
        self, runs: SetRuns, what: str, published: float, structures: Sequence[str]
    ) -> ComparisonRow:
        cells = [(structure, size) for structure in structures for size in self.sizes]
        slowed = self.slowdown_of(runs, structures)
        made_safe = self.slowdown_of(runs, structures, SAFE)
        run_here = [cell for cell in cells if cell[1] in self.measured_sizes]
        here = {
            name: geometric_mean_slowdown([_pair(runs, *cell, *how) for cell in run_here])
            for name, how in self.measured.items()
        }
        return row(
            what,
            published,
            slowed.value,
            interval=(slowed.low, slowed.high),
            rivals={
                "predicted, made safe": made_safe.value,
                **{name: measured.value for name, measured in here.items()},
                "null": 1.0,
            },
            # A mean of the rows above is not judged again.
            judged=len(structures) == 1,
            note="; ".join(
                f"{name} {measured.low:.3g} to {measured.high:.3g}"
                for name, measured in here.items()
            ),
        )


def _between(memory: SetComparison, disk: SetComparison, runs: SetRuns) -> list[ComparisonRow]:
    """Return rows of one memory's slowdown divided by the other's."""
    rows = []
    for structure in (*STRUCTURES, ""):
        structures = [structure] if structure else STRUCTURES
        on_ssd, on_pmem = (side.slowdown_of(runs, structures) for side in (disk, memory))
        published = (
            disk.published[structure] / memory.published[structure]
            if structure
            else disk.mean / memory.mean
        )
        rows.append(
            row(
                NAMES.get(structure, "geometric mean"),
                published,
                on_ssd.value / on_pmem.value,
                interval=(on_ssd.low / on_pmem.high, on_ssd.high / on_pmem.low),
                rivals={"null": 1.0},
                judged=bool(structure),
            )
        )
    return rows


def _ratio(elsewhere: Estimate, runs: SetRuns, structure: str, size: int) -> Estimate:
    """Return ns per operation `elsewhere` over those of the volatile set here."""
    base = runs.throughput[SetCase(structure, size, VOLATILE)]
    per_ns = sum(base) / len(base) / 1e9
    return Estimate(*(end * per_ns for end in (elsewhere.value, elsewhere.low, elsewhere.high)))


def _pair(runs: SetRuns, structure: str, size: int, *how: str) -> Pair:
    """Return throughputs of the volatile set and of a set with memory and safety `how`."""
    return (
        runs.throughput[SetCase(structure, size, VOLATILE)],
        runs.throughput[SetCase(structure, size, *how)],
    )


def _facts(runs: SetRuns) -> TextTable:
    return facts(
        "the prediction takes a sync to last as long as the drive's typical write of 4 KiB, one "
        "write at a time. The interval's ends are a drive whose cache survives a power cut, which "
        "may answer at once, and a journal, which adds two writes",
        "the paper gives no times of its volatile programs, and its sizes only on an axis: a "
        "slower volatile operation makes every slowdown smaller (a hash set's takes "
        f"{mean(runs.ns(SetCase('hash', runs.plan.sizes[0], VOLATILE))):.0f} ns here); libpmemobj "
        "1.8 had other costs than the one here; an SSD's value has no journal of a file system",
        "the published list omits no step and takes larger snapshots",
    )


def _verdict(
    runs: SetRuns, on_pmem: ComparisonTable, on_ssd: ComparisonTable, between: ComparisonTable
) -> list[str]:
    def error(compared: ComparisonTable, name: str) -> str:
        return mean_max(compared.errors[name]) if name in compared.errors else "not measured"

    def time(structure: str, safety: str) -> str:
        first = runs.plan.sizes[0]
        return with_interval(
            slowdown(
                runs.throughput[SetCase(structure, first, DRAM)],
                runs.throughput[SetCase(structure, first, DRAM, safety)],
            )
        )

    over_ssd = (on_ssd.rows[-1].ours or 0.0) / SSD_MEAN
    both_ours, both_published = between.rows[-1].ours or 0.0, SSD_MEAN / PMEM_MEAN
    of_pmem, of_ssd = (compared.rows[-1].ours or 0.0 for compared in (on_pmem, on_ssd))
    ours, published = (
        sorted(NAMES.values(), key=dict(zip(NAMES.values(), values, strict=True)).__getitem__)
        for values in ([each.ours or 0.0 for each in on_pmem.rows[:-1]], ON_PMEM.values())
    )
    return [
        f"slowdown on Optane with the published steps: predicted {of_pmem:.2f}, published "
        f"{PMEM_MEAN}; error by structure {error(on_pmem, 'ours')}; of the safe sets measured in "
        f"DRAM here {error(on_pmem, 'in DRAM here')}",
        f"slowdown on an SSD: predicted {of_ssd:.0f}, published {SSD_MEAN}; error by structure "
        f"{error(on_ssd, 'ours')}; of the safe sets measured on this machine's disk "
        f"{error(on_ssd, 'this disk')}",
        "both slowdowns refer to a volatile set whose time the paper does not give. The ratio of "
        f"the two is independent of it: the SSD takes {both_ours:.1f} times as long as Optane "
        f"(predicted) and {both_published:.1f} times (published). So the factor of {over_ssd:.1f} "
        "between the predicted and the published slowdown on the SSD is "
        f"{both_ours / both_published:.1f} from the drive, times "
        f"{over_ssd * both_published / both_ours:.1f} from the volatile set and Optane",
        f"structures by slowdown, least first: {', '.join(ours)}; published: "
        + ("the same order" if ours == published else ", ".join(published)),
        "slowdown of the hash set in DRAM here: "
        f"{on_pmem.rows[1].rivals[THEIR_STEPS]:.1f} with the published steps, which a crash breaks "
        f"(published: {ON_PMEM['hash']}), and {on_pmem.rows[1].rivals['in DRAM here']:.1f} with "
        "safe steps",
        "of the safe set's time in DRAM, the published steps take "
        f"{time('hash', PUBLISHED)} (hash set) and {time('skip', PUBLISHED)} (skip list), ours "
        f"without snapshots {time('hash', UNLOGGED)} and {time('skip', UNLOGGED)}; the list's "
        f"{time('list', PUBLISHED)}",
    ]
