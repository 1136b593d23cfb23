"""Predicted against measured slowdown, with intervals."""

from __future__ import annotations

from pathlib import Path

from nearfar.base.files import atomic_path
from nearfar.documents.validation import ValidationReport
from nearfar.predict.model import DEFAULT_MODEL

SIZE_INCHES = (8.0, 7.0)
LABELLED = 40
"""Results beyond which names would cover each other."""


def plot(report: ValidationReport, path: Path, model: str = DEFAULT_MODEL) -> None:
    """Draw to a .png, .svg or .pdf: one point a result, the model's own interval, equality."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    had = [one for one in report.results if model in one.models]
    measured = [one.slowdown.value for one in had]
    predicted = [one.models[model].slowdown for one in had]
    figure, axes = plt.subplots(figsize=SIZE_INCHES)
    try:
        low = min([*measured, *predicted, 1.0]) * 0.98
        high = max([*measured, *predicted, 1.0]) * 1.02
        axes.plot([low, high], [low, high], color="0.6", linewidth=1, label="predicted = measured")
        axes.axhline(1.0, color="0.8", linestyle=":", label="null: no slowdown")
        below = [max(p - one.models[model].low, 0.0) for one, p in zip(had, predicted, strict=True)]
        above = [
            max(one.models[model].high - p, 0.0) for one, p in zip(had, predicted, strict=True)
        ]
        left = [max(m - one.slowdown.low, 0.0) for one, m in zip(had, measured, strict=True)]
        right = [max(one.slowdown.high - m, 0.0) for one, m in zip(had, measured, strict=True)]
        axes.errorbar(
            measured,
            predicted,
            yerr=[below, above],
            xerr=[left, right],
            fmt="o",
            markersize=4,
            linewidth=0.8,
            label=f"{model}, its own 90 % intervals",
        )
        if len(had) <= LABELLED:
            for one, x, y in zip(had, measured, predicted, strict=True):
                axes.annotate(one.name, (x, y), (4, 4), textcoords="offset points", fontsize=7)
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
