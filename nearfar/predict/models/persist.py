"""Programs that flush: what their fences wait for, beside what the inversion says of the rest.

A fence waits until the lines flushed since the last one are durable: the latency of one persisted
write, and for each line beyond the first what the memory's persist bandwidth takes. Near time
holds the near memory's wait; the far one's takes its place. Non-temporal stores cost their lines'
bandwidth.
"""

from __future__ import annotations

import numpy as np

from nearfar.devices import curves
from nearfar.documents.device import DeviceProfile
from nearfar.predict.memory import Memory
from nearfar.predict.model import MODELS, NO_DOUBT, Doubt, ModelLacksError
from nearfar.predict.models.inversion import Inversion
from nearfar.predict.traffic import FENCE, FLUSH, LINE_BYTES, NT_LINE, Array, PhaseTraffic


@MODELS.register("persist")
class Persist(Inversion):
    """The inversion, and the difference of what fences wait."""

    name = "persist"

    def __init__(
        self, phase: PhaseTraffic, near: Memory, far: Memory, doubt: Doubt = NO_DOUBT
    ) -> None:
        if not float(phase.total[[FLUSH, FENCE, NT_LINE]].sum()):
            raise ModelLacksError(
                "persist needs counts of flushes, fences and non-temporal stores, and the profile, "
                "or a phase of it, has none"
            )
        super().__init__(phase, near, far, doubt)
        # Local DRAM persists nothing; a flushed line takes about as long as a read one there.
        self._near_ns = (persisted_ns(near.device) or near.latency_ns, persist_line_ns(near.device))
        far_ns = persisted_ns(far.device)
        if far_ns is None:
            raise ModelLacksError(
                f"persist needs the latency of a persisted write, and {far.device.name} gives "
                "none: add [[latency]] with operation = 'clwb' to a copy of it"
            )
        line_ns = persist_line_ns(far.device) / doubt.far_bandwidth
        self._far_ns = (far_ns * doubt.far_latency, line_ns)
        waited_ns = float(self._wait(self.total, self._near_ns))
        # Where it ran faster than its fences allow, the figures are too high alike.
        self._scale = min(1.0, self.near_time_ns / max(waited_ns, 1e-9))

    def times_ns(self, moved: Array) -> Array:
        """Return the inversion's time with the moved fences' waits exchanged, ns."""
        time_ns = super().times_ns(moved)
        if self.far.is_near:
            return time_ns
        moved = moved * self.doubt.lines
        added = self._wait(moved, self._far_ns) - self._wait(moved, self._near_ns)
        return np.asarray(np.maximum(time_ns + self._scale * added, 0.0))

    def remarks(self) -> list[str]:
        """Say what a wait was taken from."""
        return [
            f"persist: a fence waits {self._far_ns[0]:.0f} ns in {self.far.device.name} and "
            f"{self._near_ns[0]:.0f} ns in {self.near.device.name} for one line"
        ]

    def _wait(self, lines: Array, persist_ns: tuple[float, float]) -> Array:
        fence_ns, line_ns = persist_ns
        written = lines[..., FLUSH] + lines[..., NT_LINE]
        # A fence that nothing was flushed before waits for nothing.
        waits = np.minimum(lines[..., FENCE], written)
        return np.asarray(waits * fence_ns + (written - waits) * line_ns)


def persisted_ns(device: DeviceProfile) -> float | None:
    """Return the latency of one persisted line, ns: flushed, else non-temporal; None: unknown."""
    for operation in ("clwb", "nt-store", "write"):
        figure = curves.idle_latency_ns(device, operation)
        if figure is None:
            figure = curves.idle_latency_ns(device, operation, "sequential")
        if figure is not None:
            return figure.value_ns
    return None


def persist_line_ns(device: DeviceProfile) -> float:
    """Return what one of many persisted lines takes, ns: by bandwidth."""
    return LINE_BYTES / curves.bandwidth(device, "clwb").value_gb_per_s
