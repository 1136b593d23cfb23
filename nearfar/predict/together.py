"""Joint limits of a machine: near and far memory that hold each other back."""

from __future__ import annotations

import numpy as np

from nearfar.documents import DeviceProfile, MachineProfile
from nearfar.documents.machine import JointLimit
from nearfar.memories.joint_bandwidth import joint_bandwidth
from nearfar.predict.memory import ChannelSharing

SHARES = np.linspace(0.0, 1.0, 65)
"""Fine beside the splits of 16 threads, which are what limits are measured at."""


def channel_sharing(
    machine: MachineProfile | None, near: DeviceProfile, far: DeviceProfile
) -> ChannelSharing | None:
    """Return what both give at once, by the machine's joint limits; None where they are apart."""
    limit = joint_limit(machine, near, far)
    if limit is None or not limit.shared:
        return None
    return _of(limit, turned=not _is(near, limit.memories[0]))


def joint_limit(
    machine: MachineProfile | None, near: DeviceProfile, far: DeviceProfile
) -> JointLimit | None:
    """Return what was measured of both memories at once; None: nothing."""
    for limit in machine.joint_limits if machine is not None else []:
        for first, second in ((near, far), (far, near)):
            if _is(first, limit.memories[0]) and _is(second, limit.memories[1]):
                return limit
    return None


def _is(device: DeviceProfile, named: str) -> bool:
    spec = device.measured.memory_spec if device.measured is not None else None
    return named in (device.name, spec)


def _of(limit: JointLimit, *, turned: bool) -> ChannelSharing:
    """Compare the limit with two memories that each give what they give alone."""
    given = []
    for share in SHARES:
        parts = (share, 1.0 - share) if turned else (1.0 - share, share)
        free = min(
            alone / part
            for alone, part in zip(limit.alone_gb_per_s, parts, strict=True)
            if part > 0
        )
        both = sum(joint_bandwidth(limit, free * parts[0], free * parts[1]))
        given.append(min(1.0, both / free))
    return ChannelSharing(SHARES, np.array(given))
