"""From a memory spec to a subject that can be measured, real or simulated."""

from __future__ import annotations

from nearfar.measure.opened import OpenedMemory
from nearfar.measure.settings import Progress, Settings, no_progress
from nearfar.measure.subject import Subject
from nearfar.memories.spec import MemorySpec, parse_spec


def open_subject(
    spec: MemorySpec | str,
    *,
    quick: bool = False,
    threads: int | None = None,
    largest_bytes: int = 0,
    spin: bool = True,
    seed: int = 1,
) -> Subject:
    """Return a subject that samples the memory `spec`; takes it and holds it while it lives.

    `largest_bytes` is the largest region to chase (0: by the caches), `threads` the most threads
    (None: a thread on every core of the node), `spin` whether another core is kept awake while one
    is timed alone, `seed` of a simulated memory's noise. Raises NearfarError for a memory that is
    not there, busy or too small.
    """
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
    return open_memory(
        Settings(
            spec=parsed,
            quick=quick,
            threads=threads,
            largest_bytes=largest_bytes,
            spin=spin,
            seed=seed,
        )
    ).subject


def open_memory(settings: Settings, progress: Progress = no_progress) -> OpenedMemory:
    """Return the subject of `settings` and what is known of its memory."""
    if settings.spec.kind == "model":
        from nearfar.measure.simulated import open_simulated

        return open_simulated(settings)
    from nearfar.measure.real import open_real

    return open_real(settings, progress)
