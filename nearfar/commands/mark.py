"""The verb `mark`."""

from __future__ import annotations

import os
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.commands._verb import verb
from nearfar.options.profiles import MarkOptions
from nearfar.options.shared import JsonOptions


@verb(MarkOptions, JsonOptions)
def mark(options: MarkOptions, delivery: JsonOptions) -> None:
    """Mark a phase of a running program from outside, as the driver of a server does.

    Works while `nearfar profile` runs the program; its driver needs neither --run nor --pid.
    """
    from nearfar.documents.header import to_json
    from nearfar.program.control import RUN_FOLDER_VARIABLE, Control

    folder = options.run or _folder_of(options.pid, RUN_FOLDER_VARIABLE)
    control = Control(folder)
    if options.what == "begin":
        control.begin(options.name)
    else:
        control.end(options.name, options.operations)
    control.close()
    if delivery.json and not delivery.quiet:
        mark = {"mark": options.what, "phase": options.name, "operations": options.operations}
        print(to_json(mark | {"run": str(folder)}).decode(), end="")


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
    raise CommandError(
        f"process {pid} is not run by `nearfar profile`: start it with nearfar profile -- PROGRAM"
    )
