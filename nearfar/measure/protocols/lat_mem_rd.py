"""lmbench's lat_mem_rd: in order, so that prefetchers help."""

from __future__ import annotations

from nearfar.measure.protocols.recipe import RECIPES, Recipe, in_order, region, small_pages

REGION_BYTES = 256 << 20
"""Its size is an argument; with 256 MB even caches of large servers are small beside it."""

RECIPES.register("lat-mem-rd")(
    Recipe(
        whose="lmbench 3 lat_mem_rd (McVoy, Staelin, USENIX 1996), manual: a stride of 64 B, its "
        "default",
        steps=(region(REGION_BYTES), in_order(), small_pages()),
        differs="it goes through the region backwards",
    )
)
