"""The files behind a prediction: recorded when it is made, and read again to explain it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.devices.cores import load_core
from nearfar.devices.library import device_names, load_device
from nearfar.devices.machines import load_machine, machine_names
from nearfar.documents import MachineProfile, Prediction, WorkloadProfile, load
from nearfar.documents.core import CoreFigures
from nearfar.documents.inputs import ElsewhereInputs, InputFile, PredictionInputs
from nearfar.options.predict import PredictOptions
from nearfar.predict.attribution import LoadedInputs
from nearfar.predict.from_counters import is_counters
from nearfar.predict.predicted_machine import PredictedMachine, machine_profile, measured_core
from nearfar.predict.task import PredictionTask, is_code


def input_files(specs: Sequence[object]) -> list[InputFile] | None:
    """Return the files, library devices and machines of `specs`; None if one is none of these."""
    known = {*device_names(), *machine_names()}
    files = []
    for spec in specs:
        if not isinstance(spec, str | Path):
            return None  # a document in memory
        path = Path(spec)
        if path.is_file():
            digest = hashlib.sha256(read_bytes(path, "the document")).hexdigest()
            files.append(InputFile(path=str(spec), sha256=digest))
        elif str(spec).lower() in known:
            files.append(InputFile(path=str(spec).lower()))
        else:
            return None  # a pipe
    return files


def load_inputs(prediction: Prediction, beside: Path) -> LoadedInputs:
    """Return the documents that a prediction was made from, converted to its machine.

    Each file is searched at its recorded path and, by its name, in the folder `beside`. Raises
    NearfarError if the inputs were not recorded, are missing, or have changed.
    """
    inputs = prediction.inputs
    if inputs is None:
        raise NearfarError(
            "it does not name its inputs: it was made by an older nearfar, from documents in "
            "memory, or from counters or formulas; predict again from files of profiles"
        )
    there, core = _predicted_machine(inputs.elsewhere or ElsewhereInputs(), beside)
    if inputs.core is not None:
        core = load_core(inputs.core)
    near = there.near(load_device(_path(inputs.near, beside)))
    workload = load(Path(_path(inputs.profile, beside)), WorkloadProfile)
    workload = there.converted(workload, near, core).workload
    if core is None and there.target is not None and there.target.core is not None:
        core = load_core(there.target.core)
    names = [device.far for device in prediction.devices]
    devices = [load_device(_path(file, beside)) for file in inputs.far]
    machine = inputs.machine
    return LoadedInputs(
        workload=workload,
        near=near,
        fars=dict(zip(names, devices, strict=True)),
        model=prediction.model,
        host=prediction.host,
        phases=tuple(inputs.phases),
        page_bytes=inputs.page_bytes,
        machine=None if machine is None else load(Path(_path(machine, beside)), MachineProfile),
        core=core,
    )


def _predicted_machine(
    given: ElsewhereInputs, beside: Path
) -> tuple[PredictedMachine, CoreFigures | None]:
    """Return the machine that a prediction is for, and its core where that was measured."""
    target, core = None, None
    if given.on is not None:
        spec = _path(given.on, beside)
        target, machine = load_machine(spec), machine_profile(spec)
        core = None if machine is None else measured_core(target, machine)
    there = PredictedMachine(
        target=target,
        here=None if given.here is None else load_device(_path(given.here, beside)),
        llc=given.llc,
        near_time=given.near_time,
        near_size=given.near_size,
        frequency=given.frequency,
        threads=given.threads,
    )
    return there, core


def recorded(options: PredictOptions, task: PredictionTask) -> PredictionInputs | None:
    """Return the inputs of a prediction, to read them again later; None where that is impossible.

    It is impossible for formulas, for counters, and for documents in memory or from pipes.
    """
    path, target = options.profile, task.target
    if not isinstance(path, Path) or options.more or is_code(options) or is_counters(path):
        return None
    fars: list[object] = list(options.far or ([] if target is None else target.fars))
    if fars == ["all"]:
        fars = [*device_names()]
    elif all(isinstance(far, str) for far in fars):
        fars = list(dict.fromkeys(fars))
    others = {"machine": options.machine, "on": options.on, "here": options.here}
    given = {name: spec for name, spec in others.items() if spec is not None}
    near = options.near or (None if target is None else target.near)
    files = input_files([path, near, *fars, *given.values()])
    if files is None:
        return None
    named = dict(zip(given, files[2 + len(fars) :], strict=True))
    elsewhere = ElsewhereInputs(
        on=named.get("on"),
        here=named.get("here"),
        llc=options.llc,
        near_time=list(options.near_time),
        near_size=options.near_size,
        frequency=options.frequency,
        threads=None if target is None else options.threads,
    )
    return PredictionInputs(
        profile=files[0],
        near=files[1],
        far=files[2 : 2 + len(fars)],
        machine=named.get("machine"),
        core=options.core,
        phases=list(options.phase),
        page_bytes=task.page_bytes,
        elsewhere=None if elsewhere == ElsewhereInputs() else elsewhere,
    )


def _path(file: InputFile, beside: Path) -> str:
    """Return an input's name in the library, or the path where the file is now."""
    if not file.sha256:
        return file.path
    there = [Path(file.path), beside / Path(file.path).name]
    present = [path for path in there if path.is_file()]
    for path in present:
        if hashlib.sha256(read_bytes(path, "the document")).hexdigest() == file.sha256:
            return str(path) if path.is_absolute() else f"./{path}"
    if present:
        raise NearfarError(f"{present[0]} has changed since the prediction was made from it")
    raise NearfarError(
        f"the prediction's input {file.path} is missing: put it back, or next to the prediction"
    )
