"""The verb `validate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from nearfar.commands._options import JsonOption, OutputOption, QuietOption

Flag = Annotated[bool, Parameter(negative="")]


def validate(
    *program: Annotated[str, Parameter(allow_leading_hyphen=True)],
    far: str = "",
    near: str = "dram,pages=thp",
    quick: Flag = False,
    only: str | None = None,
    size: str | None = None,
    rounds: int | None = None,
    cores: Literal["apart", "together"] | None = None,
    learn: Flag = False,
    store: Path | None = None,
    pool: Annotated[list[Path] | None, Parameter(consume_multiple=True, negative="")] = None,
    again: Flag = False,
    plot: Path | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Predict kernels and programs for a slower memory of this machine, then measure them there.

    Each kernel is profiled, timed in near and far memory in turn, and predicted by every model from
    near time and from device curves that are sampled in the same loop. Errors stand beside those of
    the null model (no slowdown) and above the A/A floor, below which nothing can be claimed. Takes
    about fifteen minutes, with --quick about three. Ctrl-C ends early with what is done.

    Parameters
    ----------
    program
        After ``--``: a program built by `nearfar cc` and its arguments, run whole in both memories
        without input; several are separated by further ``--``.
    far
        The far memory, such as node:1, file:/mnt/pmem0, devdax:/dev/dax0.0 (overwritten) or
        dram,pages=4k,load=store. Default: another NUMA node, else a DAX file system, else
        dram,pages=4k,load=store, slower by page walks and a contending core.
    near
        The near memory.
    quick
        Fewer rounds and smaller data; about three minutes.
    only
        Only these kernels, separated by commas; `list` lists them.
    size
        Data of each kernel, such as 256MiB. Default: 8 times the last-level cache, with --quick 4.
    rounds
        Rounds of each kernel, near, far, far, near, and a third as many of programs.
        Default: 15, with --quick 3.
    cores
        Require that both CPUs share a last-level cache (together) or do not (apart); for virtual
        machines. Default: any; samples are compared within one pairing.
    learn
        Keep every result in the store as it comes.
    store
        The file of --learn. Default: nearfar/validation.jsonl in the user's data folder.
    pool
        Measure nothing: join the sessions of these stores and reports.
    again
        With --pool: predict their runs again, by the models of this nearfar.
    plot
        Draw predicted against measured slowdown to this .png, .svg or .pdf.
    """
    from nearfar.base.errors import CommandError, ExitCode
    from nearfar.base.files import check_writable
    from nearfar.validate.kernel import kernel_names

    if only == "list":
        if not quiet:
            print("\n".join(kernel_names()))
        return ExitCode.DONE
    if pool is not None and (program or learn or far or only or quick or cores is not None):
        raise CommandError("--pool measures nothing: leave programs and other options out")
    if again and pool is None:
        raise CommandError("--again predicts kept runs: name them with --pool")
    if rounds is not None and not 2 <= rounds <= 1000:
        raise CommandError(f"--rounds must be from 2 to 1000, not {rounds}")
    if store is not None and not learn:
        raise CommandError("--store is where --learn keeps results: add --learn")
    if plot is not None:
        from nearfar.plots import check_ending

        check_ending(plot)
        check_writable(plot)
    if output is not None:
        check_writable(output)
    from nearfar.validate import api
    from nearfar.validate.store import default_store

    others: list[str] = []
    if pool is not None:
        report = api.pool(pool, again=again)
    else:
        from nearfar.base.terminate import exit_when_terminated
        from nearfar.base.units import parse_size_bytes
        from nearfar.measure.show import progress

        # Told to end, it ends its processes and removes its folder, as for Ctrl-C.
        exit_when_terminated()
        with progress(quiet, "validate") as tell:
            report, others = api.validate(
                near,
                far,
                kernels=[word.strip() for word in only.split(",")] if only else (),
                programs=_split(program),
                quick=quick,
                region_bytes=parse_size_bytes(size) if size else 0,
                rounds=rounds or 0,
                cores=cores,
                keep_in=(store or default_store()) if learn else None,
                progress=tell,
            )
    if plot is not None:
        from nearfar.validate.plot import plot as draw

        draw(report, plot)
    if output is not None:
        from nearfar.documents import save

        save(report, output)
    if json:
        from nearfar.documents.header import to_json
        from nearfar.validate.report import as_json

        sys.stdout.write(to_json(as_json(report)).decode())
    elif not quiet:
        from rich.console import Console

        from nearfar.validate.table import print_report

        print_report(report, Console())
        if others:
            print(f"Slower memories here that were not used: {', '.join(others)} (--far).")
        for path in (output, plot):
            if path is not None:
                print(f"wrote {path}")
    return ExitCode.INTERRUPTED if report.ended == "interrupted" else ExitCode.DONE


def _split(words: tuple[str, ...]) -> list[list[str]]:
    """Return the commands between further ``--``."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == "--":
            found.append([])
        else:
            found[-1].append(word)
    return [command for command in found if command]
