"""Starting a program under the preloaded library, with the server that answers it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.base.folders import memory_folder, owned_folder
from nearfar.base.terminate import exit_when_terminated
from nearfar.documents.plan import Plan
from nearfar.native_files import native_folder
from nearfar.profile.compiler import twin
from nearfar.program.control import Control
from nearfar.program.executable import preloadable
from nearfar.program.launch import Job, RunOutcome, run_job
from nearfar.run import layout
from nearfar.run.adapt import Adapter
from nearfar.run.local_memories import LocalMemory
from nearfar.run.paged_watch import PagedWatch
from nearfar.run.server import RunObservations, Server
from nearfar.run.targets import Targets, make_table

LIBRARY = "libnearfar_run.so"
NEAR_LIBRARY = "libnearfar_run_near.so"
"""Preloaded if the plan keeps everything near, and if it was built: it needs jemalloc 5.3.0."""


@dataclass(frozen=True)
class RunEnvironment:
    """The run folder, the library and the server of programs that run under a plan."""

    folder: Path
    library: Path
    server: Server
    control: Control

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables of a program that is to run under the plan."""
        before = environment.get("LD_PRELOAD", "")
        preload = f"{self.library}:{before}" if before else str(self.library)
        return {**environment, "LD_PRELOAD": preload, layout.VARIABLE: str(self.folder)}


@dataclass(frozen=True)
class PlacedRun:
    """A run under a plan, and its observations."""

    ended: RunOutcome
    seen: RunObservations
    adapter: Adapter | PagedWatch | None


def library_for(targets: Targets) -> str:
    """Return the library that is preloaded; `LIBRARY` serves every plan."""
    built = (native_folder() / NEAR_LIBRARY).exists()
    return NEAR_LIBRARY if targets.all_near and built else LIBRARY


@contextlib.contextmanager
def run_environment(
    plan: Plan, memories: Sequence[LocalMemory], targets: Targets, *, huge_pages: int = 0
) -> Iterator[RunEnvironment]:
    """Write the library's table and serve the programs that are started in the block."""
    library = preloadable(library_for(targets))
    # A short name, because a socket's path has at most 107 bytes.
    with owned_folder("nearfar-run-", memory_folder()) as folder:
        split_sizes = any("-" in row.split and " " in row.split for row in plan.placements)
        table = make_table(
            targets,
            memories,
            split_sizes=split_sizes,
            huge_pages=huge_pages,
        )
        (folder / "table").write_bytes(bytes(table))
        control = Control.create(folder)
        server = Server(folder, plan.placements, targets.of_object, memories)
        server.program = lambda: int(control.page.target_pid)
        server.start()
        try:
            yield RunEnvironment(folder, library, server, control)
        finally:
            server.stop()
            control.close()


def run_planned(
    prepared: RunEnvironment,
    job: Job,
    *,
    executable: Path,
    environment: Mapping[str, str],
    adapter: Adapter | PagedWatch | None = None,
    in_child: Callable[[], None] | None = None,
) -> PlacedRun:
    """Run `job` with its objects in their targets; `in_child` is called before its exec."""
    exit_when_terminated()
    server = prepared.server
    if adapter is not None:
        adapter.start(server.placed_processes)
    before = signal.signal(signal.SIGUSR1, server.request_snapshot)
    try:
        ended = run_job(job, executable, prepared.variables(environment), prepared.folder, in_child)
    finally:
        # The adapter ends first: it reads the control page and the program, which end soon.
        try:
            if adapter is not None:
                adapter.close()
        finally:
            signal.signal(signal.SIGUSR1, before)
            seen = server.stop()
    return PlacedRun(ended, seen, adapter)


def check_not_nested() -> None:
    """Raise CommandError if this process already runs under `nearfar run`."""
    if os.environ.get(layout.VARIABLE) or any(
        library in os.environ.get("LD_PRELOAD", "") for library in (LIBRARY, NEAR_LIBRARY)
    ):
        raise CommandError(
            "this already runs under nearfar run (two preloads at once): give the inner program "
            "to the outer nearfar run, or unset LD_PRELOAD and " + layout.VARIABLE
        )


def plain_program(
    executable: Path, folder: Path, say: Callable[[str], None]
) -> tuple[Path, Mapping[str, str]]:
    """Return the program to run and its environment: of an instrumented one, its plain build."""
    if twin.is_instrumented(executable):
        plain = twin.extract_plain(executable, folder)
        if plain is not None:
            say(f"{executable.name} is instrumented: its plain build runs")
            return plain, dict(twin.plain_environment(folder))
    return executable, dict(os.environ)
