"""The NVDIMM thesis' STREAM, tables 4 and 5: the curve over threads from some of its points."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from nearfar.base.units import format_count
from nearfar.documents.study import ComparisonTable, StudyResult
from nearfar_studies.compare import mean_max, percent, row, table
from nearfar_studies.nvdimm_device import KERNELS, TABLES, THESIS, curve, fit_scaling
from nearfar_studies.study import STUDIES, Study, StudyInputs

FITTED = (1, 2, 4, 8, 16)
"""Thread counts to which the law is fitted: powers of two, as in `nearfar measure`."""

BROKEN = 0.9
"""Share of the bandwidth with one thread less, below which a run is broken: one more thread reduces
bandwidth so much in no memory and in no smooth law."""


ALIKE = 1.1
"""Bandwidths of copy and scale within this ratio of each other count as equal."""


@STUDIES.register("nvdimm-stream")
class NvdimmStream(Study):
    """Thread scaling."""

    title = "NVDIMM thesis, STREAM and a sum over 1 to 16 threads"
    source = f"{THESIS.citation}, tables 4 and 5"

    def run(self, given: StudyInputs) -> StudyResult:
        """Fit five thread counts of each kernel, predict the other eleven."""
        tables = [_held_out(memory, kernel) for memory in TABLES for kernel in KERNELS]
        by_memory = {
            memory: [t for t in tables if t.title.startswith(memory + ",")] for memory in TABLES
        }
        verdict = []
        for memory, kernels in by_memory.items():
            ours, least, line = (
                _mean([t.errors[name].mean for t in kernels])
                for name in ("ours", "min(T b, best)", "interpolated")
            )
            worst = max(kernels, key=lambda t: t.errors["ours"].mean)
            verdict.append(
                f"{memory}: the mean error for thread counts that were not fitted is "
                f"{percent(ours)}; for threads times one thread's rate, up to the highest fitted "
                f"rate, {percent(least)}; for lines between the fitted points {percent(line)}. "
                f"The worst kernel is {worst.title.split(', ')[1]}: "
                f"{mean_max(worst.errors['ours'])}"
            )
        broken = " and ".join(str(int(threads)) for threads in sorted(_broken("NVDIMM")))
        verdict.append(
            f"table 5 drops with {broken} threads, which no smooth law does and the source does "
            "not explain: these runs are shown but not judged"
            if broken
            else "no run of table 5 is slower than the run with one thread less"
        )
        verdict.append(_one_thread_sentence())
        return self.result(
            f"the rows of {', '.join(map(str, FITTED))} threads in each column",
            tables=tables,
            verdict=verdict,
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw both memories' curves."""
        for place, memory in enumerate(TABLES):
            axes = figure.add_subplot(1, 2, place + 1)
            for number, kernel in enumerate(KERNELS):
                threads, gb_per_s = curve(memory, kernel)
                fitted = np.isin(threads, FITTED)
                law = fit_scaling(threads[fitted], gb_per_s[fitted])
                colour = f"C{number}"
                axes.plot(threads, law.at(threads), color=colour, label=kernel)
                axes.plot(threads[~fitted], gb_per_s[~fitted], "o", mfc="none", color=colour)
                axes.plot(threads[fitted], gb_per_s[fitted], "o", color=colour)
            axes.set_title(memory)
            axes.set_xlabel("threads")
            axes.set_ylabel("bandwidth as STREAM counts it, GB/s")
            axes.set_ylim(bottom=0)
            axes.grid(visible=True, alpha=0.25)
            axes.legend(fontsize=8)
        return (
            "Bandwidth over threads. Dots: published, filled where the law was fitted, open where "
            f"it was not; lines: the law. {self.source}."
        )


def _one_thread_sentence() -> str:
    """Compare copy and scale, which move the same bytes, with one thread and with all."""
    ratio = {}
    for place in (0, -1):
        for memory in TABLES:
            copied, scaled = (
                float(curve(memory, kernel)[1][place]) for kernel in ("copy", "scale")
            )
            ratio[memory, place] = copied / scaled
    alone, together = (max(ratio["NVDIMM", place], 1 / ratio["NVDIMM", place]) for place in (0, -1))
    cause = (
        "one thread on NVDIMM is limited by the code around each element (every access goes "
        "through a persistent pointer), not by the memory"
        if alone > max(ALIKE, together)
        else "one thread shows no limit of the code around each element"
    )
    return (
        "copy and scale move the same bytes: copy's bandwidth over scale's is "
        f"{ratio['NVDIMM', 0]:.2f} on NVDIMM and {ratio['DRAM', 0]:.2f} on DRAM with one thread, "
        f"{ratio['NVDIMM', -1]:.2f} and {ratio['DRAM', -1]:.2f} with all: {cause}"
    )


def _held_out(memory: str, kernel: str) -> ComparisonTable:
    threads, gb_per_s = curve(memory, kernel)
    fitted = np.isin(threads, FITTED)
    law = fit_scaling(threads[fitted], gb_per_s[fitted])
    linear_to_best = np.minimum(threads * gb_per_s[0], gb_per_s[fitted].max())
    interpolated = np.interp(threads, threads[fitted], gb_per_s[fitted])
    broken = _broken(memory)
    return table(
        f"{memory}, {kernel}",
        f"table {TABLES[memory]}",
        "GB/s",
        [
            row(
                format_count(int(t), "thread"),
                gb_per_s[i],
                float(law.at(t)),
                rivals={"min(T b, best)": linear_to_best[i], "interpolated": interpolated[i]},
                judged=not fitted[i] and t not in broken,
                note="fitted" if fitted[i] else "broken, not judged" if t in broken else "",
            )
            for i, t in enumerate(threads)
        ],
    )


def _broken(memory: str) -> set[float]:
    """Return thread counts at which some kernel is far below the run with one thread less."""
    dropping = set()
    for kernel in KERNELS:
        threads, gb_per_s = curve(memory, kernel)
        dropping |= set(threads[1:][gb_per_s[1:] < BROKEN * gb_per_s[:-1]].tolist())
    return dropping


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
