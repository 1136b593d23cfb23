"""Programs in compressed memory: faults, times, the cliff and plans against the kernel alone.

The kernels, programs and limits were fixed before any of them was run at a limit. Since then
the model and the plans were changed when the kernels' results were known (docs/paged.md), so the
rows show no held-out accuracy. One session takes some twenty minutes on a quiet machine
and is kept in build/paged; NEARFAR_PAGED_ONLY names some of its kernels and programs, so that a
session can be run in pieces:

    NEARFAR_PAGED_ONLY=loop,chase,xz make benchmarks ONLY=paged

The rows are of all kept pieces of the commit that last changed the model, the plans or the session.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row, real_programs
from nearfar.base.errors import NearfarError
from nearfar.documents import DeviceProfile, PagedValidation, load, save
from nearfar.measure.paged.measure import measure_paged
from nearfar.measure.settings import no_progress
from nearfar.options.measure import MeasureOptions
from nearfar.options.validate import ValidateOptions
from nearfar.validate.paged import paged_kernels, validate_paged
from nearfar.validate.paged_scores import held, print_paged, scored

SECONDS = 1200
LONG = True

FOLDER = Path("build/paged")
FAR = "zram,algorithm=lz4"
SIZE = "96MiB"
KERNEL_ROUNDS = 3
"""Runs of a kernel at each limit, which take about a second; a program takes minutes."""
PROGRAMS = ("xz", "zstd", "mawk", "index")
COMMAND = "make benchmarks ONLY=paged"


def rows() -> Iterator[Row]:
    """Run the pieces that are missing; judge them together."""
    folder = FOLDER / models_commit()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = os.environ.get("NEARFAR_PAGED_ONLY")
    for name in chosen.split(",") if chosen else [*paged_kernels(), *PROGRAMS]:
        piece = folder / f"{name}.json"
        if not piece.exists():
            try:
                save(validate_paged(_options(name), no_progress, _device(folder)), piece)
            except NearfarError as error:
                print(f"paged: no result of {name}: {error}", flush=True)
    pieces = [load(path, PagedValidation) for path in sorted(folder.glob("*.json"))]
    if pieces:
        yield from _judged(pieces)


def models_commit() -> str:
    """Return the last commit of the model, the plans and the session."""
    files = [
        "nearfar/predict/paged.py",
        "nearfar/predict/paged_device.py",
        "nearfar/predict/deviations.py",
        "nearfar/place/paged.py",
        "nearfar/devices/paged_figures.py",
        "nearfar/measure/paged",
        "native/measure/paged.cpp",
        "nearfar/memories/paged",
        "nearfar/run/paged_plan.py",
        "nearfar/run/paged_run.py",
        "nearfar/run/paged_watch.py",
        "nearfar/validate/paged.py",
        "nearfar/validate/paged_scores.py",
        "nearfar/validate/beside.py",
        "nearfar/validate/kernels/paged",
        "nearfar/run/targets.py",
    ]
    command = ["git", "log", "-1", "--format=%h", "--", *files]
    return subprocess.check_output(command, text=True).strip()


def _device(folder: Path) -> DeviceProfile:
    """Return the memory as measured for the first piece."""
    kept = folder / "device"
    if not kept.exists():
        options = MeasureOptions(memory=FAR, quick=True, samples=False)
        save(measure_paged(options), kept)
    return load(kept, DeviceProfile)


def _options(name: str) -> ValidateOptions:
    common = {"far": FAR, "yes": True, "quick": True, "size": SIZE}
    if name in paged_kernels():
        return ValidateOptions(only=name, rounds=KERNEL_ROUNDS, **common)  # type: ignore[arg-type]
    return ValidateOptions(program=_program(name), **common)  # type: ignore[arg-type]


def _program(name: str) -> list[str]:
    if name == "index":
        program = FOLDER / "inverted_index"
        source = "examples/inverted_index/inverted_index.cpp"
        words = [sys.executable, "-m", "nearfar", "c++", "-std=c++20", "-O2", "-g", "-Iinclude"]
        subprocess.run([*words, source, "-o", str(program)], check=True)
        return [str(program), sysconfig.get_path("stdlib"), "--queries", "400000"]
    return next(words for words in real_programs.commands() if Path(words[0]).name == name)


def _judged(pieces: list[PagedValidation]) -> Iterator[Row]:
    from rich.console import Console

    report = scored(
        FAR,
        pieces[0].device,
        [case for piece in pieces for case in piece.cases],
        [cliff for piece in pieces for cliff in piece.cliffs],
        {name: why for piece in pieces for name, why in piece.left_out.items()},
    )
    print_paged(report, Console(width=100))
    if not report.models:
        return
    what = f"model paged of commit {models_commit()} on {FAR}, {len(pieces)} kernels and programs"
    paged, others = report.models["paged"], dict(report.models)
    del others["paged"]
    if report.fault_error is not None:
        yield make_row(
            f"{what}: mean error of faults", 100 * report.fault_error, "%", bar=15.0,
            peer="", command=COMMAND,
        )  # fmt: skip
    for name, score in others.items():
        yield make_row(
            f"{what}: mean error of time, slowdowns from 1.1 to 20", 100 * paged.mean_error, "%",
            bar=15.0, peer=name, peer_value=100 * score.mean_error, command=COMMAND,
        )  # fmt: skip
    if paged.rank is not None:
        yield make_row(
            f"{what}: rank correlation", paged.rank, "", bar=0.9, at_most=False,
            peer="", command=COMMAND,
        )  # fmt: skip
    if report.coverage is not None:
        yield make_row(
            f"{what}: coverage of 90 % intervals, off 90 % by", 100 * abs(report.coverage - 0.9),
            "points", bar=5.0, peer="", command=COMMAND,
        )  # fmt: skip
    if report.cliffs:
        yield make_row(
            f"{what}: cliffs within 5 % of the pages", sum(map(held, report.cliffs))
            / len(report.cliffs), "of programs", bar=0.9, at_most=False, peer="", command=COMMAND,
        )  # fmt: skip
    if report.gain is not None:
        yield make_row(
            f"{what}: plans predicted to be 1.2x quicker, geometric mean over the kernel alone",
            report.gain, "x", bar=1.2, at_most=False, peer="the kernel alone", command=COMMAND,
        )  # fmt: skip
    if report.worst_gain is not None:
        yield make_row(
            f"{what}: the slowest plan over the kernel alone", 1 / report.worst_gain, "x",
            bar=1.03, peer="the kernel alone", command=COMMAND,
        )  # fmt: skip
