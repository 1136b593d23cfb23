"""Draw predicted against measured slowdown, with intervals."""

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot as plt

from nearfar.base.files import atomic_path
from nearfar.documents.validation import ValidationReport
from nearfar.predict.model import DEFAULT_MODEL

SIZE_INCHES = (8.0, 7.0)
MAX_LABELS = 40
"""Maximum number of results with labels: more names would overlap."""


def plot(report: ValidationReport, path: Path, model: str = DEFAULT_MODEL) -> None:
    """Draw to a .png, .svg or .pdf: a point per result, the model's own interval, equality."""
    plt.switch_backend("Agg")
    results = [result for result in report.results if model in result.models]
    measured = [result.slowdown for result in results]
    predicted = [result.models[model] for result in results]
    xs, ys = [value.value for value in measured], [value.slowdown for value in predicted]
    figure, axes = plt.subplots(figsize=SIZE_INCHES)
    try:
        low, high = min([*xs, *ys, 1.0]) * 0.98, max([*xs, *ys, 1.0]) * 1.02
        axes.plot([low, high], [low, high], color="0.6", linewidth=1, label="predicted = measured")
        axes.axhline(1.0, color="0.8", linestyle=":", label="null: no slowdown")
        axes.errorbar(
            xs,
            ys,
            yerr=[
                [max(value.slowdown - value.low, 0.0) for value in predicted],
                [max(value.high - value.slowdown, 0.0) for value in predicted],
            ],
            xerr=[
                [max(value.value - value.low, 0.0) for value in measured],
                [max(value.high - value.value, 0.0) for value in measured],
            ],
            fmt="o",
            markersize=4,
            linewidth=0.8,
            label=f"{model}, its own 90 % intervals",
        )
        if len(results) <= MAX_LABELS:
            for result, x, y in zip(results, xs, ys, strict=True):
                axes.annotate(result.name, (x, y), (4, 4), textcoords="offset points", fontsize=7)
        first = report.sessions[0]
        axes.set_xlabel("measured slowdown (far / near CPU time)")
        axes.set_ylabel("predicted slowdown")
        axes.set_title(f"{first.near} -> {first.far}", fontsize=10)
        axes.legend(loc="upper left", fontsize=8)
        figure.tight_layout()
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:])
    finally:
        plt.close(figure)
