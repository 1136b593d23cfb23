"""Accuracy of predictions for a slower memory of this machine: kernels and third-party programs.

Kernels, programs and the number of sessions were fixed before any measurement. A session takes
eight to fourteen minutes on a quiet machine and is saved as a file in build/validate, so that
sessions can run separately:

    NEARFAR_TURN=0   builds and profiles the inputs of sessions, on a machine that may be busy
    NEARFAR_TURN=N   runs up to N missing sessions and judges them with the saved ones
    (without it)     judges the saved sessions
    NEARFAR_SESSIONS=N   N sessions instead of five

To start again, delete build/validate/sessions.

Where a hypervisor moves the cores, odd sessions use cores that share no cache, and even ones cores
that do, if possible: the co-runner slows memory in both cases, differently.

Files of a stopped session are deleted, and the session restarts. Rows state the number of sessions,
and every session is printed.

Sessions are judged by the predictions of the commit that ran them, which the rows name. Predictions
of the same sessions by today's models are separate rows, because the models may have been changed
when the sessions were known.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks import Row, make_row, real_programs
from benchmarks.steered_cores import steered
from nearfar.documents.validation import ValidationReport
from nearfar.options.validate import ValidateOptions
from nearfar.predict.model import DEFAULT_MODEL
from nearfar.validate import api

SECONDS = 5

SESSIONS = 5
ROUNDS = 9
"""With three, as `--quick` has, the same kernel differs by a fifth between sessions."""

FOLDER = Path("build/validate/sessions")

COMMAND = "make benchmarks ONLY=validate"


def rows() -> Iterator[Row]:
    """Run missing sessions; judge all as they were predicted, then by today's models."""
    count = int(os.environ.get("NEARFAR_SESSIONS", SESSIONS))
    if turn := os.environ.get("NEARFAR_TURN"):
        _measure(min(int(turn), count - len(_sessions())))
    there = _sessions()
    if not there:
        print(f"validate: no row, since there is no session: NEARFAR_TURN=1 {COMMAND} runs one")
        return
    frozen = api.pool(there)
    for number, file in enumerate(there, start=1):
        report = api.pool([file])
        print(f"session {number} of {count}: {_said(report, DEFAULT_MODEL)}", flush=True)
    yield from _judged(frozen, "", (5.0, 0.75, 0.85))
    ranks = [
        rank for file in there if (rank := api.pool([file]).models[DEFAULT_MODEL].rank) is not None
    ]
    yield make_row(
        f"{_what(frozen)}: rank correlation within one placement of the cores, mean of sessions",
        statistics.fmean(ranks) if ranks else 0.0,
        "",
        bar=0.7,
        at_most=False,
        peer="null has none",
        command=COMMAND,
    )
    # Not a validation: a model may have been changed since, when these sessions were known.
    yield from _judged(api.pool(there, again=True), "predicted again, ", (5.0, 0.75, 0.85))


def _what(report: ValidationReport) -> str:
    """Return the judged quantity with the commits that predicted it."""
    sessions = len(report.sessions)
    commits = sorted({session.predicted_by or "unknown" for session in report.sessions})
    return (
        f"{DEFAULT_MODEL} of commit {', '.join(commits)} on {report.sessions[0].far}: "
        f"{len({r.name for r in report.results})} kernels and programs, {sessions} "
        f"session{'s' if sessions != 1 else ''}"
    )


def _judged(
    report: ValidationReport, label: str, bars: tuple[float, float, float]
) -> Iterator[Row]:
    """Yield the rows of pooled sessions; `bars` are of mean error (%), skill and rank."""
    print(f"{label}pooled: {_said(report, DEFAULT_MODEL)}")
    best, null = report.models[DEFAULT_MODEL], report.models["null"]
    what = f"{label}{_what(report)}"
    yield make_row(
        f"{what}: mean error of time",
        100 * best.mean_error,
        "%",
        bar=bars[0],
        peer="null (no slowdown)",
        peer_value=100 * null.mean_error,
        command=COMMAND,
    )
    yield make_row(
        f"{what}: skill", best.skill or 0.0, "", bar=bars[1], at_most=False,
        peer="null: 0", command=COMMAND,
    )  # fmt: skip
    yield make_row(
        f"{what}: rank correlation", best.rank or 0.0, "", bar=bars[2], at_most=False,
        peer="null has none", command=COMMAND,
    )  # fmt: skip
    if best.coverage is None or best.interval_score is None or null.interval_score is None:
        return
    yield make_row(
        f"{what}: coverage of 90 % intervals, off 90 % by",
        100 * abs(best.coverage - 0.9),
        "%",
        bar=5.0,
        peer="null, calibrated too",
        peer_value=100 * abs((null.coverage or 0.0) - 0.9),
        command=COMMAND,
    )
    yield make_row(
        f"{what}: interval score",
        best.interval_score,
        "",
        bar=1.0,
        judge="ratio",
        peer="null, calibrated too",
        peer_value=null.interval_score,
        command=COMMAND,
    )


def _measure(sessions: int) -> None:
    """Run sessions, after their inputs are built and profiled."""
    sys.path.insert(0, "examples/demo")
    from source import SourceUnavailableError  # type: ignore[import-not-found]

    try:
        programs = real_programs.commands()
    except SourceUnavailableError as error:
        print(f"validate: without programs, since their sources are not available: {error}")
        programs = []
    words = [word for program in programs for word in [*program, "--"]]
    options = ValidateOptions(quick=True, rounds=ROUNDS, program=words, learn=True)
    prepared = api.prepare(FOLDER / "prepared", options)
    for _ in range(sessions):
        number = 1 + max((int(each.stem.split("-")[1]) for each in _sessions()), default=0)
        part = FOLDER / f"session-{number}.part"
        part.unlink(missing_ok=True)
        api.validate(
            replace(options, store=part),
            open_pairings=steered("apart" if number % 2 else "together"),
            prepared=prepared,
        )
        part.rename(part.with_suffix(".jsonl"))


def _sessions() -> list[Path]:
    """Return the files of completed sessions in order."""
    return sorted(FOLDER.glob("session-*.jsonl"), key=lambda file: int(file.stem.split("-")[1]))


def _said(report: ValidationReport, model: str) -> str:
    best, null = report.models[model], report.models["null"]
    rank = "-" if best.rank is None else f"{best.rank:.2f}"
    skill = "-" if best.skill is None else f"{best.skill:.2f}"
    return (
        f"mean error {best.mean_error:.1%} (null {null.mean_error:.1%}), skill {skill}, "
        f"rank {rank}, A/A floor {report.floor:.1%}"
    )
