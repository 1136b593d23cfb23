"""The verb `place`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from nearfar.commands._options import (
    HostOption,
    JsonOption,
    NearOption,
    OutputOption,
    PagesOption,
    ProfileArgument,
    QuietOption,
)


def place(
    profile: ProfileArgument,
    *,
    near: NearOption,
    far: str,
    budget: Annotated[str, Parameter(allow_leading_hyphen=True)],
    phase: str = "total",
    optimiser: str = "exact",
    model: str = "best",
    near_price: float | None = None,
    far_price: float | None = None,
    host: HostOption = "added",
    pages: PagesOption = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Choose which objects must stay in near memory for a budget of it.

    Parameters
    ----------
    far
        Where the rest goes: a library device (`nearfar device list`) or a device file.
    budget
        Near memory to use: a size with its unit (2GiB is 2 x 2^30 bytes, 2GB is 2 x 10^9), or a
        share of the program's memory (25%). 0 puts all far; more than all keeps all near.
    phase
        The phase whose time is to be least; ``total`` is the whole run.
    optimiser
        Whose choice the plan is: exact, greedy or hot-first; all are timed in any case.
    model
        Times the placements: best, or any other of predict, such as misses, latency-ratio or null.
    near_price
        Relative price of a byte near; default 5 (X-Mem, EuroSys 2016: DRAM costs 5x NVM per bit).
    far_price
        Relative price of a byte far; default 1.
    """
    from nearfar.base.files import check_writable
    from nearfar.commands._deliver import deliver
    from nearfar.devices.library import load_device, load_near
    from nearfar.documents import WorkloadProfile, load
    from nearfar.documents.plan import Prices
    from nearfar.place.api import place as run
    from nearfar.place.table import print_plan
    from nearfar.predict.pages import parse_page_bytes

    if output is not None:
        check_writable(output)
    workload = load(profile, WorkloadProfile)
    near_device = load_near(near)
    prices = Prices()
    if near_price is not None or far_price is not None:
        prices = Prices(
            near_per_byte=prices.near_per_byte if near_price is None else near_price,
            far_per_byte=prices.far_per_byte if far_price is None else far_price,
            source="given on the command line",
        )
    plan = run(
        workload,
        near_device,
        load_device(far),
        budget,
        phase,
        prices=prices,
        optimiser=optimiser,
        model=model,
        host=host,
        page_bytes=None if pages is None else parse_page_bytes(pages),
        profile_path=str(profile),
    )
    deliver(
        plan,
        output,
        json=json,
        quiet=quiet,
        show=lambda console: print_plan(plan, console),
    )
