"""Slowdown where other programs take most of the last-level cache.

A program whose data fit the last-level cache of an idle machine hardly notices far memory. On a
server whose cores are all busy, a core gets about 2 MiB of that cache, and the same data miss.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile, Prediction, WorkloadProfile
from nearfar.documents.prediction import HostRule
from nearfar.options.predict import PredictOptions
from nearfar.predict.api import predict
from nearfar.report.limited_data import BusyServer
from nearfar.report.prepare import is_part

CORE_SHARE_BYTES = 2 << 20
"""A core's share of the last-level cache where all cores are busy: server processors have 1.4 to
5 MiB a core."""
MIN_DIFFERENCE = 0.02
"""Smallest change of a slowdown that is reported; near time varies by as much."""


def busy_server(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    prediction: Prediction,
    host: HostRule,
) -> BusyServer | None:
    """Return the slowdowns with a busy server's share of the cache, near time predicted for it too.

    None if they are within the intervals of `prediction`, if the profile's cache is not larger than
    that share, or if the profile has no miss curves.
    """
    threads = max(1, round(_busy_threads(profile)))
    cache_bytes = threads * CORE_SHARE_BYTES
    if cache_bytes >= profile.cache.size_bytes or profile.uncounted_share >= 1.0:
        return None
    try:
        shared = predict(
            PredictOptions(
                profile=profile, near=near, here=near, far=fars, host=host,
                llc=f"{cache_bytes}B", max_objects=0,
            )
        )  # fmt: skip
    except NearfarError:  # the profile has no miss curves, or none for this size
        return None
    alone = {device.far: device.total.slowdown for device in prediction.devices}
    slowdowns = {device.far: device.total.slowdown for device in shared.devices}
    if not any(_differs(slowdown, alone[name]) for name, slowdown in slowdowns.items()):
        return None
    slower = [slowdown for slowdown in slowdowns.values() if slowdown.value > 1.0]
    return BusyServer(
        cache_bytes=cache_bytes,
        slowdowns=slowdowns,
        sentence=_sentence(profile, threads, cache_bytes, slower),
    )


def _busy_threads(profile: WorkloadProfile) -> float:
    """Return how many threads compute at the same time, as a mean over the run."""
    wall_ns = sum(phase.near_wall_time_ns for phase in profile.phases)
    cpu_ns = sum(phase.near_cpu_time_ns.value for phase in profile.phases)
    return cpu_ns / wall_ns if wall_ns > 0 else 1.0


def _differs(shared: Estimate, alone: Estimate) -> bool:
    least = max(1.0, alone.high, alone.value + MIN_DIFFERENCE)
    return shared.value > least


def _sentence(
    profile: WorkloadProfile, threads: int, cache_bytes: int, slower: Sequence[Estimate]
) -> str:
    subject = "its observed part" if is_part(profile) else "it"
    cores = "one core gets" if threads == 1 else f"{threads} cores get"
    values = [slowdown.value for slowdown in slower]
    first, last = f"{min(values):.2f}", f"{max(values):.2f}"
    span = first if first == last else f"{first} to {last}"
    low, high = min(each.low for each in slower), max(each.high for each in slower)
    return (
        f"On a busy server, where {cores} {format_bytes(cache_bytes)} of the last-level cache "
        f"instead of {format_bytes(profile.cache.size_bytes)}, {subject} takes {span} times "
        f"({low:.2f}-{high:.2f})."
    )
