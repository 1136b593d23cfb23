"""Choice of a source of accesses, where --source is not given."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.profile.compiler import twin
from nearfar.profile.sources import counters, qemu_user
from nearfar.profile.sources.compiled import CompiledSource
from nearfar.profile.sources.counters import CounterSource
from nearfar.profile.sources.qemu import QemuSource
from nearfar.profile.sources.source import AccessSource
from nearfar.program.executable import HOW_TO_BUILD, check_program

DEFAULT_RATE = 64
"""Default sampling rate: one line of every page, as for `nearfar cc`."""
MAX_RATE = 4096
"""Largest sampling rate: beyond, even a program of many gigabytes has too few sampled lines."""


def choose(
    *,
    name: str | None,
    executable: Path,
    called: str,
    has_plain: bool,
    sample_s: float,
    rate: int | None,
    instructions: int | None,
    say: Callable[[str], None],
) -> AccessSource:
    """Return the source called `name`, or the best one for the program.

    Instrumented programs report their accesses. Other programs are counted by the processor if that
    can sample addresses, otherwise they run under QEMU if it is installed.
    """
    if name is None:
        if has_plain or twin.is_instrumented(executable):
            name = CompiledSource.name
        else:
            check_program(executable)
            if counters.usable():
                say(
                    f"{called} is not instrumented: counting with the processor's counters; for "
                    f"access classes and other caches, {HOW_TO_BUILD}"
                )
                return CounterSource(sample_s)
            if not qemu_user.installed():
                raise CommandError(
                    f"{executable} is not instrumented; {HOW_TO_BUILD}, or install QEMU "
                    f"to profile it as it is ({qemu_user.HOW_TO_INSTALL})"
                )
            say(
                f"{called} is not instrumented: sampling its first {sample_s:g} s under QEMU; for "
                f"all of it, faster, {HOW_TO_BUILD}"
            )
            name = QemuSource.name
    if instructions is not None and name != QemuSource.name:
        raise CommandError(
            f"--sample-instructions is for --source qemu, which counts them; this is {name}"
        )
    if name == CompiledSource.name:
        if rate is not None:
            raise CommandError("--rate is for --source qemu; give --nearfar-rate to nearfar cc")
        return CompiledSource()
    if name == CounterSource.name:
        if rate is not None:
            raise CommandError("--rate is for --source qemu; the processor chooses its samples")
        return CounterSource(sample_s)
    if instructions is not None and instructions < 1:
        raise CommandError(f"--sample-instructions must be at least 1, not {instructions}")
    return QemuSource(sample_s, _log2(DEFAULT_RATE if rate is None else rate), instructions or 0)


def _log2(rate: int) -> int:
    if not 1 <= rate <= MAX_RATE or rate & (rate - 1):
        raise CommandError(f"--rate must be a power of two from 1 to {MAX_RATE}, not {rate}")
    return round(math.log2(rate))
