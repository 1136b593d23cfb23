"""The verb `bench`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._verb import verb
from nearfar.options.option import Option, Options
from nearfar.options.shared import DeliveryOptions

if TYPE_CHECKING:
    from nearfar.documents import BenchResult

PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Options of `bench`."""

    experiment: Annotated[str | None, Option(position="first")] = None
    """A file, or the name of a shipped experiment: --list shows them."""
    set_: Sequence[str] = ()
    """KEY=VALUE or KEY=A,B: in place of the experiment's argument; repeat for several."""
    repeats: int | None = None
    """Rounds, in place of the experiment's number."""
    list_: bool = False
    """List the shipped experiments and the kinds of workload with their arguments, and end."""
    plot: Path | None = None
    """File for a picture: PNG, SVG or PDF by its ending."""
    parquet: Path | None = None
    """File for a table of every run."""

    def check_options(self) -> None:
        """Refuse to run nothing, and a picture of unknown format."""
        if self.experiment is None and not self.list_:
            raise CommandError(
                "name an experiment or a file; `nearfar bench --list` shows what there is"
            )
        if self.plot is not None and self.plot.suffix not in PICTURES:
            raise CommandError(
                f"--plot {self.plot}: name a file that ends in {', '.join(PICTURES)}"
            )


@verb(BenchOptions, DeliveryOptions)
def bench(options: BenchOptions, delivery: DeliveryOptions) -> None:
    """Run an experiment on memory and on pools of persistent memory: a BenchResult.

    An experiment is a TOML file: a kind of workload, a matrix of arguments, repeats. Each
    combination is run in rounds; medians come with 95 % bootstrap intervals of 10,000 resamples,
    and with the instructions or calls that made the content durable. Transactions, snapshots,
    flushes and fences are counted, and percentiles measured, in separate runs. Every run's content
    is verified after the run and after reopening: exit code 1 if it is wrong.

    With -o, an interrupted experiment continues when it is started again.
    """
    from nearfar.base.terminate import terminated_as_interrupted
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar_bench.listing import print_list
    from nearfar_bench.table import print_result

    if options.list_:
        if not delivery.quiet:
            print_list(json=delivery.json)
        return
    check_output(delivery.output, options.plot, options.parquet)
    with terminated_as_interrupted():
        result = _run(options, delivery)
    if options.plot is not None:
        from nearfar_bench.picture import draw

        draw(result, options.plot)
    if options.parquet is not None:
        from nearfar_bench.parquet import write_parquet

        write_parquet(result, options.parquet)
    deliver_document(result, delivery, print_result)


def _run(options: BenchOptions, delivery: DeliveryOptions) -> BenchResult:
    from nearfar_bench.api import bench as run
    from nearfar_bench.experiment import changed, read_experiment
    from nearfar_bench.progress import partial_of

    experiment = changed(
        read_experiment(str(options.experiment)), list(options.set_), options.repeats
    )
    output = delivery.output
    with _progress(quiet=delivery.quiet) as progress:
        try:
            return run(experiment, output, progress)
        except KeyboardInterrupt:
            if output is None or not partial_of(output).is_file():
                raise
            raise CommandError(
                f"interrupted; finished runs are in {partial_of(output)}: repeat the command to "
                "continue from there",
                ExitCode.INTERRUPTED,
            ) from None


class _progress:  # noqa: N801 - used as a function
    """A line on the terminal with the current run; silent without a terminal."""

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
