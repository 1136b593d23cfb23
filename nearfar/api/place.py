"""The API function `place`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from nearfar.api._call import api_function
from nearfar.api._documents import loaded, near_device, origin
from nearfar.base.errors import CommandError
from nearfar.options.place import PlaceOptions

if TYPE_CHECKING:
    from nearfar.documents import Plan
    from nearfar.documents.plan import Prices
    from nearfar.place.machine_file import FarMemory, MachineFile
    from nearfar.place.task import Allowed


@api_function(PlaceOptions)
def place(options: PlaceOptions) -> Plan:
    """Choose which objects must stay in near memory for a budget of it."""
    from nearfar.devices.cores import load_core
    from nearfar.documents import MachineProfile, WorkloadProfile
    from nearfar.place.api import place as run
    from nearfar.place.exports import mapped
    from nearfar.place.machine_file import load_machine_file
    from nearfar.predict.device_figures import parse_page_bytes

    _refuse_plan(options)
    file = None if options.memories is None else load_machine_file(options.memories)
    fars = _far_memories(options, file)
    near = options.near or (None if file is None else file.near)
    if near is None:
        raise CommandError(
            "there is no near memory: name what the program was profiled in with --near, a file of "
            "`nearfar measure` or a library device"
        )
    budget = options.budget
    if budget is None and options.slo is None and file is not None:
        budget = file.near_capacity
    machine = options.machine or (None if file is None else file.machine)
    plan = run(
        [loaded(profile, WorkloadProfile) for profile in options.profile],
        near_device(near),
        fars,
        budget,
        options.phase,
        prices=_prices(options, file, fars),
        optimiser=options.optimiser,
        model=options.model,
        page_bytes=None if options.pages is None else parse_page_bytes(options.pages),
        host=options.host,
        profile_path=[origin(profile) for profile in options.profile],
        machine=None if machine is None else loaded(machine, MachineProfile),
        core=None if options.core is None else load_core(options.core),
        near_spec="" if file is None else file.near_spec,
        allow=_allowed(options),
        goal=options.slo,
        judge=options.slo_by,
        over=options.over,
        move_gb_per_s=options.move_gb_per_s,
    )
    return mapped(plan, list(options.map))


def _refuse_plan(options: PlaceOptions) -> None:
    from nearfar.place.exports import is_plan

    first = options.profile[0]
    if len(options.profile) == 1 and isinstance(first, Path) and is_plan(first):
        raise CommandError(
            f"{first} is a plan already: name a profile, or print the plan with --export"
        )


def _allowed(options: PlaceOptions) -> list[Allowed]:
    from nearfar.place.task import Allowed

    return [name for name in get_args(Allowed) if name in options.allow or "all" in options.allow]


def _far_memories(options: PlaceOptions, file: MachineFile | None) -> list[FarMemory]:
    from nearfar.place.machine_file import FarMemory, check_price, parse_far

    if file is not None:
        fars = file.far
    else:
        fars = [parse_far(far) if isinstance(far, str) else FarMemory(far) for far in options.far]
    if not fars:
        raise CommandError(
            "there is no far memory: name one or more with --far, such as --far optane-100-6dimm "
            "(`nearfar device list`), or a file of them with --memories"
        )
    prices = options.far_price
    if len(prices) <= 1:
        return fars
    if len(prices) != len(fars):
        raise CommandError(
            f"{len(prices)} prices for {len(fars)} far memories: give one --far-price for each, in "
            "their order, or one for all"
        )
    return [
        replace(far, price_per_byte=check_price(price, "--far-price"))
        for far, price in zip(fars, prices, strict=True)
    ]


def _prices(options: PlaceOptions, file: MachineFile | None, fars: list[FarMemory]) -> Prices:
    from nearfar.documents.plan import Prices

    prices = Prices()
    near, far = options.near_price, options.far_price[0] if options.far_price else None
    if near is not None or far is not None:
        source = "given on the command line"
    elif file is not None and file.near_price is not None:
        near, source = file.near_price, f"given in {options.memories}"
    elif file is not None and any(memory.price_per_byte is not None for memory in fars):
        source = f"far memories' given in {options.memories}; near: {prices.source}"
    else:
        return prices
    return Prices(
        near_per_byte=prices.near_per_byte if near is None else near,
        far_per_byte=prices.far_per_byte if far is None else far,
        source=source,
    )
