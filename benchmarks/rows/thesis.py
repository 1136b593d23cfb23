"""Errors of the performance thesis' Optane times, predicted without them."""

from __future__ import annotations

from benchmarks import Row, make_row
from nearfar_studies.studies.thesis_hashmap import CODE, COUNTERS, ThesisHashmap
from nearfar_studies.study import StudyInputs

SECONDS = 3
QUICK = True
COMPUTES = True


def rows() -> list[Row]:
    """Predict table 6.1 and compare with both its models."""
    result = ThesisHashmap().run(StudyInputs()).tables[0].errors
    models = {name: result[name].mean * 100 for name in (COUNTERS, CODE)}
    return [
        make_row(
            "performance thesis without times on Optane: mean error over all n",
            result["ours"].mean * 100,
            "%",
            bar=round(min(models.values()), 1),
            peer=", ".join(f"{name} {error:.1f}" for name, error in models.items()),
            command="nearfar reproduce thesis-hashmap",
            note=f"bias {result['ours'].bias:+.1%}",
        )
    ]
