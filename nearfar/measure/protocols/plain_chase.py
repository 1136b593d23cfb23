"""nearfar's own: what the others are compared with."""

from __future__ import annotations

from nearfar.measure.protocols.recipe import RECIPES, Recipe

RECIPES.register("plain-chase")(Recipe(whose="nearfar: random over the largest region", steps=()))
