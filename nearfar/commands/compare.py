"""The verb `compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._verb import verb
from nearfar.options.compare import CompareOptions, ComparisonFiles

if TYPE_CHECKING:
    from nearfar.documents import Comparison


@verb(CompareOptions, ComparisonFiles)
def compare(options: CompareOptions, delivery: ComparisonFiles) -> int:
    """Compare two documents of one kind: what changed, by how much, and whether chance explains it.

    Profiles, measurements of a memory, predictions, plans, validations, results of `make
    benchmarks`, folders of run records or of a sweep. What differs by more than chance is marked,
    with its 95 % interval; with --fail-over the exit code is 1 if a value of B is worse by more
    than that, and 2 if nothing could be judged.
    """
    from nearfar import api
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar.compare.table import judged, print_comparison, verdict

    check_output(delivery.output, delivery.junit, delivery.html)
    comparison = api.compare(options)
    _write_files(comparison, delivery)
    deliver_document(comparison, delivery, print_comparison)
    if options.fail_over is not None and not judged(comparison):
        # Without judged values, a gate must not pass: exit code 0 would look like success.
        raise CommandError(f"{verdict(comparison)}: {_reasons(comparison)}")
    return int(ExitCode.FOUND if comparison.failed else ExitCode.DONE)


def _write_files(comparison: Comparison, delivery: ComparisonFiles) -> None:
    from nearfar.base.files import write_atomically

    if delivery.junit is not None:
        from nearfar.compare.junit import to_junit

        write_atomically(delivery.junit, to_junit(comparison))
    if delivery.html is not None:
        from nearfar.compare.page import render

        write_atomically(delivery.html, render(comparison))


def _reasons(comparison: Comparison) -> str:
    """Return why no value was judged."""
    changes = [change for change in comparison.changes if change.verdict == "not judged"]
    notes = dict.fromkeys(change.note for change in changes if change.note)
    return "; ".join(notes) or "the two have no value in common"
