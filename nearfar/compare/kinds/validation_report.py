"""Two validations: what was measured of each kernel, and how wrong the models were."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from nearfar.compare.kind import KINDS, ComparableKind, ComparedValue
from nearfar.documents import ValidationReport


@KINDS.register("validation-report")
class Validations(ComparableKind[ValidationReport]):
    """Kernels by name; of several sessions in one report, all samples together."""

    document = ValidationReport

    def values(self, documents: Sequence[ValidationReport]) -> list[ComparedValue]:
        """Return times in both memories and mean errors."""
        samples: dict[str, list[float]] = {}
        for report in documents:
            for result in report.results:
                samples.setdefault(f"{result.name}, near", []).extend(result.near_samples_ns)
                samples.setdefault(f"{result.name}, far", []).extend(result.far_samples_ns)
        values = [
            ComparedValue("time", name, "ns", median(values), samples=tuple(values), timed=True)
            for name, values in samples.items()
            if values
        ]
        last = documents[-1]
        values += [
            ComparedValue(
                "error", f"{name}, mean", "x", score.mean_error, note="one value per report"
            )
            for name, score in last.models.items()
        ]
        return values
