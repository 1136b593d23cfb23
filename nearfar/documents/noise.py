"""MeasurementNoise: noise of the measurements on which a prediction or plan is based."""

from __future__ import annotations

import msgspec


class MeasurementNoise(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Noise of near memory's measurement, or of a far one that was measured and is noisier."""

    memory: str
    """Name of the device."""
    noise_floor: float
    """Largest A/A floor of the figures used, relative; 0 for published figures."""
    clock_drift: float
    """Range of the machine's speed during the measurement, relative; 0: none, or not watched."""
    contention: float
    """Share of the time in which some program waited for a CPU; 0: none, or not known."""
    near_time: float
    """Relative half-width of the program's near time from its repetitions; 0 for a single one."""
    widening: float
    """Width of the slowdown's interval divided by its width without this noise, for the far memory
    where this is largest."""
    sentence: str
    """The noise in one sentence, with advice."""
