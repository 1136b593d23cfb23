"""The verb `machine`."""

from __future__ import annotations

import sys
from pathlib import Path

from nearfar.commands._options import JsonOption, OutputOption, QuietOption


def machine(
    *,
    root: Path = Path("/"),
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

    if output is not None:
        check_writable(output)
    found = read_machine(root)
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
