"""How other tools measure read latency, as recipes that run on any memory, and why they differ.

Glossary
--------
recipe      one tool's way: the plain chase, changed one factor after the other (`recipe`)
step        one such change and the cause that its difference is attributed to
plain chase dependent loads, random over the largest region, large pages, many timed at once
cause       buffer-miss (region), window, stride, prefetch (order), tlb (pages), each (fences around
            every access), timer (its cost kept in), best-of (the best sample, not the median)

Published read latencies of Optane differ by such factors and by the number of DIMMs: 305 ns (six
DIMMs, random), 377 (one DIMM beyond its buffers), 429 (every operation timed, clock and TLB in it).
To add a recipe, write one file; nothing else lists it.
"""

from __future__ import annotations

from nearfar.measure.protocols._run import describe, run_protocols
from nearfar.measure.protocols.recipe import RECIPES, Recipe

__all__ = ["RECIPES", "Recipe", "describe", "run_protocols"]
