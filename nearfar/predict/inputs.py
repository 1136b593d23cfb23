"""The files behind a prediction: recorded when it is made, and read again to explain it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.devices.cores import load_core
from nearfar.devices.library import device_names, load_device
from nearfar.documents import MachineProfile, Prediction, WorkloadProfile, load
from nearfar.documents.inputs import InputFile, PredictionInputs
from nearfar.predict.attribution import LoadedInputs


def input_files(specs: Sequence[object]) -> list[InputFile] | None:
    """Return the files and library devices that `specs` name; None if one is no such."""
    files = []
    for spec in specs:
        if not isinstance(spec, str | Path):
            return None  # a document in memory
        path = Path(spec)
        if path.is_file():
            digest = hashlib.sha256(read_bytes(path, "the document")).hexdigest()
            files.append(InputFile(path=str(spec), sha256=digest))
        elif str(spec).lower() in device_names():
            files.append(InputFile(path=str(spec).lower()))
        else:
            return None  # a pipe
    return files


def load_inputs(prediction: Prediction, beside: Path) -> LoadedInputs:
    """Return the documents that a prediction was made from.

    A file is looked for where it was, and in the folder `beside` under its own name. Raises
    NearfarError where the inputs are not recorded, not there, or not what they were.
    """
    inputs = prediction.inputs
    if inputs is None:
        raise NearfarError(
            "it does not name its inputs: it was made by an older nearfar, from documents in "
            "memory, or for another machine's cache or near time; predict again from files"
        )
    devices = [load_device(_path(file, beside)) for file in inputs.far]
    names = [device.far for device in prediction.devices]
    machine = inputs.machine
    return LoadedInputs(
        workload=load(Path(_path(inputs.profile, beside)), WorkloadProfile),
        near=load_device(_path(inputs.near, beside)),
        fars=dict(zip(names, devices, strict=True)),
        model=prediction.model,
        host=prediction.host,
        phases=tuple(inputs.phases),
        page_bytes=inputs.page_bytes,
        machine=None if machine is None else load(Path(_path(machine, beside)), MachineProfile),
        core=None if inputs.core is None else load_core(inputs.core),
    )


def recorded(
    profile: object,
    near: object,
    fars: Sequence[object],
    machine: object = None,
    *,
    core: str | None = None,
    phases: Sequence[str] = (),
    page_bytes: int | None = None,
) -> PredictionInputs | None:
    """Return the inputs of a prediction; None if one is no file and no device of the library."""
    specs = [profile, near, *fars, *([] if machine is None else [machine])]
    files = input_files(specs)
    if files is None:
        return None
    return PredictionInputs(
        profile=files[0],
        near=files[1],
        far=files[2 : 2 + len(fars)],
        machine=None if machine is None else files[-1],
        core=core,
        phases=list(phases),
        page_bytes=page_bytes,
    )


def _path(file: InputFile, beside: Path) -> str:
    """Return where an input is now: its name for a library device."""
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
