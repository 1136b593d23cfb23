"""The verb `predict`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from nearfar.commands._options import (
    FarsOption,
    HostOption,
    JsonOption,
    NearOption,
    OutputOption,
    PagesOption,
    ProfileArgument,
    QuietOption,
)


def predict(
    profile: ProfileArgument,
    *,
    near: NearOption,
    far: FarsOption,
    model: str = "inversion",
    phase: Annotated[list[str] | None, Parameter(negative="")] = None,
    host: HostOption = "added",
    pages: PagesOption = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Predict how long a profiled program takes with its data in far memory.

    Parameters
    ----------
    model
        inversion, misses, latency-ratio or null; the last three are shown beside it in any case.
    phase
        Only this phase of the profile; repeat for several. Default: all.
    """
    from nearfar.base.files import check_writable
    from nearfar.commands._deliver import deliver
    from nearfar.devices.library import device_names, load_device, load_near
    from nearfar.documents import WorkloadProfile, load
    from nearfar.predict.api import predict as run
    from nearfar.predict.pages import parse_page_bytes
    from nearfar.predict.table import print_prediction

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
    deliver(
        prediction,
        output,
        json=json,
        quiet=quiet,
        show=lambda console: print_prediction(prediction, console),
    )
