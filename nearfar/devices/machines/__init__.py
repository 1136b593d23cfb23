"""Machines by name, as targets of predictions: one TOML file each, with what is known of them."""

from nearfar.devices.machines.library import (
    TargetMachine,
    load_machine,
    machine_names,
)

__all__ = ["TargetMachine", "load_machine", "machine_names"]
