"""The sums of a fleet that options ask for."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.folders import cache_folder
from nearfar.base.units import parse_size_bytes
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, WorkloadProfile, producer
from nearfar.documents.fleet import (
    BesideSaving,
    CheapObject,
    Fleet,
    HostType,
    Judge,
    PricePoint,
    QuickForm,
    Saving,
)
from nearfar.documents.header import read_document
from nearfar.fleet.aggregate import Sums
from nearfar.fleet.cache import condensed, problem
from nearfar.fleet.costs import costs_of
from nearfar.fleet.hosts import HostsFile, parse_limits, read_hosts
from nearfar.fleet.mix import Market, TypeRoom, break_even, cheapest_mix
from nearfar.fleet.paged import paged_rows, price_per_gib, slowdowns_of
from nearfar.fleet.slowdowns import Slowdowns
from nearfar.fleet.sources import find_sources, read_source
from nearfar.options.fleet import FleetOptions
from nearfar.options.predict import PredictOptions
from nearfar.predict.api import predict

PREDICTED_PROFILES = 24
"""Profiles that are predicted in full: with 24, the median of their ratios is known to a tenth of
their spread."""

MAX_OBJECTS = 50
"""Objects that are listed."""

PRICE_RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Prices of far over near memory, per byte."""

LIMITS = ("1.02", "1.05", "1.10", "1.20")


def fleet(options: FleetOptions, tell: Callable[[int, int], None] = lambda *_: None) -> Fleet:
    """Sum a fleet; raises NearfarError for an empty fleet and for unusable files."""
    hosts, limits = read_hosts(options.hosts), parse_limits(list(options.slo) or LIMITS)
    far = load_device(options.far)
    load_device(options.near)
    sources = find_sources(options.profiles)
    folder = options.cache or cache_folder("fleet")
    buckets = condensed(sources, folder, tell)
    sums = Sums(folder, buckets, len(os.sched_getaffinity(0)))
    try:
        sums.check(leave_out_bad=options.leave_out_bad)
        return _summed(options, hosts, limits, sums, far)
    finally:
        sums.close()


@dataclass(frozen=True)
class _FarSums:
    """The sums of a fleet for one far memory."""

    host_types: list[HostType]
    market: Market
    more: float
    """Ratio of added time at high ends to that of values; used if limits apply to high ends."""
    quick: QuickForm
    objects: list[CheapObject]
    slowdowns: Slowdowns
    is_paged: bool


def _summed(
    options: FleetOptions,
    hosts: HostsFile,
    limits: dict[str, float],
    sums: Sums,
    far: DeviceProfile,
) -> Fleet:
    types = _types(sums, hosts)
    sums.set_types(types)
    seen = _far_sums(options, hosts, sums, far, types)
    savings: list[Saving] = []
    sensitivity = [PricePoint(far_over_near=ratio, saved={}) for ratio in PRICE_RATIOS]
    even: dict[str, float] = {}
    for text, limit in limits.items():
        rooms = _rooms(hosts, seen, limit)
        savings.append(cheapest_mix(rooms, seen.market, limit))
        dearest = max(room.near_price_per_gib for room in rooms)
        for point in sensitivity:
            other = replace(seen.market, far_price_per_gib=point.far_over_near * dearest)
            point.saved[text] = cheapest_mix(rooms, other, limit).saved
        even[text] = break_even(rooms, seen.market)
    profiles, names, size, near_ns = sums.rows(
        "select count(*), count(distinct host), sum(bytes)::bigint, sum(near_ns) from profiles"
    )[0]
    return Fleet(
        producer=producer(),
        far=far.name,
        far_price_per_gib=seen.market.far_price_per_gib,
        adapter_price=seen.market.adapter,
        currency=hosts.prices.currency,
        profiles=profiles,
        hosts=names,
        footprint_bytes=size,
        cpu_seconds=near_ns / 1e9,
        types=seen.host_types,
        objects=seen.objects,
        savings=savings,
        slo_by=options.slo_by,
        sensitivity=sensitivity,
        break_even=even,
        quick_form=seen.quick,
        paged=seen.is_paged,
        beside=[_beside(options, hosts, sums, text, types) for text in options.beside],
        left_out=sums.left_out,
        warnings=[*sums.warnings, *_warnings(hosts, seen, options.slo_by)],
    )


def _beside(
    options: FleetOptions,
    hosts: HostsFile,
    sums: Sums,
    text: str,
    types: dict[tuple[str, str], str],
) -> BesideSaving:
    """Return the savings of the far memory `text`; `sums` then holds the sums of this memory."""
    far = load_device(text)
    seen = _far_sums(options, hosts, sums, far, types)
    return BesideSaving(
        far=far.name,
        far_price_per_gib=seen.market.far_price_per_gib,
        savings=[
            cheapest_mix(_rooms(hosts, seen, limit), seen.market, limit)
            for limit in parse_limits(list(options.slo) or LIMITS).values()
        ],
    )


def _rooms(hosts: HostsFile, seen: _FarSums, limit: float) -> list[TypeRoom]:
    rooms = []
    for kind in seen.host_types:
        room = _room(seen.slowdowns, hosts, kind, 1.0 + (limit - 1.0) / seen.more)
        # `most_far` is the capacity of memory slots, which paged memory does not need.
        rooms.append(replace(room, most_far=1.0) if seen.is_paged else room)
    return rooms


def _far_sums(
    options: FleetOptions,
    hosts: HostsFile,
    sums: Sums,
    far: DeviceProfile,
    types: dict[tuple[str, str], str],
) -> _FarSums:
    """Compute every profile's slowdown by share of `far`."""
    prices = hosts.prices
    nears = {
        name: load_device(hosts.text_of(name).near or options.near) for name in set(types.values())
    }
    is_paged = far.technology == "paged"
    if is_paged:
        rows = list(paged_rows(sums, far, options.slo_by, leave_out_bad=options.leave_out_bad))
        if not rows:
            raise NearfarError("no profile of the fleet has page curves, which paged memory needs")
        missing = sorted(set(types.values()) - {row.host_type for row in rows})
        if missing:
            raise NearfarError(
                f"no profile of {', '.join(missing)} has page curves, which paged memory needs"
            )
        slowdowns = slowdowns_of(rows)
        quick = QuickForm(profiles=0, factor=1.0, low=1.0, high=1.0)
        price = price_per_gib(rows, far, prices.near_per_gib, prices.far_per_gib)
        # Swap and compressed memory need no adapter cards and no stock of far memory.
        more, adapter, objects = 1.0, 0.0, []
        stock_bytes = adapters = math.inf
    else:
        costs = {name: costs_of(near, far) for name, near in nears.items()}
        sample = sums.sample(PREDICTED_PROFILES)
        slowdowns, all_far = sums.spread(types, costs, {uri for uri, _ in sample})
        quick = _quick_form(sample, all_far, nears, far, leave_out_bad=options.leave_out_bad)
        slowdowns = replace(slowdowns, factor=quick.factor)
        # Ratio of the added time at the high ends of intervals to that at the values.
        more = quick.high_end_factor / quick.factor if options.slo_by == "high" else 1.0
        price, adapter = prices.far_per_gib, prices.adapter
        objects = sums.cheapest(quick.factor, MAX_OBJECTS)
        stock_bytes = hosts.stock_bytes()
        adapters = math.inf if hosts.stock.adapters is None else hosts.stock.adapters
    market = Market(price, adapter, stock_bytes, adapters, options.mixes)
    host_types = [
        _host_type(sums, slowdowns, hosts, name, nears[name].name) for name in sorted(nears)
    ]
    return _FarSums(host_types, market, more, quick, objects, slowdowns, is_paged)


def _types(sums: Sums, hosts: HostsFile) -> dict[tuple[str, str], str]:
    """Return every host's type; raises NearfarError for a host that has no type."""
    types = {}
    for host, cpu in sums.rows("select distinct host, cpu_model from profiles order by 1, 2"):
        name = hosts.type_of(host, cpu)
        if not name and hosts.types:
            raise NearfarError(
                f"host {host} ({cpu}) matches no type in the file of hosts: add a type that "
                'matches it, or a last one with cpu_model = "*"'
            )
        types[(host, cpu)] = name or "unknown processor"
    return types


def _host_type(
    sums: Sums, slowdowns: Slowdowns, hosts: HostsFile, name: str, near: str
) -> HostType:
    """Return a host type: sums of its profiles, and its entry in the hosts file."""
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
        curve=slowdowns.curve(name),
    )


def _room(slowdowns: Slowdowns, hosts: HostsFile, host_type: HostType, limit: float) -> TypeRoom:
    return TypeRoom(
        name=host_type.name,
        count=host_type.count,
        memory_bytes=float(host_type.memory_bytes),
        near_price_per_gib=host_type.near_price_per_gib,
        most_far=hosts.text_of(host_type.name).most_far,
        tolerating=tuple(slowdowns.tolerating(host_type.name, limit)),
    )


def _quick_form(
    sample: list[tuple[str, str]],
    all_far: dict[str, float],
    nears: dict[str, DeviceProfile],
    far: DeviceProfile,
    *,
    leave_out_bad: bool,
) -> QuickForm:
    """Compare the slowdowns from sums with full predictions of some profiles."""
    ratios, high_ratios = [], []
    for uri, name in sample:
        summed = all_far[uri]
        try:
            workload = read_document(read_source(uri), uri, WorkloadProfile)
            asked = PredictOptions(profile=workload, near=nears[name], far=[far], max_objects=1)
            full = predict(asked).devices[0].total.slowdown
        except OSError as error:
            raise problem(f"{uri} can no longer be read: {error}") from error
        except NearfarError as error:
            if leave_out_bad:
                continue  # Only its sums count.
            raise problem(f"{uri} cannot be predicted: {error}") from error
        if summed > 1e-6 and full.value > 1.0 + 1e-6:
            ratios.append((full.value - 1.0) / summed)
            high_ratios.append((full.high - 1.0) / summed)
    if not ratios:
        return QuickForm(profiles=0, factor=1.0, low=1.0, high=1.0)
    factor = float(np.median(ratios))
    low, high = np.percentile(np.array(ratios) / factor, (10, 90))
    return QuickForm(
        profiles=len(ratios),
        factor=factor,
        low=float(low),
        high=float(high),
        high_end_factor=max(factor, float(np.median(high_ratios))),
    )


def _warnings(hosts: HostsFile, seen: _FarSums, slo_by: Judge) -> list[str]:
    warnings = []
    quick = seen.quick
    if slo_by == "high" and not quick.profiles and not seen.is_paged:
        warnings.append(
            "no profile slows down, so intervals are unknown: limits apply to the predicted values"
        )
    prices = hosts.prices
    if prices.far_per_gib == 0:
        warnings.append("far memory costs 0: the mix uses as much of it as the limits allow")
    if not hosts.types:
        warnings.append(
            "no file of hosts: types are processors, a host has the memory of its profiles, and "
            f"near memory costs {prices.near_per_gib:g} where far costs {prices.far_per_gib:g}"
        )
    if quick.profiles and (quick.high > 1.5 or quick.low < 1 / 1.5):
        warnings.append(
            f"sums differ from `nearfar predict` by {quick.low:.2f} to {quick.high:.2f} times on "
            f"{quick.profiles} profiles: predict the profiles that matter"
        )
    missing = sorted(set(hosts.types) - {host_type.name for host_type in seen.host_types})
    if missing:
        warnings.append(f"no profile matches the types {', '.join(missing)}: they are left out")
    return warnings
