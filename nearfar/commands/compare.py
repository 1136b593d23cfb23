"""The verb `compare`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._options import JsonOption, OutputOption, QuietOption

if TYPE_CHECKING:
    from nearfar.documents.comparison import Comparison


def compare(
    a: Path,
    b: Path,
    *,
    fail_over: str | None = None,
    correct: Literal["holm", "benjamini-hochberg", "none"] = "holm",
    edited: Annotated[bool, Parameter(negative="")] = False,
    across_machines: Annotated[bool, Parameter(negative="")] = False,
    junit: Path | None = None,
    html: Path | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Compare two documents of one kind: what changed, by how much, and was it chance?

    Profiles, measurements of a memory, predictions, plans, validations, results of `make
    benchmarks`, folders of run records or of a sweep. What differs by more than chance is marked,
    with its 95 % interval; with --fail-over the exit code is 1 if a figure of B is worse by more,
    and 2 if nothing could be judged.

    Parameters
    ----------
    a
        The first document, the baseline; or a folder of documents that repeat each other.
    b
        The one to judge against it.
    fail_over
        Such as 5%: exit code 1 if something is worse by more than that, and not by chance. Of an
        object or a line it is a share of the whole.
    correct
        How p values are corrected for being many: holm (no false alarm in 95 of 100 comparisons),
        benjamini-hochberg (of the alarms, at most 5 % are false), none.
    edited
        The source changed between two profiles: allocation sites whose lines moved are recognised
        by their functions, and each is named in a warning.
    across_machines
        Judge times although A and B are of different machines.
    junit
        File to write JUnit XML to.
    html
        File to write a page to, which shows both beside each other.
    """
    from nearfar.base.files import check_writable, write_atomically
    from nearfar.commands._deliver import deliver
    from nearfar.compare.api import compare as run
    from nearfar.compare.table import judged, print_comparison, verdict

    limit = None if fail_over is None else parse_limit(fail_over)
    for path in (output, junit, html):
        if path is not None:
            check_writable(path)
    found = run(
        a,
        b,
        limit=limit,
        correction=correct,
        edited=edited,
        across_machines=across_machines,
    )
    if junit is not None:
        from nearfar.compare.junit import to_junit

        write_atomically(junit, to_junit(found))
    if html is not None:
        from nearfar.compare.page import render

        write_atomically(html, render(found))
    deliver(
        found,
        output,
        json=json,
        quiet=quiet,
        show=lambda console: print_comparison(found, console),
    )
    if limit is not None and not judged(found):
        # A gate that passes whatever happens would be taken for one that was passed.
        raise CommandError(f"{verdict(found)}: {_why(found)}")
    return int(ExitCode.FOUND if found.failed else ExitCode.DONE)


def _why(found: Comparison) -> str:
    notes = dict.fromkeys(one.note for one in found.changes if one.verdict == "not judged")
    return "; ".join(note for note in notes if note) or "the two have no figure in common"


def parse_limit(text: str) -> float:
    """Return the share that ``5%`` says; a bare number is refused, for 5 could be 500 %."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", text[:24])
    if match is None:
        raise CommandError(f"cannot read the limit {text!r}: write a percentage, such as 5%")
    return float(match[1]) / 100.0
