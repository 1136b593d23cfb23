"""Intel MLC's random idle latency: inside a window that moves on, so that TLB misses are hidden."""

from __future__ import annotations

from nearfar.measure.protocols.recipe import RECIPES, Recipe, region, small_pages, window

BUFFER_BYTES = 200_000 * 1024
"""-b: 200,000 KB."""
WINDOW_BYTES = 4096 * 64
"""-D: 4096 lines."""

RECIPES.register("mlc-random-window")(
    Recipe(
        whose="Intel Memory Latency Checker 3.9, manual: --idle_latency -r, the way it takes "
        "where it may not switch prefetchers off",
        steps=(region(BUFFER_BYTES), window(WINDOW_BYTES), small_pages()),
        differs="the window hides TLB misses and row misses on purpose, and with them the misses "
        "of buffers that hold pages",
    )
)
