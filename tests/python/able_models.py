"""The models that any profile serves: the others need flush counts, curves, or a file of counts."""

from __future__ import annotations

from nearfar.predict.model import MODELS

ABLE_MODELS = [name for name in MODELS.names() if name not in ("persist", "memory-mode", "code")]
