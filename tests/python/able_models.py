"""The models that any profile serves: the others need flush counts, curves, bursts, or counts."""

from __future__ import annotations

from nearfar.predict.model import MODELS

NEEDY = ("persist", "memory-mode", "code", "window")
ABLE_MODELS = [name for name in MODELS.names() if name not in NEEDY]
