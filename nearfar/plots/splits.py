"""Joint limits: the bandwidths of two competing copies for every split of the threads."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes

from nearfar.documents.machine import JointLimit, Split
from nearfar.plots import _axes
from nearfar.plots._data import PICTURES, Drawing, Panel


@PICTURES.register("splits")
def panels(drawing: Drawing) -> list[Panel]:
    """Return a panel for each pair of memories and each pair of copies."""
    drawn = []
    for limit in drawing.joint_limits:
        a, b = limit.memories
        groups: dict[tuple[str, str], list[Split]] = {}
        for split in limit.splits:
            groups.setdefault(split.copies, []).append(split)
        for copies, splits in groups.items():
            title = f"{copies[0]} beside {copies[1]}; A = {a}, B = {b}"
            drawn.append(Panel(title, _painter(limit, splits)))
    return drawn


def _painter(limit: JointLimit, splits: list[Split]) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        ordered = sorted(splits, key=lambda split: split.threads)
        places = range(len(ordered))
        first = [split.gb_per_s[0] for split in ordered]
        second = [split.gb_per_s[1] for split in ordered]
        copies = ordered[0].copies
        # Equal names would make the two lines indistinguishable in the legend.
        names = copies if copies[0] != copies[1] else (f"{copies[0]} (1st)", f"{copies[1]} (2nd)")
        axes.bar(places, first, width=0.75, label=names[0])
        axes.bar(places, second, width=0.75, bottom=first, label=names[1])
        best = max(limit.together_gb_per_s, *(map(sum, zip(first, second, strict=True))))
        axes.axhline(
            limit.together_gb_per_s,
            color="0.2",
            ls="--",
            lw=1,
            label=f"best of all splits, {limit.together_gb_per_s:.3g} GB/s",
        )
        apart = sum(limit.alone_gb_per_s)
        if apart < 2.5 * best:
            axes.axhline(
                apart, color="0.2", ls=":", lw=1, label=f"A and B alone, summed, {apart:.3g} GB/s"
            )
        labels = [f"{split.threads[0]}+{split.threads[1]}" for split in ordered]
        axes.set_xticks(places, labels, rotation=60 if len(labels) > 9 else 0)
        axes.set(xlabel="threads of the one + of the other", ylabel="copied, GB/s (1e9 B/s)")
        axes.set_ylim(0, best * 1.1 if apart >= 2.5 * best else max(best, apart) * 1.1)
        axes.grid(alpha=0.25, axis="y")
        _axes.legend(axes, rows_below=2 if len(labels) > 9 else 1)

    return draw
