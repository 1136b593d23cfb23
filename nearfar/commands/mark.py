"""The verb `mark`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from nearfar.base.errors import CommandError
from nearfar.commands._options import JsonOption, QuietOption


def mark(
    what: Literal["begin", "end"],
    name: str,
    *,
    operations: float = 0,
    run: Annotated[Path | None, Parameter(name="--run")] = None,
    pid: Annotated[int | None, Parameter(name="--pid")] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Mark a phase of a running program from outside, as the driver of a server does.

    Works while `nearfar profile` runs the program; its driver needs neither --run nor --pid.

    Parameters
    ----------
    what
        begin or end. A begin ends the phase before it.
    name
        The phase, such as get.
    operations
        How many operations (requests) the program did in the phase that ends.
    run
        The run's folder; by default what `nearfar profile` says in NEARFAR_RUN_DIR.
    pid
        A process of the run, whose environment names the folder.
    """
    from nearfar.documents.header import to_json
    from nearfar.program.control import RUN_FOLDER_VARIABLE, Control

    if run is not None and pid is not None:
        raise CommandError("give --run or --pid, not both")
    folder = run if run is not None else _folder_of(pid, RUN_FOLDER_VARIABLE)
    if what == "begin" and operations:
        raise CommandError("operations are counted when a phase ends: nearfar mark end ...")
    control = Control(folder)
    if what == "begin":
        control.begin(name)
    else:
        control.end(name, operations)
    control.close()
    if json and not quiet:
        answer = {"mark": what, "phase": name, "operations": operations, "run": str(folder)}
        print(to_json(answer).decode(), end="")


def _folder_of(pid: int | None, variable: str) -> Path:
    if pid is None:
        folder = os.environ.get(variable)
        if not folder:
            raise CommandError(
                "no run is named: call this from `nearfar profile --driver`, which sets "
                f"{variable}, or give --run or --pid"
            )
        return Path(folder)
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError as error:
        raise CommandError(
            f"cannot read the environment of process {pid}: {error.strerror}"
        ) from error
    for entry in text.split(b"\0"):
        key, _, value = entry.partition(b"=")
        if key.decode(errors="replace") == variable and value:
            return Path(os.fsdecode(value))
    raise CommandError(f"process {pid} is not run by `nearfar profile`")
