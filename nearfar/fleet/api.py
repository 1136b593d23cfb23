"""A fleet from Python: files in, a `Fleet` out."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.units import parse_size_bytes
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, WorkloadProfile, producer
from nearfar.documents.fleet import Fleet, HostType, PricePoint, QuickForm, Saving
from nearfar.fleet.aggregate import Sums
from nearfar.fleet.cache import cache_folder, condensed
from nearfar.fleet.costs import Costs, costs_of
from nearfar.fleet.hosts import HostsFile
from nearfar.fleet.mix import Market, TypeRoom, break_even, cheapest_mix
from nearfar.fleet.sources import find_sources, read_source
from nearfar.predict.api import predict

SAMPLED = 24
"""Profiles that are predicted in full: the median of their ratios is then known to about a tenth of
their spread."""

OBJECTS = 50
"""Kinds of data that are listed."""

PRICE_RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Of far over near memory, per byte."""

LIMITS = ("1.02", "1.05", "1.10", "1.20")


@dataclass(frozen=True)
class FleetRequest:
    """What to sum, and for whom."""

    files: Sequence[str]
    near: str
    far: str
    hosts: HostsFile
    limits: dict[str, float]
    mixes: int = 1
    """Most shares of far memory, besides none, of hosts of one type."""
    leave_out_bad: bool = False
    cache: Path | None = None


def fleet(request: FleetRequest, tell: Callable[[int, int], None] = lambda *_: None) -> Fleet:
    """Sum a fleet; raises NearfarError for an empty one, and for files that are no use."""
    far = load_device(request.far)
    load_device(request.near)
    sources = find_sources(request.files)
    folder = request.cache or cache_folder()
    buckets = condensed(sources, folder, tell)
    sums = Sums(folder, buckets, len(os.sched_getaffinity(0)))
    try:
        sums.check(leave_out_bad=request.leave_out_bad)
        return _summed(request, sums, far)
    finally:
        sums.close()


def _summed(request: FleetRequest, sums: Sums, far: DeviceProfile) -> Fleet:
    hosts, prices = request.hosts, request.hosts.prices
    types = _types(sums, hosts)
    nears = {
        name: load_device(hosts.text_of(name).near or request.near) for name in set(types.values())
    }
    costs: dict[str, Costs] = {name: costs_of(near, far) for name, near in nears.items()}
    sums.set_types(types, costs)
    quick = _quick_form(sums, nears, far)
    sums.spread(quick.factor)
    found = [_host_type(sums, hosts, name, nears[name].name) for name in sorted(costs)]
    market = Market(
        prices.far_per_gib,
        prices.adapter,
        hosts.stock_bytes(),
        math.inf if hosts.stock.adapters is None else hosts.stock.adapters,
        request.mixes,
    )
    savings: list[Saving] = []
    sensitivity = [PricePoint(far_over_near=ratio, saved={}) for ratio in PRICE_RATIOS]
    even: dict[str, float] = {}
    for text, limit in request.limits.items():
        rooms = [_room(sums, hosts, one, limit) for one in found]
        savings.append(cheapest_mix(rooms, market, limit))
        dearest = max(room.near_price_per_gib for room in rooms)
        for point in sensitivity:
            other = replace(market, far_price_per_gib=point.far_over_near * dearest)
            point.saved[text] = cheapest_mix(rooms, other, limit).saved
        even[text] = break_even(rooms, market)
    profiles, names, size, near_ns = sums.rows(
        "select count(*), count(distinct host), sum(bytes)::bigint, sum(near_ns) from profiles"
    )[0]
    return Fleet(
        producer=producer(),
        far=far.name,
        far_price_per_gib=prices.far_per_gib,
        adapter_price=prices.adapter,
        currency=prices.currency,
        profiles=profiles,
        hosts=names,
        footprint_bytes=size,
        cpu_seconds=near_ns / 1e9,
        types=found,
        objects=sums.cheapest(quick.factor, OBJECTS),
        savings=savings,
        sensitivity=sensitivity,
        break_even=even,
        quick_form=quick,
        left_out=sums.left_out,
        warnings=[*sums.warnings, *_warnings(request, found, quick)],
    )


def _types(sums: Sums, hosts: HostsFile) -> dict[tuple[str, str], str]:
    """Return every host's type; raises for one that is of none."""
    found = {}
    for host, cpu in sums.rows("select distinct host, cpu_model from profiles order by 1, 2"):
        name = hosts.type_of(host, cpu)
        if not name and hosts.types:
            raise NearfarError(
                f"host {host} ({cpu}) is of no type in the file of hosts: add one that it matches, "
                'or a last one with cpu_model = "*"'
            )
        found[(host, cpu)] = name or "unknown processor"
    return found


def _host_type(sums: Sums, hosts: HostsFile, name: str, near: str) -> HostType:
    text = hosts.text_of(name)
    seen, profiles, whole, near_ns = sums.rows(
        "select count(distinct (host, cpu_model)), count(*), sum(bytes)::bigint, sum(near_ns) "
        "from profiles join host_types using (host, cpu_model) where type = ?",
        [name],
    )[0]
    price = text.near_price_per_gib
    return HostType(
        name=name,
        near=near,
        hosts=seen,
        count=seen if text.count is None else text.count,
        memory_bytes=whole // seen if text.memory is None else parse_size_bytes(text.memory),
        profiles=profiles,
        cpu_seconds=near_ns / 1e9,
        near_price_per_gib=hosts.prices.near_per_gib if price is None else price,
        curve=sums.curve(name),
    )


def _room(sums: Sums, hosts: HostsFile, one: HostType, limit: float) -> TypeRoom:
    return TypeRoom(
        name=one.name,
        count=one.count,
        memory_bytes=float(one.memory_bytes),
        near_price_per_gib=one.near_price_per_gib,
        most_far=hosts.text_of(one.name).most_far,
        tolerating=tuple(sums.tolerating(one.name, limit)),
    )


def _quick_form(sums: Sums, nears: dict[str, DeviceProfile], far: DeviceProfile) -> QuickForm:
    """Predict some profiles in full and see how the sums compare."""
    ratios = []
    for profile, uri, name in sums.sample(SAMPLED):
        summed = sums.quick_slowdown(profile) - 1.0
        workload = msgspec.json.decode(read_source(uri), type=WorkloadProfile)
        full = predict(workload, nears[name], [far], max_objects=1).devices[0].total.slowdown.value
        if summed > 1e-6 and full > 1.0 + 1e-6:
            ratios.append((full - 1.0) / summed)
    if not ratios:
        return QuickForm(profiles=0, factor=1.0, low=1.0, high=1.0)
    factor = float(np.median(ratios))
    low, high = np.percentile(np.array(ratios) / factor, (10, 90))
    return QuickForm(profiles=len(ratios), factor=factor, low=float(low), high=float(high))


def _warnings(request: FleetRequest, types: list[HostType], quick: QuickForm) -> list[str]:
    found = []
    prices = request.hosts.prices
    if prices.far_per_gib == 0:
        found.append("far memory costs 0: as much of it is taken as the limits allow")
    if not request.hosts.types:
        found.append(
            "no file of hosts: types are processors, a host has the memory of its profiles, and "
            f"near memory costs {prices.near_per_gib:g} where far costs {prices.far_per_gib:g}"
        )
    if quick.profiles and (quick.high > 1.5 or quick.low < 1 / 1.5):
        found.append(
            f"sums differ from `nearfar predict` by {quick.low:.2f} to {quick.high:.2f} times on "
            f"{quick.profiles} profiles: predict those that decide"
        )
    missing = sorted(set(request.hosts.types) - {one.name for one in types})
    if missing:
        found.append(f"no profile is of the types {', '.join(missing)}: they are left out")
    return found
