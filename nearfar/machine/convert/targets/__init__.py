"""Targets of a conversion: one file each, found by the registry.

A target gets the machine, the request and an empty draft, and fills the draft with what is left
to do from the state the machine is in now; a draft without steps and obstacles means: done.
"""

from __future__ import annotations

from collections.abc import Callable

from nearfar.base.registry import Registry
from nearfar.machine.convert.draft import DraftConversion
from nearfar.machine.convert.request import ConversionRequest
from nearfar.machine.sysfs import Tree

Target = Callable[[Tree, ConversionRequest, DraftConversion], None]

TARGETS: Registry[Target] = Registry("nearfar.machine.convert.targets", "target")
