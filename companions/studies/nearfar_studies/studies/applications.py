"""Programs that others measured on real far memory: profiled here, predicted there."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from nearfar.documents.study import StudyResult
from nearfar_studies.compare import column, facts
from nearfar_studies.hardware.cases import MemoryCase
from nearfar_studies.hardware.in_kind import programs_in_kind
from nearfar_studies.hardware.predictor import CasePredictor, latency_ratio
from nearfar_studies.hardware.score import scored
from nearfar_studies.study import STUDIES, Study, StudyInputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURED = Path(__file__).parents[1] / "hardware" / "measured.toml"


@STUDIES.register("applications")
class Applications(Study):
    """Slowdowns on CXL, Optane, Memory Mode and another socket."""

    title = "programs that others measured on real far memory"
    source = "five published sets of measurements (nearfar_studies/hardware/measured.toml)"

    def run(self, given: StudyInputs) -> StudyResult:
        """Profile every program in kind here, and predict it on the machines of the sources."""
        cases = measured_cases()
        with tempfile.TemporaryDirectory(prefix="nearfar-hardware-") as name:
            predictor = CasePredictor(given.profiles or Path(name))
            predictions = [predictor.predict(case) for case in cases]
        result = scored(self.name, predictions, cases, latency_ratio)
        assumed = dict.fromkeys(each.assumed for each in predictions if each.assumed)
        return msgspec.structs.replace(
            result,
            title=self.title,
            source=self.source,
            inputs="programs in kind, profiled here on smaller data and caches; the source's near "
            "time; the library's devices; nothing of the far times",
            texts=[
                *result.texts,
                facts(
                    "all of these cases were seen while the programs in kind were written",
                    *(f"{program.title}: {program.source}" for program in programs_in_kind()),
                    *(f"assumed: {text}" for text in assumed),
                ),
            ],
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw predicted over measured slowdown."""
        axes = figure.add_subplot()
        for compared in result.tables:
            axes.loglog(column(compared, "published"), column(compared), "o", markersize=4)
        axes.axline((1.0, 1.0), (2.0, 2.0), color="grey", linewidth=0.8)
        axes.set_xlabel("measured slowdown")
        axes.set_ylabel("predicted slowdown")
        axes.grid(visible=True, which="both", alpha=0.25)
        return "Predicted over measured slowdown; on the line is right. " + self.source


def measured_cases() -> list[MemoryCase]:
    """Return the cases of `measured.toml`; `source` is the source's title."""
    document = tomllib.loads(MEASURED.read_text())
    return [
        MemoryCase(**case, source=source["title"])
        for source in document["sources"]
        for case in source["cases"]
    ]
