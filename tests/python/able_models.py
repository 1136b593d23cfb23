"""The models that need only a profile; others need flushes, curves, bursts, formulas or stalls."""

from __future__ import annotations

from nearfar.predict.model import MODELS

NEEDY = ("persist", "memory-mode", "code", "window", "stalls")
ABLE_MODELS = [name for name in MODELS.names() if name not in NEEDY]
