"""MeasurementNoise: noise of the measurements that a prediction or plan was made from."""

from __future__ import annotations

import msgspec


class MeasurementNoise(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Noise of near memory's measurement (of a far one, where that is measured and noisier)."""

    memory: str
    """Name of the device."""
    noise_floor: float
    """Greatest A/A floor of the figures used, relative; 0 for published figures."""
    clock_drift: float
    """Range of the machine's speed during the measurement, relative; 0: none, or not watched."""
    contention: float
    """Share of the time in which some program waited for a CPU; 0: none, or not known."""
    near_time: float
    """Relative half-width of the program's near time by its repetitions; 0 for a single one."""
    widening: float
    """Width of the slowdown's interval over its width without any of these, of the far memory with
    the greatest."""
    sentence: str
    """All of that, and what to do."""
