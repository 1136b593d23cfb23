"""The instrument itself: what timer, pages, prefetchers, clock and neighbours do to a measurement.

Glossary
--------
probe      measures points on the subject and judges them: `timer`, `tlb`, `prefetch`
verdict    what was found of one thing, whether figures suffer, and what a person can do
watch      looks at clock, steal time and interruptions between rounds, all the while (`watch`)
figure     what a probe measured that belongs into the DeviceProfile anyway

`examine` runs the probes on any Subject. What asks the machine (MSRs, siblings, the watch) is left
out where the subject has no CPUs, as a simulated device.
"""

from __future__ import annotations

from nearfar.measure.instrument.examine import Instrument, disturbed_share, examine
from nearfar.measure.instrument.verdict import InstrumentVerdict
from nearfar.measure.instrument.watch import InstrumentWatch

__all__ = ["Instrument", "InstrumentVerdict", "InstrumentWatch", "disturbed_share", "examine"]
