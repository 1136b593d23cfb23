"""Machines by spec: those that come with nearfar, files, and profiles of `nearfar machine`.

A machine file is TOML with the keys of `TargetMachine`. ``[assumed]`` names the keys whose values
no source states, each with the reason.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.units import PAGE_BYTES
from nearfar.devices.cores import core_names, core_of_processor
from nearfar.devices.names import device_names
from nearfar.devices.toml_lines import LineMap
from nearfar.devices.toml_read import fields_of, read_tables
from nearfar.documents import MachineProfile, load
from nearfar.documents.device import Source

FOLDER = Path(__file__).parent

CLOCK = re.compile(r"@ ?([\d.]+) ?GHz")
"""Clock in a processor's name."""

LIMITS: dict[str, tuple[float, float]] = {
    "clock_ghz": (0.1, 20.0),
    "threads": (1, 65536),
    "private_bytes": (PAGE_BYTES, 1 << 32),
    "llc_bytes": (1 << 16, 1 << 36),
    "near_bytes": (1 << 20, 1 << 50),
    "page_bytes": (PAGE_BYTES, 1 << 40),
}
"""Range of plausible values by key."""


class TargetMachine(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One machine for which predictions are made; None and "" are not known."""

    name: str
    title: str = ""
    processor: str = ""
    core: str | None = None
    """Name in the library of cores."""
    clock_ghz: float | None = None
    threads: int | None = None
    """Hardware threads that a program may use."""
    private_bytes: int | None = None
    """Second-level cache of a core."""
    llc_bytes: int | None = None
    page_bytes: int | None = None
    prefetchers: str = ""
    """"on", or which are off."""
    compiler: str = ""
    near: str | None = None
    """Library device that is the local memory."""
    near_bytes: int | None = None
    """Size of the local memory, which Memory Mode uses as a cache of the far one."""
    fars: list[str] = []
    """Library devices that are the machine's other memories."""
    assumed: dict[str, str] = {}
    """Reason by key, for values that no source states."""
    sources: dict[str, Source] = {}


def machine_names() -> list[str]:
    """Return the names of the library's machines, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_machine(spec: str | MachineProfile) -> TargetMachine:
    """Return the machine that `spec` names: of the library, a .toml file or a MachineProfile."""
    if isinstance(spec, MachineProfile):
        return target_of(spec, spec.cpu_model)
    path = Path(spec)
    if path.suffix.lower() == ".json":
        return target_of(load(path, MachineProfile), path.stem)
    if path.suffix.lower() == ".toml" or "/" in spec:
        return _read(path)
    name = spec.lower()
    if name not in machine_names():
        hint = nearest(name, machine_names()) or f"; there are: {', '.join(machine_names())}"
        raise NearfarError(f"there is no machine {spec!r}{hint}")
    return _read(FOLDER / f"{name}.toml")


def target_of(machine: MachineProfile, name: str) -> TargetMachine:
    """Return a measured machine as a target; its near memory is a device of its own."""
    last = machine.last_level_cache()
    core = core_of_processor(machine.cpu_model, machine.cpu_id)
    clock = CLOCK.search(machine.cpu_model)
    always = machine.transparent_huge_pages == "always"
    return TargetMachine(
        name=name,
        title=machine.cpu_model,
        processor=machine.cpu_model,
        core=None if core is None else core.name,
        clock_ghz=None if clock is None else float(clock[1]),
        threads=len(machine.cpus),
        llc_bytes=None if last is None else last.size_bytes,
        page_bytes=2 << 20 if always else PAGE_BYTES,
    )


def _read(path: Path) -> TargetMachine:
    text, data = read_tables(path, "machine")
    lines = LineMap(text)

    def refuse(key: str, message: str) -> NearfarError:
        return NearfarError(f"{path}:{lines.line((key,) if key else ())}: {message}")

    fields = [field.name for field in fields_of(TargetMachine)]
    for key in data:
        if key not in fields:
            hint = nearest(key, fields) or f"; there are: {', '.join(fields)}"
            raise refuse(key, f"unknown key {key!r} of a machine{hint}")
    try:
        machine = msgspec.convert(data, TargetMachine)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$.")
        key = where.partition(".")[0].partition("[")[0].removesuffix("`")
        raise refuse(key, f"key {key!r}: {message}" if key else message) from error
    for key, message in _problems(machine):
        raise refuse(key, message)
    return machine


def _problems(machine: TargetMachine) -> list[tuple[str, str]]:
    """Return keys and what is wrong with their values."""
    problems: list[tuple[str, str]] = []
    for key, (least, most) in LIMITS.items():
        value: Any = getattr(machine, key)
        if value is not None and not least <= value <= most:
            problems.append((key, f"key {key!r} is {value:g}, expected {least:g} to {most:g}"))
    if machine.core is not None and machine.core not in core_names():
        hint = nearest(machine.core, core_names()) or ""
        problems.append(("core", f"there is no core {machine.core!r}{hint}"))
    for key, names in (("near", [machine.near] if machine.near else []), ("fars", machine.fars)):
        for name in names:
            if name not in device_names():
                hint = nearest(name, device_names()) or ""
                problems.append((key, f"there is no device {name!r} in the library{hint}"))
    for key in machine.assumed:
        if getattr(machine, key, None) in (None, "", []):
            problems.append(("assumed", f"[assumed] has a reason for {key!r}, which has no value"))
    return problems
