"""A processor's core: window, buffers, latencies, page walks and prefetchers, from user space.

In: a `CoreSubject` (this machine's core, or a simulated one). Out: `CoreFigures`, each with an
interval, or the reason why it was not seen. Times are ns unless a name says otherwise.
"""

from nearfar.measure.core.measure import (
    DURATION_S,
    SIZES,
    disagreements,
    measure_core,
    measure_this_core,
    measured_machine,
    self_test,
    simulated_cores,
    within_one_step,
)
from nearfar.measure.core.simulated import SimulatedCore
from nearfar.measure.core.subject import CoreLacksError, CoreSubject, NativeCore

__all__ = [
    "DURATION_S",
    "SIZES",
    "CoreLacksError",
    "CoreSubject",
    "NativeCore",
    "SimulatedCore",
    "disagreements",
    "measure_core",
    "measure_this_core",
    "measured_machine",
    "self_test",
    "simulated_cores",
    "within_one_step",
]
