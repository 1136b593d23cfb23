"""Pictures of a measured memory: one kind of figure a file, found by the registry.

To add one: a file with a function marked ``@FIGURES.register("name")`` that returns the panels it
can draw of what is there (none, if nothing is). To remove it: delete the file.
"""

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
