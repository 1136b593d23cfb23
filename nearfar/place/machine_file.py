"""Memories that a plan may use: named one by one, or in a file of memories.

On the command line a far memory is `DEVICE` or `DEVICE:CAPACITY`. A file (TOML or JSON) has more:

    machine = "machine.json"            # optional, from `nearfar machine --measure`

    [near]
    device = "dram.json"
    capacity = "16GiB"                  # the budget, unless --budget or --slo is given
    price = 5
    spec = "node:0"

    [[far]]
    device = "cxl-micron-cz120"
    capacity = "64GiB"                  # optional, without it: no limit
    price = 2.5
    spec = "node:1"
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from nearfar.base.errors import CommandError, NearfarError
from nearfar.base.files import read_bytes
from nearfar.base.units import parse_size_bytes
from nearfar.devices.library import device_names, load_device
from nearfar.documents import DeviceProfile
from nearfar.documents.plan import Prices
from nearfar.options.place import PlaceOptions


@dataclass(frozen=True, eq=False)
class FarMemory:
    """A far memory that a plan may use."""

    device: DeviceProfile
    capacity_bytes: int | None = None
    """None: no limit."""
    price_per_byte: float | None = None
    """None: the default price of far memory."""
    spec: str = ""
    """Memory spec on the machine that runs the program, such as ``node:1``."""


class _Entry(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    device: str
    capacity: str = ""
    price: float | None = None
    spec: str = ""


class _File(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    near: _Entry | None = None
    far: list[_Entry]
    machine: str = ""


@dataclass(frozen=True, eq=False)
class MachineFile:
    """Contents of a file of memories."""

    far: list[FarMemory] = field(default_factory=list)
    near: str | None = None
    """Near device, a library name or a file; None: not in the file."""
    near_capacity: str | None = None
    near_price: float | None = None
    near_spec: str = ""
    machine: Path | None = None
    """File of a MachineProfile."""


def parse_far(text: str) -> FarMemory:
    """Return the far memory of ``DEVICE`` or ``DEVICE:CAPACITY``."""
    device, colon, capacity = text.rpartition(":")
    # A path may contain a colon: the whole text may name a device or a file.
    if not colon or text in device_names() or Path(text).is_file():
        return FarMemory(load_device(text))
    return FarMemory(load_device(device), _capacity(capacity, f"--far {text}"))


def load_machine_file(path: Path) -> MachineFile:
    """Read a file of memories; raises NearfarError with what is wrong and where."""
    data = read_bytes(path, "file of memories")
    try:
        if path.suffix.lower() == ".toml":
            content = msgspec.toml.decode(data, type=_File)
        else:
            content = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NearfarError(
            f"{path} is no file of memories: {error}; expected [near] and one [[far]] for each far "
            "memory, with device, capacity, price and spec (docs/place.md)"
        ) from error
    if not content.far:
        raise NearfarError(f"{path} names no far memory: add [[far]] with a device")
    near = content.near
    return MachineFile(
        far=[
            FarMemory(
                load_device(_relative_to(path, entry.device)),
                _capacity(entry.capacity, f"{path}, far memory {entry.device}")
                if entry.capacity
                else None,
                check_price(entry.price, f"{path}, far memory {entry.device}"),
                entry.spec,
            )
            for entry in content.far
        ],
        near=_relative_to(path, near.device) if near else None,
        near_capacity=near.capacity or None if near else None,
        near_price=check_price(near.price, f"{path}, near memory") if near else None,
        near_spec=near.spec if near else "",
        machine=path.parent / content.machine if content.machine else None,
    )


def check_price(price: float | None, where: str) -> float | None:
    """Return the price; raises NearfarError unless it is a number of 0 or more."""
    if price is not None and not (math.isfinite(price) and price >= 0):
        raise NearfarError(f"{where}: the price {price:g} is not 0 or more")
    return price


def _relative_to(path: Path, device: str) -> str:
    """Return a device's name, or its file's path relative to the folder of `path`."""
    if device.lower().endswith((".json", ".toml")):
        return str(path.parent / device)
    return device


def _capacity(text: str, where: str) -> int:
    try:
        size = parse_size_bytes(text)
    except NearfarError as error:
        raise NearfarError(f"{where}: {error}") from error
    if size <= 0:
        raise NearfarError(f"{where}: the capacity is 0 bytes: leave that memory out")
    return size


def far_memories(options: PlaceOptions, file: MachineFile) -> list[FarMemory]:
    """Return the far memories of the file, or of the options, with the options' prices."""
    fars = file.far or [
        parse_far(far) if isinstance(far, str) else FarMemory(far) for far in options.far
    ]
    if not fars:
        raise CommandError(
            "there is no far memory: name one or more with --far, such as --far optane-100-6dimm "
            "(`nearfar device list`), or a file of them with --memories"
        )
    prices = options.far_price
    if len(prices) <= 1:
        return fars
    if len(prices) != len(fars):
        raise CommandError(
            f"{len(prices)} prices for {len(fars)} far memories: give one --far-price for each, in "
            "their order, or one for all"
        )
    return [
        replace(far, price_per_byte=check_price(price, "--far-price"))
        for far, price in zip(fars, prices, strict=True)
    ]


def prices_of(options: PlaceOptions, file: MachineFile) -> Prices:
    """Return the prices that options and file give; others are the defaults."""
    prices = Prices()
    near, far = options.near_price, options.far_price[0] if options.far_price else None
    if near is not None or far is not None:
        source = "given on the command line"
    elif file.near_price is not None:
        near, source = file.near_price, f"given in {options.memories}"
    elif any(memory.price_per_byte is not None for memory in file.far):
        source = f"far memories' given in {options.memories}; near: {prices.source}"
    else:
        return prices
    return Prices(
        near_per_byte=prices.near_per_byte if near is None else near,
        far_per_byte=prices.far_per_byte if far is None else far,
        source=source,
    )
