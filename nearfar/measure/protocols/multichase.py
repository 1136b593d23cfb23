"""Google's multichase with its defaults."""

from __future__ import annotations

from nearfar.measure.protocols.recipe import (
    RECIPES,
    Recipe,
    best,
    region,
    small_pages,
    stride,
    window,
)

TOTAL_BYTES = 256 << 20
STRIDE_BYTES = 256
LOCALITY_BYTES = 64 * 4096
"""DEF_TOTAL_MEMORY, DEF_STRIDE and DEF_TLB_LOCALITY (64 pages) in its multichase.c."""

RECIPES.register("multichase")(
    Recipe(
        whose="multichase without options (github.com/google/multichase, multichase.c)",
        steps=(
            region(TOTAL_BYTES),
            stride(STRIDE_BYTES),
            window(LOCALITY_BYTES),
            small_pages(),
            best(),
        ),
        differs="its best is that of 5 samples of half a second",
    )
)
