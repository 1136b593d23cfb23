"""Conversion of a latency published on another machine, the *host*, to this machine.

A published latency includes the cores, the mesh and the path to memory of the host. What the memory
adds over the host's local DRAM belongs to the memory and its link; the latency of local DRAM
belongs to this machine. By default, far latency here = near latency here + (published latency -
latency of the host's local DRAM). The other two rules, as published and in proportion, are points
that the interval spans: no study has shown which of the three a given machine follows.

The error of the host's figure is not added: the far figure's relative error, applied to the greater
latency here, is wider than both together.
"""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.devices import curves
from nearfar.devices.library import host_dram
from nearfar.documents.device import DeviceProfile
from nearfar.documents.prediction import HostRule
from nearfar.predict.memory import LatencyFrom, MemoryCosts

DEFAULT_HOST: HostRule = "added"

LOCAL = ("dram", "emulated")
"""Technologies of near memory whose latency is this machine's path without a link."""

USUAL_DRAM_NS = 100.0
"""Idle latency of local DRAM on the machines that devices were published on: 92 to 116 ns in the
library. Where the host is not known and near memory takes longer, this machine's path is longer
(virtualisation, a large mesh), and may lengthen a published far latency too."""

MIN_SLOW_RATIO = 1.2
"""Near latency over `USUAL_DRAM_NS` from which this machine's path is long: above the slowest local
DRAM in the library, 116 ns."""


@dataclass(frozen=True)
class LatencyHere:
    """A far memory's idle latency on this machine, ns, without page walks."""

    latency_ns: float
    others_ns: tuple[float, ...] = ()
    """The latency by the other rules."""
    latency_from: LatencyFrom = "measured"
    caveats: tuple[str, ...] = ()


def latency_here(
    device: DeviceProfile, near: MemoryCosts, rule: HostRule = DEFAULT_HOST
) -> LatencyHere:
    """Return the idle latency of `device` on the machine of `near`."""
    published_ns = curves.idle_read_latency_ns(device).value_ns
    if device.measured is not None:
        return LatencyHere(published_ns)
    host = host_dram(device)
    if host is None:
        return _of_unknown_host(device, published_ns, near)
    local_ns = _local_dram_ns(near)
    if local_ns is None:
        return LatencyHere(
            published_ns,
            latency_from="published",
            caveats=(
                f"near memory {near.device.name} is not this machine's local DRAM: the published "
                f"latency of {device.name} is used",
            ),
        )
    host_ns = curves.idle_read_latency_ns(host).value_ns
    if local_ns == host_ns:
        # This machine is the host: every rule gives the published latency.
        return LatencyHere(published_ns, latency_from="published")
    ratio_ns = published_ns * (local_ns / host_ns)
    added_ns = local_ns + (published_ns - host_ns)
    latencies_ns: dict[HostRule, float] = {
        # A memory faster than local DRAM adds nothing; the difference could be negative.
        "added": added_ns if published_ns >= host_ns else ratio_ns,
        "published": published_ns,
        "ratio": ratio_ns,
    }
    others = {other: ns for other, ns in latencies_ns.items() if other != rule}
    meaning = {
        "added": f"local DRAM here plus what it adds to {host.name}",
        "published": "as published",
        "ratio": f"in proportion to {host.name}",
    }
    alternatives = ", ".join(f"{meaning[other]} {ns:.0f} ns" for other, ns in others.items())
    return LatencyHere(
        latencies_ns[rule],
        tuple(others.values()),
        rule,
        (
            f"the latency of {device.name} is assumed to be {latencies_ns[rule]:.0f} ns: "
            f"{meaning[rule]} ({alternatives})",
        ),
    )


def _of_unknown_host(device: DeviceProfile, published_ns: float, near: MemoryCosts) -> LatencyHere:
    if device.technology == "dram":
        origin = "the DRAM of another machine"
    else:
        origin = "published on a machine whose local DRAM is not known"
    caveats = [f"{device.name} is {origin}: its published latency, {published_ns:.0f} ns, is used"]
    local_ns = _local_dram_ns(near)
    if (
        near.device.measured is None
        or local_ns is None
        or local_ns <= MIN_SLOW_RATIO * USUAL_DRAM_NS
    ):
        return LatencyHere(published_ns, latency_from="published", caveats=tuple(caveats))
    path_ns = local_ns - USUAL_DRAM_NS
    caveats.append(
        f"near memory here takes {local_ns:.0f} ns, and {USUAL_DRAM_NS:.0f} ns on such machines: "
        f"if this machine adds as much to {device.name}, the slowdown is near the interval's "
        "upper end"
    )
    return LatencyHere(published_ns, (published_ns + path_ns,), "published", tuple(caveats))


def _local_dram_ns(near: MemoryCosts) -> float | None:
    """Return the idle latency of local DRAM on the machine of `near`; None where not known."""
    host = host_dram(near.device)
    if host is not None:
        return curves.idle_read_latency_ns(host).value_ns
    return near.unwalked_ns if near.device.technology in LOCAL else None
