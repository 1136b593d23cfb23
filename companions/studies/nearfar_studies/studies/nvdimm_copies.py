"""The NVDIMM thesis' competing copies, figures 2 to 10, from tables 4 and 5 only."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from nearfar.documents.machine import JointLimit
from nearfar.documents.study import ComparisonTable, StudyResult
from nearfar.memories.joint_bandwidth import joint_bandwidth
from nearfar.predict.shared_channels import Scaling, ThreadGroup, mixed_scaling, shared_bandwidth
from nearfar_studies.compare import column, mean_max, percent, row, table
from nearfar_studies.figures import Column
from nearfar_studies.nvdimm_device import THESIS, curve, scaling
from nearfar_studies.study import STUDIES, Study, StudyInputs

THREADS = 16
FIGURES = {"NVM->NVM": ("2", "2 to 4"), "NVM->DRAM": ("5", "5 to 7"), "DRAM->NVM": ("8", "8 to 10")}
"""Figure with the groups' numbers and all its figures, by copy of the second group."""

STEADY = ("1-20", "21-40", "41-60", "61-80", "81-100")
"""Columns that are averaged. The first iteration is omitted, because the groups do not run together
yet."""

APART = "memories independent"
CUT = "cut alike"
"""Name of the rival rule: if the demands exceed the `joint_bandwidth` of both memories, one factor
reduces both."""

PARTS = ("sum", "DRAM group", "other group")


@STUDIES.register("nvdimm-copies")
class NvdimmCopies(Study):
    """Competing copies under every split of 16 threads."""

    title = "NVDIMM thesis, competing copies under every split of 16 threads"
    source = f"{THESIS.citation}, figures 2 to 10"

    def run(self, given: StudyInputs) -> StudyResult:
        """Predict all 3 x 15 splits."""
        tables = [_table(kind, part) for kind in FIGURES for part in PARTS]
        sums = [t for t in tables if t.title.endswith("sum")]
        ours = np.concatenate([column(t) for t in sums])
        measured = np.concatenate([column(t, "published") for t in sums])
        apart = [t.errors[APART].mean for t in sums]
        shared = [t.errors["ours"].mean for t in sums]
        best_alone = max(float(curve(memory, "copy")[1].max()) for memory in ("DRAM", "NVDIMM"))
        groups = [t for t in tables if not t.title.endswith("sum")]
        both = {
            name: sum(t.errors[name].mean for t in groups) / len(groups) for name in ("ours", CUT)
        }
        verdict = [
            f"sum of both groups over all 45 splits: published {measured.min():.1f} to "
            f"{measured.max():.1f} GB/s, ours {ours.min():.1f} to {ours.max():.1f} GB/s; mean "
            f"error {percent(sum(apart) / len(apart))} if the memories are independent, "
            f"{percent(sum(shared) / len(shared))} on shared channels. Both memories at once give "
            f"at most {measured.max() / best_alone:.2f} times the bandwidth of the faster one",
            f"mean error of each group: {percent(both['ours'])} if all wait equally, "
            f"{percent(both[CUT])} if one factor limits all demands: "
            + ("equal waits are closer" if both["ours"] < both[CUT] else "one factor is closer"),
        ]
        for kind in FIGURES:
            of_kind = [t for t in tables if t.title.startswith(kind)]
            verdict.append(
                f"{kind} with DRAM->DRAM: "
                + "; ".join(
                    f"{part} {mean_max(t.errors['ours'])}"
                    for part, t in zip(PARTS, of_kind, strict=True)
                )
            )
        worst = max(sums, key=lambda t: t.errors["ours"].mean)
        worst_row = max(worst.rows, key=lambda r: abs(r.difference or 0.0))
        lone = tables[tables.index(worst) + 2]
        verdict.append(
            f"{worst.title} has the largest mean error of a sum, at worst "
            f"{percent(worst_row.difference or 0.0, signed=True)} with {worst_row.what}. A thread "
            f"of its other group draws {_per_thread(lone, 0):.2f} GB/s beside 15 DRAM threads and "
            f"{_per_thread(lone, -1):.2f} GB/s beside one (published); ours are "
            f"{_per_thread(lone, 0, 'ours'):.2f} and {_per_thread(lone, -1, 'ours'):.2f} GB/s"
        )
        return self.result(
            "the copy columns of tables 4 and 5 (one law each, fitted to 16 points), and "
            "the rule that both memories' demands add on the same channels and wait equally there "
            "(nearfar/predict/shared_channels.py). No number of figures 2 to 10; but the rule's "
            "form was chosen when they were known. Published: mean of iterations 1 to 100, without "
            "the first",
            tables=tables,
            verdict=verdict,
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw both groups and the sum, one panel per kind of copy."""
        for place, kind in enumerate(FIGURES):
            axes = figure.add_subplot(1, 3, place + 1)
            for number, part in enumerate(PARTS):
                compared = next(t for t in result.tables if t.title == f"{kind}, {part}")
                splits = range(1, THREADS)
                axes.plot(splits, column(compared, "published"), "o", color=f"C{number}")
                axes.plot(splits, column(compared), color=f"C{number}", label=part)
            apart = column(result.tables[place * len(PARTS)], APART)
            axes.plot(splits, apart, ":", color="grey", label="sum, if independent")
            axes.set_title(f"{kind} with DRAM->DRAM", fontsize=9)
            axes.set_xlabel(f"threads of the other group, of {THREADS}")
            axes.set_ylim(0, 150)  # room for the legend
            axes.grid(visible=True, alpha=0.25)
        figure.axes[0].set_ylabel("copied, read + written, GB/s")
        figure.axes[0].legend(fontsize=7, loc="upper left", bbox_to_anchor=(0.0, 0.98))
        return (
            "Two groups of threads copy at once. Dots: published; lines: ours, from tables 4 and 5 "
            f"and the rule for shared channels. {self.source}."
        )


def predicted(kind: str, others: float) -> tuple[list[float], list[float]]:
    """Return GB/s of the DRAM group and of `others` threads that copy `kind`.

    The first list is for shared channels, the second for independent memories.
    """
    groups = [
        ThreadGroup(THREADS - others, scaling("DRAM")),
        ThreadGroup(others, copy_scaling(kind)),
    ]
    return shared_bandwidth(groups), [float(g.scaling.at(g.threads)) for g in groups]


def cut_alike(kind: str, others: float) -> tuple[float, float]:
    """Return GB/s of both groups if one factor limited their demands."""
    best = tuple(float(curve(memory, "copy")[1].max()) for memory in ("DRAM", "NVDIMM"))
    limit = JointLimit(
        memories=("DRAM", "NVDIMM"),
        alone_gb_per_s=(best[0], best[1]),
        together_gb_per_s=max(best),
        shared=True,
        how="published",
    )
    dram = scaling("DRAM").at(THREADS - others)
    other = copy_scaling(kind).at(others)
    return joint_bandwidth(limit, float(dram), float(other))


def copy_scaling(kind: str) -> Scaling:
    """Return how copies of one kind scale; a copy between memories uses half of each."""
    if kind == "NVM->NVM":
        return scaling("NVDIMM")
    return mixed_scaling(scaling("DRAM"), scaling("NVDIMM"))


def steady_gb_per_s(kind: str) -> tuple[Column, Column, Column]:
    """Return threads of the other group and published GB/s of the DRAM and of the other group."""
    figure, _ = FIGURES[kind]
    dram, other = THESIS.columns(f"{figure} DRAM"), THESIS.columns(f"{figure} NVM")
    mean = [np.mean([group[c] for c in STEADY], axis=0) / 1000.0 for group in (dram, other)]
    return dram["nvm_threads"], mean[0], mean[1]


def _table(kind: str, part: str) -> ComparisonTable:
    splits, dram, other = steady_gb_per_s(kind)
    rows = []
    for i, threads in enumerate(splits):
        shared_groups, independent_groups = predicted(kind, float(threads))
        measured = {"sum": dram[i] + other[i], "DRAM group": dram[i], "other group": other[i]}
        ours = {
            "sum": sum(shared_groups),
            "DRAM group": shared_groups[0],
            "other group": shared_groups[1],
        }
        independent = {
            "sum": sum(independent_groups),
            "DRAM group": independent_groups[0],
            "other group": independent_groups[1],
        }
        limited_groups = cut_alike(kind, float(threads))
        limited = {
            "sum": sum(limited_groups),
            "DRAM group": limited_groups[0],
            "other group": limited_groups[1],
        }
        rows.append(
            row(
                f"{THREADS - int(threads)} + {int(threads)} threads",
                measured[part],
                ours[part],
                rivals={APART: independent[part], CUT: limited[part]},
            )
        )
    return table(f"{kind}, {part}", f"figures {FIGURES[kind][1]}", "GB/s", rows)


def _per_thread(compared: ComparisonTable, place: int, name: str = "published") -> float:
    """Return GB/s of one thread of the other group at its first or last split."""
    threads = 1 if place == 0 else THREADS - 1
    return float(column(compared, name)[place]) / threads
