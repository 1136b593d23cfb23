"""What `nearfar place` was asked, as documents: files read, options that go together checked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from nearfar.base.errors import CommandError
from nearfar.devices.library import load_near
from nearfar.documents import MachineProfile, Plan, WorkloadProfile, load
from nearfar.documents.plan import Prices
from nearfar.documents.prediction import HostRule
from nearfar.place.api import Allowed, place
from nearfar.place.goal import Judge
from nearfar.place.machine_file import (
    FarMemory,
    MachineFile,
    check_price,
    load_machine_file,
    parse_far,
)
from nearfar.place.problem import Over
from nearfar.predict.pages import parse_page_bytes


@dataclass
class Request:
    """Options as typed."""

    profiles: list[Path]
    near: str | None
    far: list[str]
    memories: Path | None
    budget: str | None
    slo: float | None
    slo_by: Judge
    phase: str
    over: Over
    allow: list[str]
    optimiser: str
    model: str
    machine: Path | None
    near_price: float | None
    far_prices: list[float] = field(default_factory=list)
    move_gb_per_s: float | None = None
    host: HostRule = "added"
    pages: str | None = None


def make_plan(request: Request) -> Plan:
    """Read what the request names and place."""
    if request.over == "worst" and len(request.profiles) == 1:
        raise CommandError("--over worst goes with several profiles: one has one slowdown")
    if request.slo is None and request.slo_by == "high":
        raise CommandError("--slo-by goes with --slo")
    file = None if request.memories is None else load_machine_file(request.memories)
    fars = _far_memories(request, file)
    near = request.near or (file.near if file is not None else None)
    if near is None:
        raise CommandError(
            "there is no near memory: name what the program was profiled in with --near, a file of "
            "`nearfar measure` or a library device"
        )
    budget = request.budget
    if budget is None and request.slo is None and file is not None:
        budget = file.near_capacity
    machine = request.machine or (file.machine if file is not None else None)
    return place(
        [load(path, WorkloadProfile) for path in request.profiles],
        load_near(near),
        fars,
        budget,
        request.phase,
        prices=_prices(request, file, fars),
        optimiser=request.optimiser,
        model=request.model,
        page_bytes=None if request.pages is None else parse_page_bytes(request.pages),
        host=request.host,
        profile_path=[str(path) for path in request.profiles],
        machine=None if machine is None else load(machine, MachineProfile),
        near_spec=file.near_spec if file is not None else "",
        allow=get_args(Allowed) if "all" in request.allow else _allowed(request.allow),
        goal=request.slo,
        judge=request.slo_by,
        over=request.over,
        move_gb_per_s=request.move_gb_per_s,
    )


def _allowed(typed: list[str]) -> list[Allowed]:
    return [one for one in get_args(Allowed) if one in typed]


def _far_memories(request: Request, file: MachineFile | None) -> list[FarMemory]:
    if file is not None and request.far:
        raise CommandError("far memories are in --memories already: leave out --far")
    fars = file.far if file is not None else [parse_far(text) for text in request.far]
    if not fars:
        raise CommandError(
            "there is no far memory: name one or more with --far, such as --far optane-100-6dimm "
            "(`nearfar device list`), or a file of them with --memories"
        )
    prices = request.far_prices
    if len(prices) > 1 and len(prices) != len(fars):
        raise CommandError(
            f"{len(prices)} prices for {len(fars)} far memories: give one --far-price for each, in "
            "their order, or one for all"
        )
    if len(prices) > 1:
        return [
            replace(far, price_per_byte=check_price(price, "--far-price"))
            for far, price in zip(fars, prices, strict=True)
        ]
    return fars


def _prices(request: Request, file: MachineFile | None, fars: list[FarMemory]) -> Prices:
    prices = Prices()
    near, far = request.near_price, request.far_prices[0] if request.far_prices else None
    if near is not None or far is not None:
        source = "given on the command line"
    elif file is not None and file.near_price is not None:
        near, source = file.near_price, f"given in {request.memories}"
    elif file is not None and any(one.price_per_byte is not None for one in fars):
        source = f"far memories' given in {request.memories}; near: {prices.source}"
    else:
        return prices
    return Prices(
        near_per_byte=prices.near_per_byte if near is None else near,
        far_per_byte=prices.far_per_byte if far is None else far,
        source=source,
    )
