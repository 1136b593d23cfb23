"""The NVDIMM thesis' pipeline, run on this machine: two threads, two memories, two locks."""

from __future__ import annotations

from matplotlib.figure import Figure

from nearfar.documents.study import StudyResult
from nearfar.predict.pipeline import PipelineTimes, run_pipeline
from nearfar_studies.compare import percent, row, table
from nearfar_studies.in_situ_run import SETS, PipelineRun, far_here, run_pipeline_here
from nearfar_studies.study import STUDIES, Study, StudyInputs


@STUDIES.register("in-situ-here")
class InSituHere(Study):
    """Measured times next to times computed from the parts' own times and two locks."""

    title = "The NVDIMM thesis' pipeline of simulation and analysis, run on two memories here"
    source = "S. Gunnar, master's thesis, Oslo 2021, chapter 5: its stand-in program"

    def run(self, given: StudyInputs) -> StudyResult:
        """Run it with the analysis in the slower memory; refuse if there is none."""
        del given
        return result_of(run_pipeline_here(far_here()))

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw measured and computed times of each part."""
        (times,) = result.tables
        axes = figure.add_subplot()
        for at, part in enumerate(times.rows):
            axes.barh(at - 0.2, part.published or 0.0, 0.4, color="C0")
            axes.barh(at + 0.2, part.ours or 0.0, 0.4, color="C1")
        axes.set_yticks(range(len(times.rows)), [part.what for part in times.rows])
        axes.set_xlabel("s")
        axes.legend(["measured here", "two locks"], fontsize=8)
        return f"{self.title}. {result.inputs}."


def result_of(ran: PipelineRun) -> StudyResult:
    """Return measured times next to computed ones; the column "published" has the measured ones."""
    parts = ran.pipeline
    seconds = {
        "generate": parts.generate,
        "transfer": parts.transfer,
        "analyse": parts.analyse,
    }
    computed = run_pipeline(SETS, lambda running: {part: SETS / seconds[part] for part in running})
    judged = ("total",)
    rows = [
        row(name, getattr(parts, field), getattr(computed, field), judged=name in judged)
        for name, field in _FIELDS.items()
    ]
    compared = table(
        "times",
        "measured here",
        "s",
        rows,
        note="ours: times computed from the parts' own times and the two locks "
        "(nearfar/predict/pipeline.py)",
    )
    return StudyResult(
        name="in-situ-here",
        title=InSituHere.title,
        source=InSituHere.source,
        inputs=f"the consumer in {ran.far}, the producer in near memory; {SETS} sets; sums checked "
        "against those of a run without threads",
        tables=[compared],
        verdict=[_verdict(ran, computed)],
    )


_FIELDS = {
    "total": "total",
    "generation": "generate",
    "producer idle": "generate_idle",
    "transfer": "transfer",
    "analysis": "analyse",
    "consumer idle": "transfer_idle",
}


def _verdict(ran: PipelineRun, computed: PipelineTimes) -> str:
    ratio = ran.pipeline.total / ran.alone_total
    faster = "faster" if ratio < 1.0 else "slower"
    return (
        f"with a second thread and {ran.far} the run took {ran.pipeline.total:.3g} s, "
        f"{percent(abs(1.0 - ratio))} {faster} than one thread in near memory alone "
        f"({ran.alone_total:.3g} s); computed from the locks: {computed.total:.3g} s"
    )
