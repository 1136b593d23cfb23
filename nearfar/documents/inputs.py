"""PredictionInputs: the files that a prediction was made from, so that it can be made again."""

from __future__ import annotations

import msgspec


class InputFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One document, or a device of the library."""

    path: str
    """As typed: a file, or a library device's name."""
    sha256: str = ""
    """Digest of the bytes in the file; empty: a library device."""


class ElsewhereInputs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Options that describe another machine than the profile's, as typed."""

    on: InputFile | None = None
    """A file, or a machine of the library."""
    here: InputFile | None = None
    llc: str | None = None
    near_time: list[str] = []
    near_size: str | None = None
    frequency: float = 1.0
    threads: int | None = None


class PredictionInputs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Inputs besides model and host rule."""

    profile: InputFile
    near: InputFile
    far: list[InputFile]
    """In the order of the prediction's devices."""
    machine: InputFile | None = None
    core: str | None = None
    """As typed after --core."""
    phases: list[str] = []
    """Empty: all."""
    page_bytes: int | None = None
    elsewhere: ElsewhereInputs | None = None
    """None: predicted for the machine of the profile."""
