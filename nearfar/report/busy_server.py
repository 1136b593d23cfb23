"""Slowdown if other programs take most of the cache.

A program whose data fit the last-level cache of an idle machine hardly notices far memory. On a
server whose cores are all busy, each core gets about 2 MiB of that cache, and the same data miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile, Prediction, WorkloadProfile
from nearfar.documents.prediction import HostRule
from nearfar.options.predict import PredictOptions
from nearfar.predict.api import predict
from nearfar.predict.other_machine import with_cache, with_near_memory
from nearfar.predict.phases import busy_threads
from nearfar.report.data import BusyServer
from nearfar.report.prepare import is_part

CORE_SHARE_BYTES = 2 << 20
"""A busy core's share of the last-level cache: 1.4 MiB on a Xeon Platinum 8280, 1.9 on a 8480+, 2
on an EPYC 9754, 4 on a 9654, 5 MiB on a Xeon Platinum 8592+ (size by cores in the vendors' data
sheets)."""
MIN_DIFFERENCE = 0.02
"""Smallest change of a slowdown that is reported; near time varies by as much."""


def busy_server(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    prediction: Prediction,
    host: HostRule,
) -> BusyServer | None:
    """Return the slowdowns with that little cache, near time predicted for it too.

    None if no memory's slowdown is then above its interval in `prediction`; if the profile has no
    miss curves, a cache that is not larger, or one that the user chose; if only a part of the
    program was observed, whose intervals allow for the rest.
    """
    threads = round(busy_threads(profile.phases))
    private_bytes = 0 if profile.core is None else profile.core.private_bytes
    cache_bytes = threads * (CORE_SHARE_BYTES + private_bytes)
    chosen = profile.cache.origin.startswith("--llc")
    if cache_bytes >= profile.cache.size_bytes or chosen or is_part(profile):
        return None
    try:
        cached = with_cache(profile, cache_bytes)
    except NearfarError:  # miss curves are missing, or do not reach to this size
        return None
    options = PredictOptions(
        profile=with_near_memory(cached, near, near, measured=profile), near=near, far=fars,
        host=host, max_objects=0,
    )  # fmt: skip
    alone, shared = _slowdowns(prediction), _slowdowns(predict(options))
    risen = [name for name in shared if shared[name].value > max(1.0, alone[name].high)]
    if risen and profile.bursts is not None:
        # Bursts belong to one cache. Without them the model may be another one.
        without_bursts = msgspec.structs.replace(profile, bursts=None)
        alone = _slowdowns(predict(replace(options, profile=without_bursts)))
    risen = [name for name in risen if shared[name].value > alone[name].value + MIN_DIFFERENCE]
    if not risen:
        return None
    worst = max(risen, key=lambda name: shared[name].value)
    title = next(device.title for device in prediction.devices if device.far == worst)
    slowdown = shared[worst]
    return BusyServer(
        cache_bytes=cache_bytes,
        slowdowns=shared,
        sentence=(
            f"If other programs leave it about {format_bytes(cache_bytes)} of cache instead of "
            f"{format_bytes(profile.cache.size_bytes)}, it takes {slowdown.value:.2f} times "
            f"({slowdown.low:.2f}-{slowdown.high:.2f}) the CPU time that it then takes with all "
            f"data near, on {title}."
        ),
    )


def _slowdowns(prediction: Prediction) -> dict[str, Estimate]:
    """Return the slowdown of the whole run by far memory."""
    return {device.far: device.total.slowdown for device in prediction.devices}
