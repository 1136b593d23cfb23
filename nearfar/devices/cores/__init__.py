"""Cores by name: one TOML file of published figures each, with their sources."""

from nearfar.devices.cores.library import (
    completed_core,
    core_names,
    core_of_processor,
    load_core,
    plausible_cores,
)

__all__ = [
    "completed_core",
    "core_names",
    "core_of_processor",
    "load_core",
    "plausible_cores",
]
