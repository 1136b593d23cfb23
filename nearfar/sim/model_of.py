"""Models by name: a device of the library, a file, or a random memory."""

from __future__ import annotations

from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.sim.from_device import from_device
from nearfar.sim.parameters import DeviceModel
from nearfar.sim.synthetic import synthetic

RANDOM = "random:"
"""Prefix of the name of a random memory, before its number."""


def model_of(name: str) -> DeviceModel:
    """Return the model called `name`; a prefix ``model:`` is ignored."""
    name = name.removeprefix("model:")
    if name.startswith(RANDOM):
        number = name.removeprefix(RANDOM)
        if not (number.isdecimal() and number.isascii()):
            raise NearfarError(f"{RANDOM}N needs a number, not {number!r}: {RANDOM}7")
        return synthetic(int(number))
    return from_device(load_device(name))
