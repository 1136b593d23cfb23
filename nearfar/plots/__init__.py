"""Pictures of a measured memory: one file for each kind, found by the registry."""

from nearfar.plots._data import PICTURES, Drawing, Panel
from nearfar.plots._draw import ENDINGS, check_ending, panels_of, plot, plot_drawing

__all__ = [
    "ENDINGS",
    "PICTURES",
    "Drawing",
    "Panel",
    "check_ending",
    "panels_of",
    "plot",
    "plot_drawing",
]
