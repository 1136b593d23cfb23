"""PredictionInputs: the files from which a prediction was computed, so that it can be repeated."""

from __future__ import annotations

import msgspec


class InputFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One document, or a device of the library."""

    path: str
    """As typed: a file, or a library device's name."""
    sha256: str = ""
    """SHA-256 of the file's bytes; empty: a library device."""


class ElsewhereInputs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Options that describe a machine other than the profile's, as typed."""

    on: InputFile | None = None
    """File, or name of a machine in the library."""
    here: InputFile | None = None
    llc: str | None = None
    near_time: list[str] = []
    near_size: str | None = None
    frequency: float = 1.0
    threads: int | None = None


class PredictionInputs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Inputs of a prediction in addition to model and host rule."""

    profile: InputFile
    near: InputFile
    far: list[InputFile]
    """In the order of the prediction's devices."""
    machine: InputFile | None = None
    core: str | None = None
    """As typed after --core."""
    phases: list[str] = []
    """Predicted phases; empty: all."""
    page_bytes: int | None = None
    elsewhere: ElsewhereInputs | None = None
    """None: the prediction is for the machine of the profile."""
