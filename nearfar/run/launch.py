"""Runs the program under the library, and writes down where everything was."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.base.folders import memory_folder, temporary_folder
from nearfar.base.terminate import exit_when_terminated
from nearfar.documents.plan import Plan
from nearfar.program.control import Control
from nearfar.program.executable import preloadable
from nearfar.program.launch import Job, RunOutcome, run_job
from nearfar.run import layout
from nearfar.run.adapt import Adapter
from nearfar.run.memories import Place
from nearfar.run.server import Seen, Server
from nearfar.run.targets import Targets, make_table

LIBRARY = "libnearfar_run.so"


@dataclass(frozen=True)
class Serving:
    """What programs run under a plan meet."""

    folder: Path
    library: Path
    server: Server
    control: Control

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a program that is to meet it."""
        before = environment.get("LD_PRELOAD", "")
        preload = f"{self.library}:{before}" if before else str(self.library)
        return {**environment, "LD_PRELOAD": preload, layout.VARIABLE: str(self.folder)}


@dataclass(frozen=True)
class Outcome:
    """A run and what was seen of it."""

    ended: RunOutcome
    seen: Seen
    adapter: Adapter | None


@contextlib.contextmanager
def serving(
    plan: Plan, places: Sequence[Place], targets: Targets, *, huge_pages: int = 0
) -> Iterator[Serving]:
    """Have a table and a server for programs that are started with `Serving.environment`."""
    library = preloadable(LIBRARY)
    # A short name, since a socket's path holds 107 bytes.
    with temporary_folder("nearfar-run-", memory_folder()) as folder:
        split = any("-" in one.split and " " in one.split for one in plan.placements)
        every = len(targets.shapes) > 1
        table = make_table(targets, places, split_sizes=split, huge_pages=huge_pages, every=every)
        (folder / "table").write_bytes(bytes(table))
        control = Control.create(folder)
        server = Server(folder, plan.placements, targets.of_object, places)
        server.program = lambda: int(control.page.target_pid)
        server.start()
        try:
            yield Serving(folder, library, server, control)
        finally:
            server.stop()
            control.close()


def run_planned(
    serving: Serving,
    job: Job,
    *,
    executable: Path,
    environment: Mapping[str, str],
    adapter: Adapter | None = None,
) -> Outcome:
    """Run `job` with its objects in their targets."""
    exit_when_terminated()
    server = serving.server
    if adapter is not None:
        adapter.start(server.present)
    before = signal.signal(signal.SIGUSR1, server.ask_for_picture)
    try:
        ended = run_job(job, executable, serving.environment(environment), serving.folder)
    finally:
        # First of all: what it reads, the control page too, is gone soon.
        try:
            if adapter is not None:
                adapter.close()
        finally:
            signal.signal(signal.SIGUSR1, before)
            seen = server.stop()
    return Outcome(ended, seen, adapter)


def check_not_nested() -> None:
    """Refuse to run under ourselves."""
    if os.environ.get(layout.VARIABLE) or LIBRARY in os.environ.get("LD_PRELOAD", ""):
        raise CommandError(
            "this already runs under nearfar run (two preloads at once): give the inner program "
            "to the outer nearfar run, or unset LD_PRELOAD and " + layout.VARIABLE
        )
