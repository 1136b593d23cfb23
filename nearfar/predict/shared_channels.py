"""Bandwidth that groups of threads, or two memories, get when they share memory channels.

Two laws, both from published and measured scaling curves:

- One memory: a group that would draw D alone without limit gets B = (D^-p + C^-p)^(-1/p), where C
  is the capacity and p the sharpness of the knee.
- Several groups on the same channels: the utilisation of the channels is the sum over groups of
  drawn bandwidth / capacity. The sum of the groups' demands is limited by the same law, and every
  group waits equally long for the channels: a thread that alone takes 1/b per byte takes 1/b + w/C
  when all run. So a thread that demands more gets more, and each gets less than alone.

What two memories give together is measured (`nearfar machine --measure --joint`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import harmonic_mean

import numpy as np

from nearfar.documents import DeviceProfile, MachineProfile
from nearfar.documents.machine import JointLimit
from nearfar.memories.joint_bandwidth import joint_bandwidth
from nearfar.predict.traffic import Array

BISECTION_STEPS = 100
"""Halvings of the waiting time: to the last digit of a double."""

FAR_SHARES = np.linspace(0.0, 1.0, 65)
"""Points of a `ChannelSharing`: finer than the splits of 16 threads at which limits are measured.
"""


@dataclass(frozen=True)
class Scaling:
    """Growth of one memory's bandwidth with the threads that draw it, GB/s."""

    one_thread: float
    capacity: float
    sharpness: float

    def at(self, threads: Array | float) -> Array:
        """Return the bandwidth of `threads` threads, GB/s."""
        return limited(np.asarray(threads, dtype=float) * self.one_thread, self)


@dataclass(frozen=True)
class ThreadGroup:
    """Threads that do the same."""

    threads: float
    scaling: Scaling


@dataclass(frozen=True)
class ChannelSharing:
    """Loss of bandwidth of two memories that share channels, by the far share of bytes."""

    far_shares: Array
    given: Array
    """Bandwidth of both together over that of independent memories, 0..1."""

    def at(self, far_share: Array) -> Array:
        """Return `given` at a far share of bytes."""
        return np.asarray(np.interp(far_share, self.far_shares, self.given))


def limited(demand: Array | float, scaling: Scaling) -> Array:
    """Return the bandwidth of threads that would draw `demand` from an unlimited memory, GB/s."""
    demands = np.asarray(demand, dtype=float)
    p = scaling.sharpness
    with np.errstate(divide="ignore"):
        drawn = (demands**-p + scaling.capacity**-p) ** (-1.0 / p)
    return np.asarray(np.where(demands > 0, drawn, 0.0))


def shared_bandwidth(groups: Sequence[ThreadGroup]) -> list[float]:
    """Return the bandwidth of each group, GB/s, while all run on the same channels."""
    running = [group for group in groups if group.threads > 0]
    if not running:
        return [0.0 for _ in groups]
    demands = [
        group.threads * group.scaling.one_thread / group.scaling.capacity for group in running
    ]
    demand = sum(demands)
    sharpness = (
        sum(d * group.scaling.sharpness for d, group in zip(demands, running, strict=True)) / demand
    )
    utilisation = (demand**-sharpness + 1.0) ** (-1.0 / sharpness)
    waiting = _common_waiting(running, utilisation)
    return [_drawn(group, waiting) for group in groups]


def mixed_scaling(first: Scaling, second: Scaling) -> Scaling:
    """Return the scaling of work that moves half of its bytes in each of two ways.

    Times per byte add, alone and at capacity, so bandwidths are harmonic means.
    """
    return Scaling(
        one_thread=harmonic_mean((first.one_thread, second.one_thread)),
        capacity=harmonic_mean((first.capacity, second.capacity)),
        sharpness=(first.sharpness + second.sharpness) / 2,
    )


def channel_sharing(
    machine: MachineProfile | None, near: DeviceProfile, far: DeviceProfile
) -> ChannelSharing | None:
    """Return how two memories limit each other on this machine; None: independent or unknown."""
    limit = joint_limit(machine, near, far)
    if limit is None or not limit.shared:
        return None
    return _sharing_of(limit, reverse=not _is_named(near, limit.memories[0]))


def joint_limit(
    machine: MachineProfile | None, near: DeviceProfile, far: DeviceProfile
) -> JointLimit | None:
    """Return the machine's joint limit of two memories; None: not measured."""
    for limit in machine.joint_limits if machine is not None else []:
        for first, second in ((near, far), (far, near)):
            if _is_named(first, limit.memories[0]) and _is_named(second, limit.memories[1]):
                return limit
    return None


def _is_named(device: DeviceProfile, name: str) -> bool:
    spec = device.measured.memory_spec if device.measured is not None else None
    return name in (device.name, spec)


def _sharing_of(limit: JointLimit, *, reverse: bool) -> ChannelSharing:
    """Return the measured joint bandwidth over that of independent memories, by far share."""
    given = []
    for share in FAR_SHARES:
        parts = (share, 1.0 - share) if reverse else (1.0 - share, share)
        independent = min(
            alone / part
            for alone, part in zip(limit.alone_gb_per_s, parts, strict=True)
            if part > 0
        )
        both = sum(joint_bandwidth(limit, independent * parts[0], independent * parts[1]))
        given.append(min(1.0, both / independent))
    return ChannelSharing(FAR_SHARES, np.array(given))


def _drawn(group: ThreadGroup, waiting: float) -> float:
    if group.threads <= 0:
        return 0.0
    return group.threads / (1.0 / group.scaling.one_thread + waiting / group.scaling.capacity)


def _common_waiting(groups: Sequence[ThreadGroup], utilisation: float) -> float:
    """Return the waiting w that gives this utilisation, which falls as w grows."""
    low, high = 0.0, 1.0
    while sum(_drawn(group, high) / group.scaling.capacity for group in groups) > utilisation:
        high *= 2.0
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        drawn = sum(_drawn(group, middle) / group.scaling.capacity for group in groups)
        low, high = (middle, high) if drawn > utilisation else (low, middle)
    return (low + high) / 2
