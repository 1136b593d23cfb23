"""PerMA-Bench's operation latency: 429 ns of Optane 100, clock and TLB misses in it."""

from __future__ import annotations

from nearfar.measure.protocols.recipe import (
    RECIPES,
    Recipe,
    clock_stays,
    each,
    region,
    small_pages,
)

RANGE_BYTES = 10 << 30
"""total_memory_range in its workloads/operations/latency.yaml."""

RECIPES.register("perma-op")(
    Recipe(
        whose="PerMA-Bench operation_latency (Benson et al., PVLDB 15(11), 2022; "
        "github.com/hpides/perma-bench)",
        steps=(region(RANGE_BYTES), small_pages(), each(), clock_stays()),
        differs="it times one operation in 5,000 and draws a new address each time",
    )
)
