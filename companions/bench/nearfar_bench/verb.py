"""The verb `bench`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._options import JsonOption, OutputOption, QuietOption

PICTURES = (".png", ".svg", ".pdf")


def bench(
    experiment: str | None = None,
    *,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative="")] = None,
    repeats: int | None = None,
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    plot: Path | None = None,
    parquet: Path | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run an experiment on memory and on pools of persistent memory: a BenchResult.

    An experiment is a text (TOML): a kind of workload, a matrix of arguments, repeats. Each
    combination is run in rounds; medians come with 95 % bootstrap intervals of 10,000 resamples,
    and with what made the content durable. Transactions, snapshots, flushes and fences are counted,
    and percentiles taken, in runs of their own. Every run's content is verified after the run and
    after reopening: exit code 1 if it is wrong.

    With -o, an interrupted experiment goes on where it was when it is started again.

    Parameters
    ----------
    experiment
        A file, or the name of a shipped one: --list shows them.
    set_
        KEY=VALUE or KEY=A,B: in place of the experiment's own argument; repeat for several.
    repeats
        Rounds, in place of the experiment's own.
    list_
        List the shipped experiments and the kinds of workload with their arguments, and end.
    plot
        File for a picture: PNG, SVG or PDF by its ending.
    parquet
        File for a table of every run.
    """
    if list_:
        from nearfar_bench.listing import print_list

        if not quiet:
            print_list(json=json)
        return
    if experiment is None:
        raise CommandError(
            "name an experiment or a file; `nearfar bench --list` shows what there is"
        )
    from nearfar.base.files import check_writable
    from nearfar.base.terminate import terminated_as_interrupted
    from nearfar.commands._deliver import deliver
    from nearfar_bench.api import bench as run
    from nearfar_bench.experiment import changed, read_experiment
    from nearfar_bench.progress import partial_of
    from nearfar_bench.table import print_result

    for path in (output, plot, parquet):
        if path is not None:
            check_writable(path)
    if plot is not None and plot.suffix not in PICTURES:
        raise CommandError(f"--plot {plot}: name a file that ends in {', '.join(PICTURES)}")
    chosen = changed(read_experiment(experiment), set_ or [], repeats)
    with terminated_as_interrupted(), _progress(quiet=quiet) as progress:
        try:
            result = run(chosen, output, progress)
        except KeyboardInterrupt:
            if output is None or not partial_of(output).is_file():
                raise
            raise CommandError(
                f"interrupted; what was run is in {partial_of(output)}: the same command goes on "
                "from there",
                ExitCode.INTERRUPTED,
            ) from None
    if plot is not None:
        from nearfar_bench.picture import draw

        draw(result, plot)
    if parquet is not None:
        from nearfar_bench.parquet import write_parquet

        write_parquet(result, parquet)
    deliver(
        result,
        output,
        json=json,
        quiet=quiet,
        show=lambda console: print_result(result, console),
    )


class _progress:  # noqa: N801 - used as a function
    """A line on the terminal that says which run it is; nothing where nobody looks."""

    def __init__(self, *, quiet: bool) -> None:
        self._shown = not quiet and sys.stderr.isatty()

    def __enter__(self) -> _progress:
        return self

    def __call__(self, done: int, total: int, cell: str) -> None:
        if self._shown:
            text = f"run {done + 1} of {total}: {cell}"
            print(f"\r\033[K{text[:110]}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
