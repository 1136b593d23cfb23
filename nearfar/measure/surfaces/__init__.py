"""The surfaces of a memory, one file each: which points, and which figures follow from them.

A surface is a subclass of `Surface` whose file is its registration: a module of this folder with a
class marked ``@SURFACES.register(NAME)``. To add one: one file. Its points all have one `group`
or are distinguished by `owns`, so that samples from a file find their surface again.

Glossary
--------
plan        how many points there is time for: short (--quick) or full, and what the subject can do
share       reads over all that crosses the memory bus, lines read for ownership included
tail        percentiles of the times of single accesses
"""

from nearfar.measure.surfaces._surface import (
    SURFACES,
    Samples,
    Surface,
    SurfaceFigures,
    SurfacePlan,
    all_surfaces,
)

__all__ = ["SURFACES", "Samples", "Surface", "SurfaceFigures", "SurfacePlan", "all_surfaces"]
