"""LATTester's best-case read latency: 305 ns of six interleaved Optane 100 DIMMs."""

from __future__ import annotations

from nearfar.measure.protocols.recipe import RECIPES, Recipe, each, region

POOL_BYTES = 1 << 30
"""BASIC_OP_POOL_BITS = 30 in its lattester.h."""

RECIPES.register("lattester-random")(
    Recipe(
        whose="LATTester task 1 (Yang et al., An Empirical Guide to the Behavior and Use of "
        "Scalable Persistent Memory, FAST 2020, figure 2; github.com/NVSL/OptaneStudy)",
        steps=(region(POOL_BYTES), each()),
        differs="it runs in the kernel, flushes each line before, and loads from addresses drawn "
        "beforehand; an empty reading of its clock is printed beside, here it is taken off",
    )
)
