"""The verb `predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.commands._options import HostOption, JsonOption, OutputOption, QuietOption


def predict(
    profile: Path,
    *,
    near: str,
    far: Annotated[list[str], Parameter(negative="")],
    model: str = "inversion",
    phase: Annotated[list[str] | None, Parameter(negative="")] = None,
    host: HostOption = "added",
    pages: str | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Predict how long a profiled program takes with its data in far memory.

    Parameters
    ----------
    profile
        What `nearfar profile` wrote.
    near
        The memory the program was profiled in: a file of `nearfar measure`, or a library device.
    far
        A library device (`nearfar device list`) or a device file; repeat for several, ``all``
        for the whole library.
    model
        inversion, misses, latency-ratio or null; the last three are shown beside it in any case.
    phase
        Only this phase of the profile; repeat for several. Default: all.
    pages
        Size of the program's pages: 4KiB, 2MiB. Default: what programs get where near was
        measured, 2 MiB only where transparent huge pages are given to all.
    """
    from nearfar.base.files import check_writable
    from nearfar.devices.library import device_names, load_device, load_near
    from nearfar.documents import WorkloadProfile, load, save
    from nearfar.documents.header import to_json
    from nearfar.predict.api import predict as run
    from nearfar.predict.pages import parse_page_bytes

    if output is not None:
        check_writable(output)
    workload = load(profile, WorkloadProfile)
    near_device = load_near(near)
    specs = device_names() if far == ["all"] else list(dict.fromkeys(far))
    prediction = run(
        workload,
        near_device,
        [load_device(spec) for spec in specs],
        model,
        phases=phase,
        host=host,
        page_bytes=None if pages is None else parse_page_bytes(pages),
        profile_path=str(profile),
    )
    if output is not None:
        save(prediction, output)
    if quiet:
        return
    if json:
        print(to_json(prediction).decode(), end="")
        return
    from rich.console import Console

    from nearfar.predict.table import print_prediction

    console = Console()
    print_prediction(prediction, console)
    if output is not None:
        console.print(f"wrote {output}", markup=False, highlight=False)
