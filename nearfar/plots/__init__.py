"""Pictures of a measured memory: one kind of figure a file, found by the registry."""

from nearfar.plots._data import FIGURES, Drawing, Panel
from nearfar.plots._draw import ENDINGS, check_ending, panels_of, plot, plot_drawing

__all__ = [
    "ENDINGS",
    "FIGURES",
    "Drawing",
    "Panel",
    "check_ending",
    "panels_of",
    "plot",
    "plot_drawing",
]
