"""What one inference hands back: figures, what was not seen, evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearfar.documents.device import BufferFigure
    from nearfar.measure.infer.capacity import Capacity


@dataclass(frozen=True)
class InferredBuffer:
    """A level of the memory itself, with what else is known of it so far."""

    figure: BufferFigure
    capacity: Capacity
    step_ns: float
    """What an access costs more that it misses."""
    beyond_bytes: int
    """Capacity of the next level, or the largest region tested."""
