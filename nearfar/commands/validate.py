"""The verb `validate`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nearfar.base.errors import ExitCode
from nearfar.commands._verb import verb
from nearfar.options.validate import ValidateOptions, ValidationFiles

if TYPE_CHECKING:
    from nearfar.documents import ValidationReport


@verb(ValidateOptions, ValidationFiles)
def validate(options: ValidateOptions, delivery: ValidationFiles) -> int:
    """Predict kernels and programs for a slower memory of this machine, then measure them there.

    Each kernel is profiled, timed in near and far memory in turn, and predicted by every model from
    near time and from device curves that are sampled in the same loop. Each error is shown beside
    that of the null model (no slowdown) and beside the A/A floor, below which no error can be
    claimed. Takes about fifteen minutes, with --quick about three. Ctrl-C ends it early and keeps
    the results so far.
    """
    from nearfar.commands._deliver import check_output
    from nearfar.documents import save
    from nearfar.plots import check_ending
    from nearfar.validate.kernel import kernel_names
    from nearfar.validate.paged import paged_kernels

    if options.only == "list":
        if not delivery.quiet:
            print("\n".join(paged_kernels() if options.paged else kernel_names()))
        return ExitCode.DONE
    if delivery.plot is not None:
        check_ending(delivery.plot)
    check_output(delivery.plot, delivery.output)
    if options.paged:
        return _paged(options, delivery)
    report, others = _validated(options, delivery)
    if delivery.output is not None:
        save(report, delivery.output)
    if delivery.plot is not None:
        from nearfar.validate.plot import plot as draw

        draw(report, delivery.plot)
    _print(report, others, delivery)
    return ExitCode.INTERRUPTED if report.ended == "interrupted" else ExitCode.DONE


def _paged(options: ValidateOptions, delivery: ValidationFiles) -> int:
    from rich.console import Console

    from nearfar.base.errors import CommandError
    from nearfar.base.terminate import exit_when_terminated
    from nearfar.commands._deliver import print_json
    from nearfar.documents import save
    from nearfar.measure.show import progress
    from nearfar.validate.paged import dry_run, validate_paged
    from nearfar.validate.paged_scores import print_paged

    if delivery.plot is not None:
        raise CommandError("--plot draws sessions of memories that serve each access: leave it out")
    if not options.yes:
        print(f"nearfar validate --far {options.far} would do this, as root; --yes does it:")
        print("\n".join(f"  {line}" for line in dry_run(options)))
        return ExitCode.DONE
    exit_when_terminated()
    with progress(delivery.quiet, "validate") as tell:
        report = validate_paged(options, tell)
    if delivery.output is not None:
        save(report, delivery.output)
    if delivery.json:
        print_json(report)
    elif not delivery.quiet:
        print_paged(report, Console())
    return ExitCode.DONE


def _validated(
    options: ValidateOptions, delivery: ValidationFiles
) -> tuple[ValidationReport, list[str]]:
    from nearfar.base.terminate import exit_when_terminated
    from nearfar.measure.show import progress
    from nearfar.validate.api import validate as run

    if options.pool:
        return run(options)
    # SIGTERM, like Ctrl-C, ends the started processes and removes the run's folder.
    exit_when_terminated()
    with progress(delivery.quiet, "validate") as tell:
        return run(options, tell)


def _print(report: ValidationReport, others: list[str], delivery: ValidationFiles) -> None:
    from rich.console import Console

    from nearfar.documents.header import to_json
    from nearfar.validate.report import as_json
    from nearfar.validate.table import print_report

    if delivery.json:
        sys.stdout.write(to_json(as_json(report)).decode())
    elif not delivery.quiet:
        print_report(report, Console())
        if others:
            print(f"Slower memories here that were not used: {', '.join(others)} (--far).")
        for path in (delivery.output, delivery.plot):
            if path is not None:
                print(f"wrote {path}")
