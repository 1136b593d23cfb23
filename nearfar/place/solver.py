"""HiGHS, the mixed-integer solver, with its native output kept off standard output."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nearfar.predict.traffic import Array

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint


def solve_milp(
    objective: Array,
    constraints: Sequence[LinearConstraint],
    integrality: NDArray[np.int_],
    *,
    time_limit_s: float,
    relative_gap: float,
) -> tuple[Array | None, float | None]:
    """Minimise `objective` over variables between 0 and 1.

    Return the best solution and the proven lower bound of the objective. Either is None if HiGHS
    does not find it within the time limit.
    """
    from scipy.optimize import Bounds, milp

    with _native_stdout_silenced():
        result = milp(
            objective,
            constraints=constraints,
            integrality=integrality,
            bounds=Bounds(0, 1),
            options={"time_limit": time_limit_s, "mip_rel_gap": relative_gap},
        )
    return result.x, result.mip_dual_bound


@contextlib.contextmanager
def _native_stdout_silenced() -> Iterator[None]:
    """Discard the output of native code, because standard output has the verb's result (`--json`).

    HiGHS prints a debugging line for some solutions, whatever its options. The C library and Python
    have separate buffers, so both are flushed before and after.
    """
    c_library = ctypes.CDLL(None)
    sys.stdout.flush()
    c_library.fflush(None)
    try:
        saved_stdout = os.dup(1)
    except OSError:
        # Standard output is closed: nothing can be printed.
        yield
        return
    null_device = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null_device, 1)
        yield
    finally:
        c_library.fflush(None)
        os.dup2(saved_stdout, 1)
        os.close(saved_stdout)
        os.close(null_device)
