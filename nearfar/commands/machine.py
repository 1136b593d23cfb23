"""The verb `machine`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from nearfar.base.errors import CommandError
from nearfar.commands._options import JsonOption, OutputOption, QuietOption

if TYPE_CHECKING:
    from nearfar.documents import MachineProfile


def machine(
    *,
    root: Path = Path("/"),
    measure: Annotated[bool, Parameter(negative="")] = False,
    joint: Annotated[list[str] | None, Parameter(negative="")] = None,
    output: OutputOption = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show processor, caches, memories and counters of this machine, and what it lacks.

    Each lack says what, why, and the command that mends it. No root is needed.

    Parameters
    ----------
    root
        Folder that holds sys and proc: / for this machine, or a tree captured from another.
    measure
        Also measure latency and read bandwidth of every node's memory from every node with CPUs
        (about 3 s a pair), and the time of a cache line from CPU to CPU (all pairs, or 300 of
        them: up to 30 s).
    joint
        Two memories with a comma between, such as dram,node:1 or dram,file:/mnt/pmem0: measure
        what they copy together under every split of the threads, and whether they hold each other
        back as memories on one channel do (up to 60 s). Repeat for several pairs; with --measure.
    output
        File to write the machine profile to (JSON).
    json_
        Print the machine profile as JSON: sizes in bytes, latencies in ns, bandwidths in GB/s
        (1e9 B/s).
    quiet
        Print nothing but errors.
    """
    from nearfar.base.files import check_writable
    from nearfar.documents.header import save, to_json
    from nearfar.machine.read import read_machine
    from nearfar.machine.render import render

    if joint and not measure:
        raise CommandError("--joint goes with --measure: nearfar machine --measure --joint A,B")
    if measure and root.resolve() != Path("/"):
        raise CommandError(f"--measure is for this machine, and {root} is a captured one")
    if output is not None:
        check_writable(output)
    found = read_machine(root)
    if measure:
        _measure(found, joint or [], quiet)
    if output is not None:
        save(found, output)
    if quiet:
        return
    if json_:
        sys.stdout.write(to_json(found).decode())
    elif output is None:
        sys.stdout.write(render(found))
    else:
        print(f"wrote {output}")


def _measure(found: MachineProfile, joint: list[str], quiet: bool) -> None:
    from nearfar.measure.measure_machine import measure_machine, parse_pair
    from nearfar.measure.show import progress

    pairs = [parse_pair(text) for text in joint]
    with progress(quiet, "machine") as tell:
        warnings = measure_machine(found, pairs, tell)
    if not quiet:
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
