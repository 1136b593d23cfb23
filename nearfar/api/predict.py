"""The API function `predict`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.api._documents import devices, loaded, near_device, origin
from nearfar.base.errors import CommandError
from nearfar.options.predict import PredictOptions

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile, Prediction, WorkloadProfile
    from nearfar.predict.in_situ import Stages


@api_function(PredictOptions)
def predict(options: PredictOptions) -> Prediction:
    """Predict how long a profiled program takes with its data in far memory."""
    from nearfar.documents import MachineProfile
    from nearfar.predict.api import predict as run
    from nearfar.predict.calibration import load_calibrations, with_calibrations
    from nearfar.predict.device_figures import parse_page_bytes
    from nearfar.predict.in_situ import with_pipeline
    from nearfar.predict.model import MODELS

    near = _near(options)
    workload, model = _workload(options, near)
    stages = _stages(options, workload)
    workload = _elsewhere(options, workload, near)
    fars = devices(options.far)
    calibrations = None if options.calibrated is None else load_calibrations(options.calibrated)
    machine = None if options.machine is None else loaded(options.machine, MachineProfile)
    page_bytes = None if options.pages is None else parse_page_bytes(options.pages)
    models = list(options.models)
    prediction = run(
        workload,
        near,
        fars,
        model,
        phases=list(options.phase) or None,
        host=options.host,
        page_bytes=page_bytes,
        profile_path=origin(options.profile),
        also=MODELS.names() if models == ["all"] else models,
        machine=machine,
    )
    if stages is not None:
        prediction = with_pipeline(
            prediction,
            stages,
            workload,
            near,
            fars,
            host=options.host,
            page_bytes=page_bytes,
            machine=machine,
        )
    if calibrations is not None:
        prediction = with_calibrations(prediction, fars, calibrations)
    return prediction


def _near(options: PredictOptions) -> DeviceProfile:
    """Return near memory, with the capacity of --near-size."""
    from msgspec.structs import replace

    from nearfar.base.units import parse_size_bytes

    near = near_device(options.near)
    if options.near_size is not None:
        near = replace(near, capacity_bytes=parse_size_bytes(options.near_size))
    return near


def _workload(options: PredictOptions, near: DeviceProfile) -> tuple[WorkloadProfile, str]:
    """Return the workload that a profile, formulas or counters describe, and the model for it."""
    from nearfar.base.units import parse_size_bytes
    from nearfar.documents import CounterProfile, WorkloadProfile, load
    from nearfar.predict.code_file import (
        LLC_BYTES,
        find_code,
        load_code,
        parse_sizes,
        profile_of_code,
    )
    from nearfar.predict.from_counters import is_counters, profile_of_counters
    from nearfar.predict.model import DEFAULT_MODEL

    if options.more:
        return _fitted(options), options.model or "counters"
    path = options.profile if isinstance(options.profile, Path) else None
    code = None if path is None else find_code(path)
    if code is not None:
        llc_bytes = LLC_BYTES if options.llc is None else parse_size_bytes(options.llc)
        sizes = parse_sizes(list(options.size))
        return profile_of_code(load_code(code), near, sizes, llc_bytes), options.model or "code"
    if path is not None and is_counters(path):
        workload, model = profile_of_counters(load(path, CounterProfile)), "counters"
    else:
        workload, model = loaded(options.profile, WorkloadProfile), DEFAULT_MODEL
    if options.size:
        raise CommandError(
            "--size goes with a file of formulas: a profile has the size it was run at"
        )
    return workload, options.model or model


def _fitted(options: PredictOptions) -> WorkloadProfile:
    """Return the workload fitted to counters of several sizes."""
    from nearfar.documents import CounterProfile, load
    from nearfar.predict.code_file import parse_sizes
    from nearfar.predict.fitted_counters import profile_of_fit
    from nearfar.predict.from_counters import is_counters

    paths = [path for path in (options.profile, *options.more) if isinstance(path, Path)]
    if stray := [path for path in paths if not is_counters(path)]:
        raise CommandError(
            f"{stray[0]} holds no counters: several files go together only if `nearfar "
            "counters import` wrote them all; to extrapolate profiles there is `nearfar scale`"
        )
    return profile_of_fit(
        [load(path, CounterProfile) for path in paths], parse_sizes(list(options.size))
    )


def _stages(options: PredictOptions, workload: WorkloadProfile) -> Stages | None:
    from nearfar.predict.in_situ import DEFAULT_SETS, parse_stages

    if options.pipeline is None or options.set_size is None:
        return None
    threads = options.threads
    return parse_stages(
        options.pipeline,
        DEFAULT_SETS if options.sets is None else options.sets,
        options.set_size,
        max(2, workload.program.threads_seen) if threads is None else threads,
    )


def _elsewhere(
    options: PredictOptions, workload: WorkloadProfile, near: DeviceProfile
) -> WorkloadProfile:
    """Return the workload as another machine would run it, where options describe one."""
    from nearfar.base.units import parse_size_bytes
    from nearfar.devices.library import load_near
    from nearfar.predict.code_file import find_code
    from nearfar.predict.other_machine import on_other_machine, parse_near_times

    of_code = (
        not options.more
        and isinstance(options.profile, Path)
        and (find_code(options.profile) is not None)
    )
    llc = None if of_code else options.llc  # formulas have used it already
    if llc is None and not options.near_time and options.here is None:
        return workload
    return on_other_machine(
        workload,
        near,
        llc_bytes=None if llc is None else parse_size_bytes(llc),
        here=None if options.here is None else load_near(options.here),
        frequency_ratio=options.frequency,
        near_times_ns=parse_near_times(
            list(options.near_time), [phase.name for phase in workload.phases]
        ),
    )
