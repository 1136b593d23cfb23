"""The two memories of the NVDIMM thesis as its tables 4 and 5 describe them, and nothing else."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nearfar.predict.shared_channels import Scaling
from nearfar_studies.figures import published
from nearfar_studies.scaling_fit import fit_scaling

THESIS = published("nvdimm-thesis")
TABLES = {"DRAM": "4", "NVDIMM": "5"}
KERNELS = ("copy", "scale", "add", "triad", "sum")

LINES_PER_COUNTED = {"copy": 3 / 2, "scale": 3 / 2, "add": 4 / 3, "triad": 4 / 3, "sum": 1.0}
"""Bytes on the channels over bytes that STREAM counts: a plain store reads its line first."""


def curve(memory: str, kernel: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return threads and GB/s of a kernel as printed."""
    columns = THESIS.columns(TABLES[memory])
    return columns["threads"], columns[kernel] / 1000.0


def scaling(memory: str, kernel: str = "copy") -> Scaling:
    """Return the law fitted to all sixteen points of a kernel."""
    threads, gb_per_s = curve(memory, kernel)
    return _fitted(tuple(threads.tolist()), tuple(gb_per_s.tolist()))


@lru_cache(maxsize=64)
def _fitted(threads: tuple[float, ...], gb_per_s: tuple[float, ...]) -> Scaling:
    return fit_scaling(np.array(threads), np.array(gb_per_s))
