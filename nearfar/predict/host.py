"""Taking a latency that was published on another machine, the *host*, to this one.

A published latency holds the cores, the mesh and the path to memory of the host. What the memory
adds over the host's local DRAM belongs to the memory and its link; what local DRAM takes here is
this machine's. So, unless asked otherwise, far latency here = near latency here + (published -
the host's local DRAM). The other two ways, as published and in proportion, are points that the
interval spans: nobody has shown which of the three a given machine follows.

The error of the host's own figure is not counted on top: the far figure's relative error, taken
of the greater latency here, is wider than both together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from nearfar.base.errors import NearfarError, nearest
from nearfar.devices import curves
from nearfar.devices.library import host_dram
from nearfar.documents.device import DeviceProfile
from nearfar.documents.prediction import HostRule
from nearfar.predict.memory import MemoryCosts

LatencyFrom = Literal["measured", "added", "published", "ratio"]

DEFAULT_HOST: HostRule = "added"

LOCAL = ("dram", "emulated")
"""Technologies of near memory whose latency is this machine's own path and no link besides."""

USUAL_DRAM_NS = 100.0
"""Idle latency of local DRAM on the machines that devices were published on: 92 to 116 ns in the
library. Where the host is not known and near memory takes longer, the machine's own path does
(virtualisation, a large mesh), and it may come on top of a published far latency too."""

MUCH_SLOWER = 1.2
"""Above the slowest local DRAM in the library, 116 ns."""


@dataclass(frozen=True)
class Here:
    """A far memory's idle latency on this machine, ns, page walks left out."""

    latency_ns: float
    others_ns: tuple[float, ...] = ()
    """What it is by the ways that were not chosen."""
    taken: LatencyFrom = "measured"
    caveats: tuple[str, ...] = ()


def check_host(rule: str) -> None:
    """Refuse a rule that there is not."""
    if rule not in get_args(HostRule):
        known = list(get_args(HostRule))
        hint = nearest(rule, known) or f"; there are: {', '.join(known)}"
        raise NearfarError(f"there is no way {rule!r} to take published latencies here{hint}")


def latency_here(device: DeviceProfile, near: MemoryCosts, rule: HostRule = DEFAULT_HOST) -> Here:
    """Return what the idle latency of `device` is taken to be on the machine of `near`."""
    check_host(rule)
    published_ns = curves.idle_read_latency_ns(device).value_ns
    if device.measured is not None:
        return Here(published_ns)
    host = host_dram(device)
    if host is None:
        return _of_unknown_host(device, published_ns, near)
    local_ns = _local_dram_ns(near)
    if local_ns is None:
        return Here(
            published_ns,
            taken="published",
            caveats=(
                f"near memory {near.device.name} is not this machine's local DRAM: the latency of "
                f"{device.name} is taken as published",
            ),
        )
    host_ns = curves.idle_read_latency_ns(host).value_ns
    if local_ns == host_ns:
        # The host itself: every way is the published one.
        return Here(published_ns, taken="published")
    ratio_ns = published_ns * (local_ns / host_ns)
    added_ns = local_ns + (published_ns - host_ns)
    ways: dict[HostRule, float] = {
        # What is faster than local DRAM adds nothing; a difference could go below zero.
        "added": added_ns if published_ns >= host_ns else ratio_ns,
        "published": published_ns,
        "ratio": ratio_ns,
    }
    others = {way: ns for way, ns in ways.items() if way != rule}
    said = {
        "added": f"local DRAM here and what it adds to {host.name}",
        "published": "as published",
        "ratio": f"in proportion to {host.name}",
    }
    beside = ", ".join(f"{said[way]} {ns:.0f}" for way, ns in others.items())
    return Here(
        ways[rule],
        tuple(others.values()),
        rule,
        (f"latency of {device.name} taken as {ways[rule]:.0f} ns: {said[rule]} ({beside})",),
    )


def _of_unknown_host(device: DeviceProfile, published_ns: float, near: MemoryCosts) -> Here:
    if device.technology == "dram":
        whose = "another machine's own DRAM"
    else:
        whose = "published on a machine whose local DRAM is not known"
    said = [f"{device.name} is {whose}: its latency is taken as published, {published_ns:.0f} ns"]
    local_ns = _local_dram_ns(near)
    if near.device.measured is None or local_ns is None or local_ns <= MUCH_SLOWER * USUAL_DRAM_NS:
        return Here(published_ns, taken="published", caveats=tuple(said))
    own_path_ns = local_ns - USUAL_DRAM_NS
    said.append(
        f"near memory here takes {local_ns:.0f} ns where such machines take {USUAL_DRAM_NS:.0f}: "
        f"if this machine adds as much to {device.name}, the slowdown is near the interval's "
        "upper end"
    )
    return Here(published_ns, (published_ns + own_path_ns,), "published", tuple(said))


def _local_dram_ns(near: MemoryCosts) -> float | None:
    """Return the idle latency of local DRAM on the machine of `near`; None where not known."""
    host = host_dram(near.device)
    if host is not None:
        return curves.idle_read_latency_ns(host).value_ns
    return near.unwalked_ns if near.device.technology in LOCAL else None
