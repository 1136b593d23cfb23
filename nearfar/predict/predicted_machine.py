"""Another machine than the profile's, as options describe it, and the profile there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nearfar.base.units import parse_size_bytes
from nearfar.devices.cores import completed_core, load_core
from nearfar.devices.machines import TargetMachine
from nearfar.documents import DeviceProfile, MachineProfile, WorkloadProfile, load
from nearfar.documents.core import CoreFigures
from nearfar.predict.on_machine import ConvertedProfile, on_machine
from nearfar.predict.other_machine import on_other_machine, parse_near_times


@dataclass(frozen=True, kw_only=True)
class PredictedMachine:
    """The machine that a prediction is for; by default the profile's own."""

    target: TargetMachine | None = None
    here: DeviceProfile | None = None
    """The memory that the profile was taken in, to predict near time from."""
    llc: str | None = None
    near_time: Sequence[str] = ()
    near_size: str | None = None
    frequency: float = 1.0
    threads: int | None = None

    def near(self, device: DeviceProfile) -> DeviceProfile:
        """Return near memory with its capacity on the predicted machine."""
        near_bytes = None if self.target is None else self.target.near_bytes
        if self.near_size is not None:
            near_bytes = parse_size_bytes(self.near_size)
        if near_bytes is None:
            return device
        return msgspec.structs.replace(device, capacity_bytes=near_bytes)

    def converted(
        self, workload: WorkloadProfile, near: DeviceProfile, core: CoreFigures | None
    ) -> ConvertedProfile:
        """Return the profile as this machine would run it."""
        names = [phase.name for phase in workload.phases]
        if self.target is not None:
            whole = [
                text if "=" in text or len(names) == 1 else f"={text}" for text in self.near_time
            ]
            return on_machine(
                workload,
                self.target,
                near,
                here=self.here,
                near_times_ns=parse_near_times(whole, names),
                threads=self.threads,
                core=core,
            )
        if self.llc is None and not self.near_time and self.here is None:
            return ConvertedProfile(workload)
        return ConvertedProfile(
            on_other_machine(
                workload,
                near,
                llc_bytes=None if self.llc is None else parse_size_bytes(self.llc),
                here=self.here,
                frequency_ratio=self.frequency,
                near_times_ns=parse_near_times(list(self.near_time), names),
            )
        )


def measured_core(target: TargetMachine, machine: MachineProfile) -> CoreFigures | None:
    """Return the measured core of a machine profile, completed by the library; None: none."""
    known = None if target.core is None else load_core(target.core)
    return machine.core and completed_core(machine.core, known)


def machine_profile(on: str | Path | MachineProfile | None) -> MachineProfile | None:
    """Return the machine profile that --on names; None: --on names a target machine or nothing."""
    if isinstance(on, str | Path):
        path = Path(on)
        return load(path, MachineProfile) if path.suffix.lower() == ".json" else None
    return on
