"""The NVDIMM thesis' traffic model and its pipeline that never beats DRAM alone."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from nearfar.base.units import format_count
from nearfar.documents.study import ComparisonTable, StudyResult, TextTable
from nearfar.predict.pipeline import PipelineTimes
from nearfar_studies import in_situ
from nearfar_studies.compare import column, facts, mean_max, percent, row, table
from nearfar_studies.figures import Column
from nearfar_studies.nvdimm_device import THESIS
from nearfar_studies.study import STUDIES, Study, StudyInputs

ITS_MODEL = "its model"
INDEPENDENT = "independent"

LOCKS = "total, from its own times of generation, transfer and analysis"

MIN_JUDGED_IDLE_S = 10.0
"""Smaller idle times are shown but not judged, because relative errors of almost nothing mean
nothing."""


@STUDIES.register("nvdimm-pipeline")
class NvdimmPipeline(Study):
    """Traffic over bandwidth, and both stages at once."""

    title = "NVDIMM thesis, traffic model and pipeline of simulation and analysis"
    source = f"{THESIS.citation}, tables 1 to 3, 7, 8, 13 and 14"

    def run(self, given: StudyInputs) -> StudyResult:
        """Predict every table from STREAM's tables 4 and 5."""
        splits = THESIS.columns("8")["analyse_threads"]
        ours = [in_situ.pipeline(int(k)) for k in splits]
        apart = [in_situ.pipeline(int(k), joint=False) for k in splits]
        tables = [
            _generation_alone(),
            _analysis_alone(),
            *_stages(ours),
            *_totals(ours, apart),
            _locks(),
        ]
        return self.result(
            "tables 4 and 5 (STREAM with a sum); bytes and dependent additions counted in "
            "the printed code, lines read for ownership included; both memories on shared channels "
            "(nearfar/predict/shared_channels.py); two stages and two locks "
            "(nearfar/predict/pipeline.py). No time of the simulation; but the rule for one "
            "thread's generation was written when table 2 was known",
            tables=tables,
            texts=[_facts()],
            verdict=_verdict(tables, ours, apart),
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw the total over the split."""
        axes = figure.add_subplot()
        totals = next(t for t in result.tables if t.title == "total")
        splits = THESIS.columns("8")["analyse_threads"]
        axes.plot(splits, column(totals, "published"), "o", color="C0", label="published")
        axes.plot(splits, column(totals), color="C0", label="ours, shared channels")
        axes.plot(splits, column(totals, INDEPENDENT), ":", color="C0", label="were they apart")
        axes.plot(splits, column(totals, ITS_MODEL), "--", color="grey", label=ITS_MODEL)
        axes.axhline(_dram_only_s(), color="C3", label="published, DRAM alone")
        axes.axhline(_bound_s(), color="C1", label="traffic over the channels' capacity")
        axes.set_ylim(bottom=0)
        axes.set_xlabel(f"threads that transfer and analyse, of {in_situ.THREADS}")
        axes.set_ylabel("total, s")
        axes.grid(visible=True, alpha=0.25)
        axes.legend(fontsize=8)
        return f"Time of the pipeline by split of the threads. {self.source}."


def _generation_alone() -> ComparisonTable:
    printed = THESIS.columns("2")
    law = in_situ.generate_scaling()
    return table(
        "generation, DRAM only",
        "table 2",
        "s",
        [
            row(
                format_count(int(t), "thread"),
                printed["measured"][i],
                in_situ.alone_s(in_situ.GENERATE_BYTES, law, t),
                rivals={ITS_MODEL: printed["its_prediction"][i]},
            )
            for i, t in enumerate(printed["threads"])
        ],
    )


def _analysis_alone() -> ComparisonTable:
    printed = THESIS.columns("3")
    law = in_situ.analyse_scaling("DRAM")
    return table(
        "analysis, DRAM only",
        "table 3",
        "s",
        [
            row(
                format_count(int(t), "thread"),
                printed["measured"][i],
                in_situ.alone_s(in_situ.ANALYSE_BYTES, law, t),
                rivals={ITS_MODEL: printed["its_prediction"][i]},
            )
            for i, t in enumerate(printed["threads"])
        ],
    )


def _stages(ours: list[PipelineTimes]) -> list[ComparisonTable]:
    generation, consumption = THESIS.columns("13"), THESIS.columns("14")

    def stage(
        title: str, cited: str, truth: Column, predicted: list[float], its: Column
    ) -> ComparisonTable:
        return table(
            title,
            cited,
            "s",
            [
                row(_split(i), truth[i], predicted[i], rivals={ITS_MODEL: its[i]})
                for i in range(len(truth))
            ],
        )

    return [
        stage(
            "generation in the pipeline",
            "table 13",
            generation["measured"],
            [t.generate for t in ours],
            generation["its_prediction"],
        ),
        stage(
            "transfer in the pipeline",
            "table 14",
            consumption["transfer"],
            [t.transfer for t in ours],
            consumption["its_transfer"],
        ),
        stage(
            "analysis in the pipeline",
            "table 14",
            consumption["analysis"],
            [t.analyse for t in ours],
            consumption["its_analysis"],
        ),
    ]


def _totals(ours: list[PipelineTimes], apart: list[PipelineTimes]) -> list[ComparisonTable]:
    printed = THESIS.columns("8")
    its = its_total_s()
    total = table(
        "total",
        "table 8",
        "s",
        [
            row(
                _split(i),
                printed["total"][i],
                ours[i].total,
                rivals={ITS_MODEL: its[i], INDEPENDENT: apart[i].total},
            )
            for i in range(len(ours))
        ],
    )
    idle = [
        table(
            title,
            "table 8",
            "s",
            [
                row(
                    _split(i),
                    printed[key][i],
                    predicted[i],
                    judged=printed[key][i] >= MIN_JUDGED_IDLE_S,
                    note="" if printed[key][i] >= MIN_JUDGED_IDLE_S else "not judged",
                )
                for i in range(len(ours))
            ],
        )
        for title, key, predicted in (
            ("idle time of generation", "generate_idle", [t.generate_idle for t in ours]),
            ("idle time of transfer", "transfer_idle", [t.transfer_idle for t in ours]),
        )
    ]
    return [total, *idle]


def _locks() -> ComparisonTable:
    printed = THESIS.columns("8")
    return table(
        LOCKS,
        "table 8",
        "s",
        [
            row(
                _split(i),
                printed["total"][i],
                in_situ.locks_only(
                    printed["generate"][i], printed["transfer"][i], printed["analyse"][i]
                ).total,
            )
            for i in range(len(printed["total"]))
        ],
        note="checks the two locks alone: only this table takes the published times as input",
    )


def its_total_s() -> Column:
    """Return the sum of its stages' predictions, in which the slower stage sets the pace, s."""
    generation, consumption = THESIS.columns("13"), THESIS.columns("14")
    return np.maximum(
        generation["its_prediction"], consumption["its_transfer"] + consumption["its_analysis"]
    )


def _facts() -> TextTable:
    return facts(
        "the source's model of generation divides bytes by STREAM's rate, which leaves out the "
        "lines read for ownership (the channels carry half as much again) and the limit of one "
        "thread, one dependent addition per edge as in the sum",
        "its model of the transfer counts the copied bytes once and divides by a rate that counts "
        "them twice (figure 8 sums to STREAM's copy) and was measured while the other threads copy "
        "too, although the lock lets most transfers run alone: two errors that partly cancel",
        "its analysis on DRAM is its sum kernel, which it measured separately",
        _unexplained(),
    )


def _verdict(
    tables: list[ComparisonTable], ours: list[PipelineTimes], apart: list[PipelineTimes]
) -> list[str]:
    by_title = {t.title: t for t in tables}
    verdict = [
        "mean errors of the source's model and of ours: "
        + "; ".join(
            f"{t.title} ({t.cited}) {percent(t.errors[ITS_MODEL].mean)} and "
            f"{percent(t.errors['ours'].mean)}"
            for t in tables
            if ITS_MODEL in t.errors
        ),
        "error of the total from the source's own times of the parts and the two locks alone: "
        f"{mean_max(by_title[LOCKS].errors['ours'])}",
    ]
    closer = [
        f"{t.title} ({t.cited})"
        for t in tables
        if ITS_MODEL in t.errors and t.errors[ITS_MODEL].mean < t.errors["ours"].mean
    ]
    totals = by_title["total"]
    published, best_s = column(totals, "published"), min(t.total for t in ours)
    dram_alone_s = in_situ.alone_s(
        in_situ.GENERATE_BYTES, in_situ.generate_scaling(), in_situ.THREADS
    ) + in_situ.alone_s(in_situ.ANALYSE_BYTES, in_situ.analyse_scaling("DRAM"), in_situ.THREADS)
    independent_s = min(t.total for t in apart)
    verdict.append(
        f"the pipeline at its best split takes {published.min():.2f} s and DRAM alone "
        f"{_dram_only_s():.2f} s (published), {best_s:.0f} s and {dram_alone_s:.0f} s (predicted): "
        + _agreement(published.min() < _dram_only_s(), best_s < dram_alone_s)
        + f". With independent memories it would take {independent_s:.0f} s and "
        + ("win" if independent_s < dram_alone_s else "lose")
        + ". The transfer adds "
        f"{in_situ.TRANSFER_BYTES / (in_situ.GENERATE_BYTES + in_situ.ANALYSE_BYTES):.0%} of "
        "traffic to the channels; all of it at the channels' capacity takes "
        f"{_bound_s():.0f} s, "
        + ("more" if _bound_s() > dram_alone_s else "less")
        + " than DRAM alone"
    )
    verdict.append(
        "error of the best split's predicted time: "
        f"{percent(best_s / published.min() - 1, signed=True)}; the source's model is closer than "
        "ours in: " + (", ".join(closer) or "no table")
    )
    return verdict


def _agreement(published_wins: bool, predicted_wins: bool) -> str:
    """State whether published and predicted times agree on whether the pipeline wins."""
    if published_wins == predicted_wins:
        return "in both the pipeline " + ("wins" if predicted_wins else "loses")
    return "the prediction has the wrong winner"


def _unexplained() -> str:
    transfer, alone = THESIS.columns("14")["transfer"], THESIS.columns("7")["measured"]
    by_sum = in_situ.alone_s(
        in_situ.ANALYSE_BYTES, in_situ.analyse_scaling("NVDIMM"), in_situ.THREADS
    )
    return (
        f"unexplained: the transfer takes {transfer[2]:.0f} s with 3 threads and "
        f"{transfer[3]:.0f} s with 4, although no bandwidth falls there; the analysis on NVDIMM "
        f"alone (table 7) gains nothing beyond 5 threads ({alone[4]:.0f} s) and takes "
        f"{alone[15]:.0f} s with 16, where the sum kernel's bandwidth gives {by_sum:.0f} s. "
        "Something other than bandwidth limits the stage on NVDIMM"
    )


def _dram_only_s() -> float:
    return float(THESIS.columns("1")["total"][-1])


def _bound_s() -> float:
    """Return the seconds that all of the pipeline's traffic takes at the channels' capacity."""
    traffic = in_situ.GENERATE_BYTES + in_situ.TRANSFER_BYTES + in_situ.ANALYSE_BYTES
    return in_situ.SETS * traffic / in_situ.GIGA / in_situ.generate_scaling().capacity


def _split(i: int) -> str:
    return f"{in_situ.THREADS - 1 - i} + {i + 1} threads"
