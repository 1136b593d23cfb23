"""The verb `place`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from nearfar.commands._options import (
    HostOption,
    JsonOption,
    OutputOption,
    PagesOption,
    QuietOption,
)


def place(
    *profile: Path,
    near: str | None = None,
    far: Annotated[list[str] | None, Parameter(negative="")] = None,
    memories: Path | None = None,
    budget: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    slo: float | None = None,
    slo_by: Literal["value", "high"] = "value",
    phase: str = "total",
    over: Literal["mean", "worst"] = "mean",
    allow: Annotated[
        list[Literal["parts", "interleave", "moves", "all"]] | None, Parameter(negative="")
    ] = None,
    optimiser: str = "exact",
    model: str = "best",
    machine: Path | None = None,
    near_price: float | None = None,
    far_price: Annotated[list[float] | None, Parameter(negative="")] = None,
    move_gb_per_s: Annotated[float | None, Parameter(name="--move-gb-per-s")] = None,
    host: HostOption = "added",
    pages: PagesOption = None,
    export: str | None = None,
    map: Annotated[list[str] | None, Parameter(negative="")] = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Choose which objects must stay in near memory for a budget of it.

    Parameters
    ----------
    profile
        What `nearfar profile` wrote; of several inputs of one program, all. With --export also a
        plan that this verb wrote before.
    near
        The memory the program was profiled in: a file of `nearfar measure`, or a library device.
    far
        Where the rest goes: a library device (`nearfar device list`) or a device file, with its
        capacity if it has one, such as cxl-micron-cz120:64GiB; repeat for several.
    memories
        A TOML or JSON file of near and far memories, capacities and prices, instead of --far.
    budget
        Near memory to use: a size with its unit (2GiB is 2 x 2^30 bytes, 2GB is 2 x 10^9), a
        share of the program's memory (25%), or a price, as a share of what all near would cost
        (price:40%). 0 puts all far; more than all keeps all near.
    slo
        Instead of a budget: the most slowdown, 1.10 is 10 % slower than all near; the plan takes
        the least near memory that keeps it.
    slo_by
        What must keep --slo: the predicted value, or the high end of its interval.
    phase
        The phase whose time is to be least; ``total`` is the whole run.
    over
        Of several profiles: whether the mean or the worst of their slowdowns is to be least.
    allow
        What the plan may do beside placing whole objects for good: put parts of large objects
        apart, interleave the pages of what streams most, moves of data between phases; repeat for
        several, or all.
    optimiser
        Whose choice the plan is: exact, greedy, hot-first or x-mem; all are timed in any case.
    model
        Times the placements: best, or any other of predict, such as misses, latency-ratio or null.
    machine
        What `nearfar machine --measure` wrote: memories that hold each other back there do so here,
        and data moves as fast as it was copied there.
    near_price
        Relative price of a byte near; default 5 (X-Mem, EuroSys 2016: DRAM costs 5x NVM per bit).
    far_price
        Relative price of a byte far; default 1. Repeat for several far memories, in their order.
    move_gb_per_s
        Rate at which data moves between memories; default: as measured with --machine, else from
        the devices' figures.
    export
        Print the plan for another tool instead of the table: numactl, mbind, memkind, kubernetes
        or json.
    map
        Where a memory of the plan is, such as near=node:0 or far=node:1; repeat for several.
    """
    from nearfar.base.errors import CommandError
    from nearfar.base.files import check_writable
    from nearfar.commands._deliver import deliver
    from nearfar.commands._ignored import refuse_unused
    from nearfar.place.exports import EXPORTS, is_plan, mapped
    from nearfar.place.table import print_plan

    if output is not None:
        check_writable(output)
    if not profile:
        raise CommandError("there is nothing to place: name a file that `nearfar profile` wrote")
    exporter = None if export is None else EXPORTS.get(export)
    if exporter is not None and json:
        raise CommandError("--export prints its own format: leave out --json")
    from nearfar.documents import Plan, load

    if len(profile) == 1 and is_plan(profile[0]):
        if exporter is None:
            raise CommandError(
                f"{profile[0]} is a plan already: name a profile, or print the plan with --export"
            )
        asked = {
            "--near": near is not None,
            "--far": bool(far),
            "--memories": memories is not None,
            "--budget": budget is not None,
            "--slo": slo is not None,
            "--slo-by": slo_by != "value",
            "--phase": phase != "total",
            "--over": over != "mean",
            "--allow": bool(allow),
            "--optimiser": optimiser != "exact",
            "--model": model != "best",
            "--machine": machine is not None,
            "--near-price": near_price is not None,
            "--far-price": bool(far_price),
            "--move-gb-per-s": move_gb_per_s is not None,
            "--host": host != "added",
            "--pages": pages is not None,
        }
        refuse_unused(str(profile[0]), asked, (), "is a plan already, and is printed as it is")
        plan = load(profile[0], Plan)
    else:
        from nearfar.place.request import Request, make_plan

        plan = make_plan(
            Request(
                profiles=list(profile),
                near=near,
                far=far or [],
                memories=memories,
                budget=budget,
                slo=slo,
                slo_by=slo_by,
                phase=phase,
                over=over,
                allow=list(allow or []),
                optimiser=optimiser,
                model=model,
                machine=machine,
                near_price=near_price,
                far_prices=far_price or [],
                move_gb_per_s=move_gb_per_s,
                host=host,
                pages=pages,
            )
        )
    plan = mapped(plan, map or [])
    if exporter is None:
        deliver(
            plan, output, json=json, quiet=quiet, show=lambda console: print_plan(plan, console)
        )
        return
    text = exporter(plan)
    deliver(plan, output, json=False, quiet=True, show=lambda _console: None)
    if not quiet:
        print(text, end="")
