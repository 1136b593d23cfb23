"""The documents and settings of one prediction, as options name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.base.units import parse_size_bytes
from nearfar.devices.cores import load_core
from nearfar.devices.library import load_device, load_devices
from nearfar.devices.machines import TargetMachine, load_machine
from nearfar.documents import (
    CounterProfile,
    DeviceProfile,
    MachineProfile,
    WorkloadProfile,
    load,
    loaded,
)
from nearfar.documents.core import CoreFigures
from nearfar.options.predict import PredictOptions
from nearfar.predict.code_file import (
    LLC_BYTES,
    find_code,
    load_code,
    parse_sizes,
    profile_of_code,
)
from nearfar.predict.device_figures import parse_page_bytes
from nearfar.predict.fitted_counters import profile_of_fit
from nearfar.predict.from_counters import is_counters, profile_of_counters
from nearfar.predict.model import DEFAULT_MODEL
from nearfar.predict.predicted_machine import PredictedMachine, machine_profile, measured_core


@dataclass(frozen=True, kw_only=True)
class PredictionTask:
    """Documents and settings that a prediction is made from."""

    workload: WorkloadProfile
    near: DeviceProfile
    fars: Sequence[DeviceProfile]
    model: str
    page_bytes: int | None
    machine: MachineProfile | None
    core: CoreFigures | None
    target: TargetMachine | None
    """The machine that --on names."""
    remarks: Sequence[str]
    """Sentences on what is known and what is assumed of that machine."""


def task_of(options: PredictOptions) -> PredictionTask:
    """Return the documents that options name, for another machine where they describe one."""
    target = None if options.on is None else _target(options, options.on)
    there, core = _predicted_machine(options, target), _core(options, target)
    near = there.near(_near(options, target))
    workload, model = _workload(options, near, target)
    remarks: list[str] = []
    # Formulas are computed with the target's memory and cache.
    if target is None or not is_code(options):
        converted = there.converted(workload, near, core)
        workload = converted.workload
        remarks = [] if target is None else converted.sentences(target)
    machine, pages = options.machine, options.pages
    stated_bytes = None if target is None else target.page_bytes
    if core is None and target is not None and target.core is not None:
        core = load_core(target.core)
    fars = load_devices(options.far or ([] if target is None else target.fars))
    if options.near_budget and not any(far.technology == "paged" for far in fars):
        raise CommandError(
            "--near-budget is for memories that are moved in pages (zram, swap): name one by --far"
        )
    return PredictionTask(
        workload=workload,
        near=near,
        fars=fars,
        model=model,
        page_bytes=stated_bytes if pages is None else parse_page_bytes(pages),
        machine=None if machine is None else loaded(machine, MachineProfile),
        core=core,
        target=target,
        remarks=remarks,
    )


def _target(options: PredictOptions, spec: str | MachineProfile) -> TargetMachine:
    """Return the machine that --on names; refuse missing far memory and options without effect."""
    target = load_machine(spec)
    if not options.far and not target.fars:
        raise CommandError(f"{target.name} names no far memory: name it by --far")
    unused = {
        "--near-time": options.near_time,
        "--here": options.here is not None,
        "--threads": options.threads is not None and options.pipeline is None,
    }
    if is_code(options) and any(unused.values()):
        names = " and ".join(name for name, is_given in unused.items() if is_given)
        raise CommandError(
            f"{names} is for a profile: near time of formulas follows from them and from "
            f"{target.name}; leave it out"
        )
    return target


def _core(options: PredictOptions, target: TargetMachine | None) -> CoreFigures | None:
    """Return the core that --core names, else the measured core of --on's machine profile."""
    if options.core is not None:
        return load_core(options.core)
    machine = machine_profile(options.on)
    return None if target is None or machine is None else measured_core(target, machine)


def _predicted_machine(options: PredictOptions, target: TargetMachine | None) -> PredictedMachine:
    """Return the machine that the prediction is for."""
    return PredictedMachine(
        target=target,
        here=None if options.here is None else load_device(options.here),
        llc=None if is_code(options) else options.llc,  # formulas have used it already
        near_time=options.near_time,
        near_size=options.near_size,
        frequency=options.frequency,
        threads=options.threads,
    )


def _near(options: PredictOptions, target: TargetMachine | None) -> DeviceProfile:
    """Return near memory."""
    if target is not None and target.near is None and options.near == "":
        raise CommandError(
            f"{target.name} names no near memory: give the memory measured there by --near"
        )
    return load_device(options.near or (target.near if target is not None else None) or "")


def _workload(
    options: PredictOptions, near: DeviceProfile, target: TargetMachine | None
) -> tuple[WorkloadProfile, str]:
    """Return the workload that a profile, formulas or counters describe, and the model for it."""
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
    paths = [path for path in (options.profile, *options.more) if isinstance(path, Path)]
    if stray := [path for path in paths if not is_counters(path)]:
        raise CommandError(
            f"{stray[0]} holds no counters: several files go together only if `nearfar "
            "counters import` wrote them all; to extrapolate profiles there is `nearfar scale`"
        )
    return profile_of_fit(
        [load(path, CounterProfile) for path in paths], parse_sizes(list(options.size))
    )


def is_code(options: PredictOptions) -> bool:
    """Return whether the profile is a file of formulas."""
    path = options.profile
    return not options.more and isinstance(path, Path) and find_code(path) is not None
