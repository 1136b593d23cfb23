"""LENS's pointer chase beyond the buffers: 377 ns of one Optane 100 DIMM."""

from __future__ import annotations

from nearfar.measure.protocols.recipe import RECIPES, Recipe, region

REGION_BYTES = 256 << 20
"""From here on the published chase of one DIMM is flat (377 ns at 256 MiB and at 1 GiB)."""

RECIPES.register("lens-chase")(
    Recipe(
        whose="LENS's buffer prober (Wang et al., Characterizing and Modeling Non-Volatile Memory "
        "Systems, MICRO 2020; github.com/TheNetAdmin/LENS), blocks of 64 B, total time over lines",
        steps=(region(REGION_BYTES),),
        differs="it runs in the kernel, writes the region before it reads it, and uses "
        "non-temporal loads",
    )
)
