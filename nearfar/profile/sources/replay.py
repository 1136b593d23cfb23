"""libnearfar_replay.so: simulates the accesses and allocations that a run reports.

The interface is that of native/profile/qemu/replay/replay.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.native_files import native_file
from nearfar.profile.sources.qemu_user import program_file
from nearfar.profile.sources.source import UnobservedError
from nearfar.program.language_runtimes import own_mappings, runs_other_code

PHASES = 256


class ReplayFacts(ctypes.Structure):
    """struct nf_replay_facts."""

    _fields_ = (
        ("attached", ctypes.c_uint32),
        ("forks", ctypes.c_uint32),
        ("sampled_to_the_end", ctypes.c_uint32),
        ("replaced", ctypes.c_uint32),
        ("instructions", ctypes.c_uint64 * PHASES),
        ("sampled", ctypes.c_uint64 * PHASES),
    )


class Replay:
    """Reader of one run's events."""

    def __init__(
        self,
        folder: Path,
        rate_log2: int,
        sample_s: float,
        executable: Path,
        instructions: int = 0,
        *,
        from_start: bool = False,
    ) -> None:
        """Make the ring and the tables in the run folder, for a run of `executable`.

        Sampling ends after `sample_s`, or `instructions` (0: any number) after the first mark or
        `from_start`.
        """
        library = self._library = ctypes.CDLL(str(native_file("libnearfar_replay.so")))
        text, u32, u64 = ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64
        library.nf_replay_open.argtypes = [text, u32, u64, ctypes.c_int, u64, ctypes.c_int]
        library.nf_replay_module.argtypes = [u64, u64, text]
        library.nf_replay_sampled_instructions.restype = u64
        file = program_file(executable)
        self.is_static = file.is_static
        """Whether nothing can be preloaded into the program."""
        error = library.nf_replay_open(
            os.fsencode(folder),
            rate_log2,
            round(sample_s * 1e9),
            int(file.is_static),
            instructions,
            int(from_start),
        )
        if error:
            raise CommandError(
                f"the tables of the run in {folder} could not be made: {os.strerror(error)}",
                ExitCode.MACHINE_LACKS,
            )
        self.runs_other_code = runs_other_code(executable)
        """Whether the program is an interpreter, or of a language without `nearfar cc`."""
        self.own_memory = own_mappings(executable) if file.is_static else ""
        """Name of memory that the program maps by its own system calls; "": the library sees it."""
        if self.own_memory:
            library.nf_replay_own_calls(self.own_memory.encode())
        if file.is_static and file.end:
            library.nf_replay_module(file.begin, file.end, os.fsencode(executable))
        self.facts = ReplayFacts()

    def check_attached(self, run: str, hint: str) -> None:
        """Refuse a run, called `run`, whose program did not load nearfar's library."""
        if not self.facts.attached and not self.is_static:
            raise UnobservedError(
                f"{run} before nearfar's library was loaded into it: {hint}",
                ExitCode.PROGRAM_FAILED,
            )

    def sampled_instructions(self) -> int:
        """Return the instructions executed so far, or 0 once sampling has ended."""
        return int(self._library.nf_replay_sampled_instructions())

    def runs_natively(self) -> None:
        """Expect a program that runs without QEMU."""
        self._library.nf_replay_native()

    @contextlib.contextmanager
    def running(
        self, first: Callable[[], None] | None = None, last: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """Read events while the body runs.

        `first` is called in the reading thread before it reads, `last` after the body.
        """

        def read() -> None:
            if first is not None:
                first()
            self._library.nf_replay_run()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        try:
            yield
        finally:
            if last is not None:
                last()
            self._library.nf_replay_stop()
            thread.join()
            self._library.nf_replay_close()
            self._library.nf_replay_read_facts(ctypes.byref(self.facts))


def sampled_shares(facts: ReplayFacts) -> dict[int, float]:
    """Return the sampled share of each phase's instructions."""
    if facts.sampled_to_the_end:
        return {}
    return {
        phase: facts.sampled[phase] / total
        for phase, total in enumerate(facts.instructions)
        if total
    }
