"""A BenchResult as a picture: one line per combination over one argument, or bars."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.estimate import Estimate
from nearfar.base.files import atomic_path
from nearfar.documents.bench import BenchCell, BenchResult

LABELS = {
    "ns_per_operation": "time per operation (ns)",
    "cpu_ns_per_operation": "processor time per operation (ns)",
    "operations_per_s": "operations per second",
    "kernel_share": "kernel's share of processor time",
    "slowdown": "slowdown",
}


def draw(result: BenchResult, path: Path) -> None:
    """Draw `result` to `path`; its suffix chooses the format."""
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.add_subplot()
    y = result.picture.get("y", "ns_per_operation")
    x = result.picture.get("x", next(iter(result.matrix), ""))
    if x and x not in result.matrix:
        raise NearfarError(
            f"the picture's x, {x!r}, is not in the matrix{nearest(x, list(result.matrix))}"
        )
    _lines(result, x, y, axes)
    axes.set_ylabel(LABELS.get(y, y.replace("_", " ")))
    axes.set_title(result.title)
    axes.grid(visible=True, alpha=0.25)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="small")
    caption = f"Median and 95 % interval of {result.repeats} runs; {result.producer.cpu_model}."
    figure.supxlabel(caption, fontsize="small")
    with atomic_path(path) as temporary:
        try:
            figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=150)
        except ValueError as error:
            raise NearfarError(f"cannot draw {path}: {error}") from error


def value_of(cell: BenchCell, y: str) -> Estimate | None:
    """Return the value to draw: a figure, a percentile (p99_ns), a count or the slowdown."""
    if y == "slowdown":
        return cell.slowdown
    if y in cell.figures:
        return cell.figures[y]
    plain = cell.counts.get(y, cell.latency_ns.get(y.removesuffix("_ns")))
    return None if plain is None else Estimate(plain, plain, plain)


def _lines(result: BenchResult, x: str, y: str, axes: Axes) -> None:
    """Draw `y` over `x`, a line with intervals for each combination of the other arguments."""
    line_keys = result.picture.get("lines", [key for key in result.matrix if key != x])
    groups: dict[str, list[BenchCell]] = {}
    for cell in result.cells:
        name = ", ".join(cell.arguments.get(key, "") for key in line_keys)
        groups.setdefault(name, []).append(cell)
    x_values = result.matrix.get(x, [""])
    x_numbers = [float(x_value) for x_value in x_values] if all(map(_number, x_values)) else None
    drawn = False
    for name, cells in groups.items():
        places, values, below, above = [], [], [], []
        for cell in cells:
            estimate = value_of(cell, y)
            if estimate is None:
                continue
            x_value = cell.arguments.get(x, "")
            places.append(float(x_values.index(x_value)) if x_numbers is None else float(x_value))
            values.append(estimate.value)
            below.append(estimate.value - estimate.low)
            above.append(estimate.high - estimate.value)
        if places:
            drawn = True
            axes.errorbar(
                places, values, yerr=[below, above], marker="o", capsize=3, label=name or None
            )
    if not drawn:
        raise NearfarError(f"there is no figure {y!r} to draw: see the keys of --json")
    if x_numbers is None:
        axes.set_xticks(range(len(x_values)), x_values, rotation=20)
    elif min(x_numbers) > 0 and max(x_numbers) >= 20 * min(x_numbers):
        axes.set_xscale("log")
    axes.set_xlabel(x)
    axes.set_yscale("log")


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
