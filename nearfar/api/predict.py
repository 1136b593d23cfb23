"""The API function `predict`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.api._documents import devices, loaded, near_device, origin
from nearfar.base.errors import CommandError
from nearfar.options.predict import PredictOptions

if TYPE_CHECKING:
    from nearfar.devices.machines import TargetMachine
    from nearfar.documents import DeviceProfile, Prediction, WorkloadProfile
    from nearfar.documents.core import CoreFigures
    from nearfar.documents.inputs import PredictionInputs
    from nearfar.predict.elsewhere import Elsewhere
    from nearfar.predict.in_situ import Stages


@api_function(PredictOptions)
def predict(options: PredictOptions) -> Prediction:
    """Predict how long a profiled program takes with its data in far memory."""
    from nearfar.devices.cores import load_core
    from nearfar.documents import MachineProfile
    from nearfar.predict.api import predict as run
    from nearfar.predict.calibration import load_calibrations, with_calibrations
    from nearfar.predict.device_figures import parse_page_bytes
    from nearfar.predict.in_situ import with_pipeline

    target = _target(options)
    there, core = _there(options, target), _core(options, target)
    near = there.near(_near(options, target))
    workload, model = _workload(options, near, target)
    stages = _stages(options, workload)
    remarks: list[str] = []
    # Formulas are computed with the target's memory and cache.
    if target is None or not _is_code(options):
        moved = there.moved(workload, near, core)
        workload = moved.workload
        remarks = [] if target is None else moved.sentences(target)
    fars = devices(options.far or ([] if target is None else target.fars))
    calibrations = None if options.calibrated is None else load_calibrations(options.calibrated)
    machine = None if options.machine is None else loaded(options.machine, MachineProfile)
    page_bytes = None if target is None else target.page_bytes
    if options.pages is not None:
        page_bytes = parse_page_bytes(options.pages)
    if core is None and target is not None and target.core is not None:
        core = load_core(target.core)
    prediction = run(
        workload,
        near,
        fars,
        model,
        phases=list(options.phase) or None,
        host=options.host,
        page_bytes=page_bytes,
        profile_path=origin(options.profile),
        also=_also(options, workload),
        machine=machine,
        core=core,
        remarks=remarks,
        explain=list(options.explain),
    )
    prediction.inputs = _inputs(options, target, page_bytes)
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
            core=core,
        )
    if calibrations is not None:
        prediction = with_calibrations(prediction, fars, calibrations)
    return prediction


def _inputs(
    options: PredictOptions, target: TargetMachine | None, page_bytes: int | None
) -> PredictionInputs | None:
    """Return the files that the prediction is made from; None if they alone do not give it."""
    from nearfar.devices.library import device_names
    from nearfar.documents.inputs import ElsewhereInputs
    from nearfar.predict.from_counters import is_counters
    from nearfar.predict.inputs import recorded

    path = options.profile if isinstance(options.profile, Path) else None
    if path is None or options.more or _is_code(options) or is_counters(path):
        return None
    fars = list(options.far) or ([] if target is None else [*target.fars])
    if fars == ["all"]:
        fars = [*device_names()]
    elif all(isinstance(far, str) for far in fars):
        fars = list(dict.fromkeys(fars))
    elsewhere = ElsewhereInputs(
        llc=options.llc,
        near_time=list(options.near_time),
        near_size=options.near_size,
        frequency=options.frequency,
        threads=None if target is None else options.threads,
    )
    others = (options.on, options.here)
    return recorded(
        path,
        options.near or (None if target is None else target.near),
        fars,
        options.machine,
        core=options.core,
        phases=options.phase,
        page_bytes=page_bytes,
        on=options.on,
        here=options.here,
        elsewhere=None if others == (None, None) and elsewhere == ElsewhereInputs() else elsewhere,
    )


def _target(options: PredictOptions) -> TargetMachine | None:
    """Return the machine that --on names; refuse what it leaves open, and what formulas ignore."""
    from nearfar.devices.machines import load_machine

    if options.on is None:
        return None
    target = load_machine(options.on)
    if not options.far and not target.fars:
        raise CommandError(f"{target.name} names no far memory: name it by --far")
    unused = {
        "--near-time": options.near_time,
        "--here": options.here is not None,
        "--threads": options.threads is not None and options.pipeline is None,
    }
    if _is_code(options) and any(unused.values()):
        names = " and ".join(name for name, is_given in unused.items() if is_given)
        raise CommandError(
            f"{names} is for a profile: near time of formulas follows from them and from "
            f"{target.name}; leave it out"
        )
    return target


def _core(options: PredictOptions, target: TargetMachine | None) -> CoreFigures | None:
    """Return the core that --core names, else the measured one of the profile that --on names."""
    from nearfar.devices.cores import load_core
    from nearfar.predict.elsewhere import machine_profile, measured_core

    if options.core is not None:
        return load_core(options.core)
    machine = machine_profile(options.on)
    return None if target is None or machine is None else measured_core(target, machine)


def _there(options: PredictOptions, target: TargetMachine | None) -> Elsewhere:
    """Return the machine that the prediction is for."""
    from nearfar.devices.library import load_near
    from nearfar.predict.elsewhere import Elsewhere

    return Elsewhere(
        target=target,
        here=None if options.here is None else load_near(options.here),
        llc=None if _is_code(options) else options.llc,  # formulas have used it already
        near_time=options.near_time,
        near_size=options.near_size,
        frequency=options.frequency,
        threads=options.threads,
    )


def _also(options: PredictOptions, workload: WorkloadProfile) -> list[str]:
    """Return the names of more models to show."""
    from nearfar.predict.from_counters import models_beside
    from nearfar.predict.model import MODELS

    models = list(options.models) or models_beside(workload)
    return MODELS.names() if models == ["all"] else models


def _near(options: PredictOptions, target: TargetMachine | None) -> DeviceProfile:
    """Return near memory."""
    if target is not None and target.near is None and options.near == "":
        raise CommandError(
            f"{target.name} names no near memory: give the memory measured there by --near"
        )
    return near_device(options.near or (target.near if target is not None else None) or "")


def _workload(
    options: PredictOptions, near: DeviceProfile, target: TargetMachine | None
) -> tuple[WorkloadProfile, str]:
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
        stated = None if target is None else target.llc_bytes
        llc_bytes = parse_size_bytes(options.llc) if options.llc else stated or LLC_BYTES
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


def _is_code(options: PredictOptions) -> bool:
    """Return whether the profile is a file of formulas."""
    from nearfar.predict.code_file import find_code

    path = options.profile
    return not options.more and isinstance(path, Path) and find_code(path) is not None
