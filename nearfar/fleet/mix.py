"""The cheapest mix of hosts: how many of each type get how much far memory.

A host with a far share s can run the programs that keep the limit at s; each program is assumed to
run on a host that suits it. So the share of hosts with s or more is at most the part of the type's
demand that tolerates s. HiGHS solves the resulting small mixed-integer program. A binary variable
for each mix limits the number of different mixes of a type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from nearfar.base.errors import NearfarError
from nearfar.documents.fleet import Mix, Saving
from nearfar.fleet.hosts import GIB
from nearfar.fleet.slowdowns import SHARES


@dataclass(frozen=True)
class TypeRoom:
    """The hosts of one type, and the demand that tolerates far memory."""

    name: str
    count: int
    memory_bytes: float
    near_price_per_gib: float
    most_far: float
    tolerating: tuple[float, ...]
    """Part of the demand that keeps the limit, by share of far memory."""


@dataclass(frozen=True)
class Market:
    """Prices and stock of far memory."""

    far_price_per_gib: float
    adapter: float
    far_bytes: float
    adapters: float
    mixes: int
    """Largest number of different nonzero shares of far memory within a host type."""


MAX_GAP = 1e-3
"""Relative gap of the optimum: prices are not known to a thousandth."""


def cheapest_mix(rooms: Sequence[TypeRoom], market: Market, most_slowdown: float) -> Saving:
    """Return the cheapest mix and its saving compared with all memory near."""
    cells = [(t, s) for t in range(len(rooms)) for s in range(len(SHARES))]
    cost = np.array([_cost(rooms[t], SHARES[s], market) for t, s in cells])
    upper = np.array(
        [rooms[t].count if SHARES[s] <= rooms[t].most_far + 1e-9 else 0 for t, s in cells]
    )
    solution = milp(
        np.concatenate([cost, np.zeros(len(cells))]),
        constraints=_constraints(rooms, market, cells),
        integrality=np.ones(2 * len(cells), dtype=np.uint8),
        bounds=Bounds(0, np.concatenate([upper, np.ones(len(cells))])),
        options={"mip_rel_gap": MAX_GAP},
    )
    if solution.x is None:
        raise NearfarError(f"no mix of hosts could be found: {solution.message}")
    chosen = np.round(solution.x[: len(cells)]).astype(int)
    near = sum(room.count * _cost(room, 0.0, market) for room in rooms)
    total = float(cost @ chosen)
    return Saving(
        most_slowdown=most_slowdown,
        cost=total,
        saved=1.0 - total / near if near > 0 else 0.0,
        far_bytes=round(
            sum(
                rooms[t].memory_bytes * SHARES[s] * n
                for (t, s), n in zip(cells, chosen, strict=True)
            )
        ),
        mixes=[
            Mix(host_type=rooms[t].name, far_share=SHARES[s], hosts=int(n))
            for (t, s), n in zip(cells, chosen, strict=True)
            if n
        ],
    )


def _constraints(
    rooms: Sequence[TypeRoom], market: Market, cells: Sequence[tuple[int, int]]
) -> list[LinearConstraint]:
    """Return the constraints on hosts per type and share, then those on bought mixes."""
    rows: list[list[float]] = []
    low: list[float] = []
    high: list[float] = []
    for t, room in enumerate(rooms):
        rows.append([float(cell[0] == t) for cell in cells])
        low.append(room.count)
        high.append(room.count)
        for s in range(1, len(SHARES)):
            rows.append([float(cell[0] == t and cell[1] >= s) for cell in cells])
            low.append(0.0)
            high.append(float(int(room.count * room.tolerating[s] + 1e-9)))
    rows.append([rooms[t].memory_bytes / GIB * SHARES[s] for t, s in cells])
    low.append(0.0)
    high.append(market.far_bytes / GIB)
    rows.append([float(s > 0) for _, s in cells])
    low.append(0.0)
    high.append(market.adapters)
    hosts = np.array(rows)
    # A mix that is not bought has no hosts.
    linked = np.diag([-float(rooms[t].count) for t, _ in cells])
    few = np.array(
        [[float(cell[0] == t and cell[1] > 0) for cell in cells] for t in range(len(rooms))]
    )
    nothing = np.zeros_like
    return [
        LinearConstraint(np.hstack([hosts, nothing(hosts)]), np.array(low), np.array(high)),
        LinearConstraint(np.hstack([np.eye(len(cells)), linked]), -np.inf, 0.0),
        LinearConstraint(np.hstack([nothing(few), few]), 0.0, float(market.mixes)),
    ]


def _cost(room: TypeRoom, share: float, market: Market) -> float:
    gib = room.memory_bytes / GIB
    near, far = room.near_price_per_gib * (1.0 - share), market.far_price_per_gib * share
    return gib * (near + far) + (market.adapter if share > 0 else 0.0)


def break_even(rooms: Sequence[TypeRoom], market: Market) -> float:
    """Return the ratio of far to near price above which far memory saves nothing; 0: at no price.

    Bisection finds it to 0.01, because savings fall as far memory gets more expensive.
    """
    dearest = max(room.near_price_per_gib for room in rooms)
    low, high = 0.0, 1.0

    def saves(ratio: float) -> bool:
        other = replace(market, far_price_per_gib=ratio * dearest)
        return cheapest_mix(rooms, other, 1.0).saved > MAX_GAP

    if not saves(0.0):
        return 0.0
    for _ in range(7):
        middle = (low + high) / 2.0
        low, high = (middle, high) if saves(middle) else (low, middle)
    return low
