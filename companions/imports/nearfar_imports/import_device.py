"""Import of a device from a file of another tool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nearfar.base.errors import CommandError
from nearfar.base.files import check_writable
from nearfar.devices.check import check_device
from nearfar.devices.toml_write import save_toml
from nearfar.documents import DeviceProfile, producer, save
from nearfar.documents.device import How, Source
from nearfar_imports.importers import ImportOptions, read_all

MIN_POINTS = 8
"""Fewest points of a thinned curve: ends, extremes and an oddity's two points are always kept."""


Technology = Literal[
    "dram", "remote-dram", "hbm", "cxl", "pmem", "nvdimm", "emulated", "file", "other"
]


@dataclass(frozen=True, kw_only=True)
class DeviceDescription:
    """Facts about a device that its file does not state; names default to the file's name."""

    name: str | None = None
    title: str | None = None
    technology: Technology = "other"
    citation: str | None = None
    where: str = ""
    licence: str = ""
    how: How = "published"
    host_dram: str | None = None
    """Library device that is the local DRAM of the machine that was measured."""


def name_of(file: Path) -> str:
    """Return the device name of `file`: its name in lower-case letters, digits and dashes."""
    name = re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")
    if not name:
        raise CommandError(
            f"the name of {file} has no letters or digits for a device name: give --name"
        )
    return name


def import_with_notes(
    files: Sequence[Path], options: ImportOptions, about: DeviceDescription, form: str | None = None
) -> tuple[DeviceProfile, str, list[str]]:
    """Return the device in `files`, their format's name, and notes: assumptions, what is left out.

    `form` names the format; None: it is detected.
    """
    if options.max_points < MIN_POINTS:
        raise CommandError(f"--max-points must be at least {MIN_POINTS}, not {options.max_points}")
    share = options.units.read_share
    if share is not None and not 0 <= share <= 1:
        raise CommandError(f"--read-share must be between 0 and 1, not {share:g}")
    curves, form = read_all(files, options, form)
    if about.name is None and len(files) > 1:
        raise CommandError(f"{len(files)} files make one device: name it with --name")
    name = about.name or name_of(files[0])
    listed = files[0].name if len(files) == 1 else f"{len(files)} files, {files[0].name} to "
    listed += "" if len(files) == 1 else files[-1].name
    device = DeviceProfile(
        producer=producer(),
        name=name,
        title=about.title or name,
        technology=about.technology,
        host_dram=about.host_dram,
        sources={
            "import": Source(
                citation=about.citation or f"imported from {listed}; its origin was not stated",
                where=about.where or listed,
                licence=about.licence,
            )
        },
        latency=curves.latency,
        bandwidth=curves.bandwidth,
        loaded_latency=curves.loaded_latency,
    )
    problem = check_device(device)
    if problem is not None:
        raise CommandError(f"cannot import {listed}: {problem[1]}")
    return device, form, curves.notes


def save_device(device: DeviceProfile, path: Path) -> None:
    """Write `device` to `path` as TOML or JSON, by its extension."""
    ending = path.suffix.lower()
    if ending not in (".toml", ".json"):
        raise CommandError(f"cannot write {path}: its ending must be .toml or .json")
    check_writable(path)
    if ending == ".toml":
        save_toml(device, path)
    else:
        save(device, path)
