"""The run folder's file `control`: marks of phases from outside the program, and their times.

A server's driver, run by ``nearfar profile --driver``, marks what the server does::

    control = Control(Path(os.environ["NEARFAR_RUN_DIR"]))
    control.begin("get")
    ...
    control.end("get", operations=100_000)

The work is done by libnearfar_mark.so, as for marks inside the program; the layout is that of
native/profile/runtime/control.h.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.native_files import native_file

FILE_NAME = "control"
RUN_FOLDER_VARIABLE = "NEARFAR_RUN_DIR"
PID_VARIABLE = "NEARFAR_PID"

PHASE_BEFORE = 0
"""Number of the phase before --after has passed; profiles leave it out."""
PHASE_REST = 1
"""Number of the unmarked remainder, called "-"."""
_PHASES = 256
_SLOTS = 64


class PhaseRow(ctypes.Structure):
    """One phase: CPU time of the marking processes and wall time, ns, summed over its entries."""

    _fields_ = (
        ("name", ctypes.c_char * 64),
        ("cpu_ns", ctypes.c_uint64),
        ("wall_ns", ctypes.c_uint64),
        ("entries", ctypes.c_uint64),
        ("operations", ctypes.c_double),
    )


class _Slot(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_int32),
        ("phase", ctypes.c_uint32),
        ("last_cpu_ns", ctypes.c_uint64),
        ("last_wall_ns", ctypes.c_uint64),
    )


class ControlPage(ctypes.Structure):
    """struct nf_control of native/profile/runtime/control.h, which describes the fields."""

    _fields_ = (
        ("magic", ctypes.c_char * 8),
        ("version", ctypes.c_uint32),
        ("counting", ctypes.c_uint32),
        ("lock", ctypes.c_uint32),
        ("phase_count", ctypes.c_uint32),
        ("lost_marks", ctypes.c_uint32),
        ("lost_processes", ctypes.c_uint32),
        ("target_pid", ctypes.c_int32),
        ("split_sizes", ctypes.c_uint32),
        ("start_wall_ns", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
        ("cache_bytes", ctypes.c_uint64),
        ("cache_ways", ctypes.c_uint32),
        ("live_interval_us", ctypes.c_uint32),
        ("message", ctypes.c_char * 256),
        ("slots", _Slot * _SLOTS),
        ("phases", PhaseRow * _PHASES),
    )


class Control:
    """An open control file. Any number of processes may open it; marks take a lock."""

    def __init__(self, run_folder: Path) -> None:
        """Open the control file of `run_folder`; the run must exist."""
        path = Path(run_folder) / FILE_NAME
        self._library = _library()
        self._open(self._library.nf_control_open(os.fsencode(path)), path)

    @classmethod
    def create(cls, run_folder: Path) -> Control:
        """Create the control file of a new run, which counts from its start, in phase "-"."""
        path = run_folder / FILE_NAME
        control = cls.__new__(cls)
        control._library = _library()
        control._open(control._library.nf_control_create(os.fsencode(path)), path)
        return control

    def _open(self, address: int | None, path: Path) -> None:
        if not address:
            error = ctypes.get_errno()
            raise NearfarError(
                f"cannot open the run's control file {path}: {os.strerror(error)}; "
                "give the folder that `nearfar profile` set in NEARFAR_RUN_DIR",
                ExitCode.WRONG_USE if error != 28 else ExitCode.MACHINE_LACKS,
            )
        self._address: int | None = address
        self.page = ControlPage.from_address(address)

    def begin(self, name: str) -> None:
        """End the current phase of the program and begin `name`."""
        self._check(self._library.nf_control_begin(self._address, 0, _encoded(name)))

    def end(self, name: str, operations: float = 0) -> None:
        """End `name`, in which the program did `operations`; the phase "-" begins."""
        if not 0 <= operations < float("inf"):
            raise NearfarError(
                f"phase {name!r}: the number of operations must be at least 0, not {operations}"
            )
        self._check(self._library.nf_control_end(self._address, 0, _encoded(name), operations))

    def start(self, pid: int) -> None:
        """Record that the program starts now as process `pid`."""
        self._library.nf_control_start(self._address, pid)

    def count(self) -> None:
        """Start counting; everything before belongs to the phase PHASE_BEFORE."""
        self._library.nf_control_count(self._address)

    def phases(self) -> list[PhaseRow]:
        """Return the phases so far, by number; the last one has the marks beyond a full table."""
        rows = [self.page.phases[i] for i in range(self.page.phase_count)]
        overflow = self.page.phases[_PHASES - 1]
        return [*rows, overflow] if overflow.entries else rows

    def current_phase(self) -> int:
        """Return the number of the current phase."""
        return int(self.page.slots[0].phase) if self.page.counting else PHASE_BEFORE

    def close(self) -> None:
        """Unmap the file; `page` is invalid afterwards."""
        if self._address:
            self._library.nf_control_close(self._address)
            self._address = None

    def _check(self, error: int) -> None:
        if error:
            raise NearfarError(f"the mark could not be made: {os.strerror(error)}")


def _encoded(name: str) -> bytes:
    if not name or "\0" in name:
        raise NearfarError(
            f"cannot mark a phase named {name!r}: give one that is not empty and has no zero byte"
        )
    return name.encode()


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native_file("libnearfar_mark.so")), use_errno=True)
    address, text = ctypes.c_void_p, ctypes.c_char_p
    for name, result, arguments in (
        ("nf_control_create", address, [text]),
        ("nf_control_open", address, [text]),
        ("nf_control_close", None, [address]),
        ("nf_control_start", None, [address, ctypes.c_int32]),
        ("nf_control_count", None, [address]),
        ("nf_control_begin", ctypes.c_int, [address, ctypes.c_int32, text]),
        ("nf_control_end", ctypes.c_int, [address, ctypes.c_int32, text, ctypes.c_double]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
