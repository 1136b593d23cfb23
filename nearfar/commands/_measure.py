"""What the verb `measure` does around a measurement: checks before it, files and words after it."""

from __future__ import annotations

import json as json_module
import math
import re
import sys
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar.base.errors import CommandError, ExitCode
from nearfar.measure.settings import Settings

if TYPE_CHECKING:
    from nearfar.measure.one_kernel import KernelChoice

SAMPLES_ENDING = ".samples.parquet"


@dataclass(frozen=True)
class Wanted:
    """What is to come out of a measurement beside the profile."""

    plot: Path | None = None
    """A picture, or a folder for one picture of each kind."""
    samples: bool = True
    """Whether samples are kept, as Parquet beside the profile."""
    json: bool = False
    quiet: bool = False


def check_numbers(
    name: str, seconds: float | None, repetitions: int | None, threads: int | None
) -> None:
    """Refuse options that no measurement can follow."""
    if name and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise CommandError(f"--name {name!r} must be lower-case letters, digits and single dashes")
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise CommandError(f"--seconds must be a positive number, not {seconds:g}")
    if repetitions is not None and repetitions < 2:
        raise CommandError(
            "--repetitions must be at least 2: the noise floor compares the first half of them "
            "with the second"
        )
    if threads is not None and threads < 1:
        raise CommandError(f"--threads must be at least 1, not {threads}")


def given(
    settings: Settings, choice: KernelChoice, output: Path | None, wanted: Wanted
) -> dict[str, bool]:
    """Return by option whether it was given another value than its default."""
    bare = Settings(spec=settings.spec)
    options = {
        "--quick": "quick", "--name": "name", "--title": "title", "--seconds": "seconds",
        "--repetitions": "repetitions", "--threads": "threads", "--largest": "largest_bytes",
        "--no-spin": "spin", "--only": "only", "--resume": "resume", "--since": "since",
        "--seed": "seed",
    }  # fmt: skip
    of_kernels = type(choice)()
    return {
        "-o": output is not None,
        "--plot": wanted.plot is not None,
        "--no-samples": not wanted.samples,
        **{option: getattr(settings, key) != getattr(bare, key) for option, key in options.items()},
        **{
            f"--{field.name.replace('_', '-')}": getattr(choice, field.name)
            != getattr(of_kernels, field.name)
            for field in fields(choice)
        },
    }


def largest_bytes(text: str | None) -> int:
    """Return the bytes of --largest; 0: not given."""
    from nearfar.base.units import parse_size_bytes

    size_bytes = parse_size_bytes(text) if text is not None else 0
    if text is not None and size_bytes < 64 << 10:
        raise CommandError(f"--largest must be at least 64KiB, not {text}")
    return size_bytes


def whole(settings: Settings, output: Path | None, wanted: Wanted) -> None:
    """Measure everything; write profile, samples and pictures; print a summary or JSON."""
    from nearfar.base.files import check_writable
    from nearfar.documents import save
    from nearfar.documents.header import to_json
    from nearfar.measure import show
    from nearfar.measure.measure import run, seconds_given

    if output is None and not wanted.json:
        output = Path(f"{settings.name or settings.spec.slug()}.json")
    if settings.resume and (output is None or not wanted.samples):
        raise CommandError(
            "--resume goes on with the samples beside the profile: leave --json without -o and "
            "--no-samples out"
        )
    samples: Path | None = None
    # Beside a device or pipe (/dev/stdout) nothing can be kept.
    keep = wanted.samples and not (output is not None and output.exists() and not output.is_file())
    if output is not None:
        check_writable(output)
        if keep:
            samples = output.with_suffix(SAMPLES_ENDING)
            check_writable(samples)
    check_plot(wanted.plot)
    # Samples are kept beside the profile; without one there is nowhere to go on from.
    settings = replace(settings, output=output, keep=keep)
    with show.watching(wanted.quiet, most_s=seconds_given(settings)) as (progress, seen):
        measured = run(replace(settings, seen=seen), progress)
        progress("writing", 1.0)
        # What took minutes is safe before anything is drawn of it.
        if samples is not None:
            measured.write_samples(samples)
        if output is not None:
            save(measured.device, output)
        if wanted.plot is not None:
            draw(measured, wanted.plot)
        measured.discard_store()
    if wanted.json:
        sys.stdout.write(to_json(measured.device).decode())
    elif not wanted.quiet:
        print(show.summary(measured.device))
        wrote = [path for path in (output, samples, wanted.plot) if path is not None]
        print(f"wrote {' and '.join(str(path) for path in wrote)}")


def check_plot(path: Path | None) -> None:
    """Refuse a picture that could not be written at the end."""
    from nearfar.base.files import check_writable
    from nearfar.measure.plot import check_ending

    if path is None:
        return
    if path.is_dir():
        check_writable(path / "latency.png")
    elif path.suffix:
        check_ending(path)
        check_writable(path)
    else:
        check_writable(path)  # a folder that is made at the end: its own folder must be there


def draw(measured: Any, path: Path) -> None:
    """Draw to a file, or one picture of each kind there is data for to a folder."""
    from nearfar.measure.plot import FIGURES, Drawing, panels_of, plot_drawing

    records = list(measured.store.records()) if measured.store is not None else []
    drawing = Drawing(measured.device, records, measured.evidence)
    if path.suffix and not path.is_dir():
        plot_drawing(drawing, path)
        return
    path.mkdir(exist_ok=True)
    for kind in FIGURES.names():
        if panels_of(drawing, [kind]):
            plot_drawing(drawing, path / f"{kind}.png", [kind])


def self_test(settings: Settings, output: Path | None, wanted: Wanted) -> ExitCode:
    """Probe a simulated memory and compare what is found with its truth; exit 1 on a mismatch."""
    from nearfar.base.files import check_writable, write_atomically
    from nearfar.measure import show

    if settings.spec.kind != "model":
        raise CommandError(
            "--self-test compares with a truth that only simulated memories have: use model:NAME"
        )
    if settings.spec.pages is not None:
        raise CommandError("--self-test probes model:NAME as it is: leave out pages=")
    if output is not None:
        check_writable(output)
    from nearfar.measure.self_test import self_test as test_devices

    name = settings.spec.model
    device = int(name.removeprefix("random:")) if name.startswith("random:") else name
    budget = {"budget": settings.seconds} if settings.seconds is not None else {}
    with show.progress(wanted.quiet) as progress:
        verdicts = test_devices([device], progress=progress, **budget)
    sound = all(verdict.sound for verdict in verdicts)
    text = json_module.dumps([asdict(verdict) for verdict in verdicts], indent=1)
    if output is not None:
        write_atomically(output, text + "\n")
    if wanted.json:
        print(text)
    elif not wanted.quiet:
        for one in verdicts:
            said = f"{one.found} {one.interval}".strip() or one.note
            print(f"{one.judged:9s} {one.quantity}: {one.truth} is the truth; {said or 'nothing'}")
        print("sound: nothing false was said" if sound else "not sound: see wrong and invented")
        if output is not None:
            print(f"wrote {output}")
    return ExitCode.DONE if sound else ExitCode.FOUND


def one_kernel(settings: Settings, kernel: str, choice: KernelChoice, wanted: Wanted) -> None:
    """Run one kernel alone, or list them all."""
    from nearfar.measure.one_kernel import kernel_list, measure_kernel

    if kernel == "list":
        kernels = kernel_list()
        if wanted.json:
            print(json_module.dumps(kernels, indent=1))
        elif not wanted.quiet:
            for one in kernels:
                lacks = f" (not here: this processor {one['missing']})" if one["missing"] else ""
                print(f"{one['name']:29s} {one['summary']}{lacks}")
        return
    result: dict[str, Any] = measure_kernel(settings, kernel, choice)
    if wanted.json:
        print(json_module.dumps(result, indent=1))
    elif not wanted.quiet:
        for one in result["results"]:
            print(
                f"{kernel}: {one['value']:.3f} {result['unit']} "
                f"[{one['low']:.3f}, {one['high']:.3f}] in {one['repetitions']} repetitions, "
                f"{result['memory']}, {one['page_bytes'] >> 10} KiB pages"
            )
            if "percentiles_ns" in one:
                cuts = ", ".join(f"{key} {ns:.1f}" for key, ns in one["percentiles_ns"].items())
                timer = result["timer"]
                print(
                    f"  each of {one['accesses']} accesses, ns: {cuts}, most {one['most_ns']:.1f} "
                    f"(the timer's {timer['overhead_ns']:.1f} taken off, in steps of "
                    f"{timer['resolution_ns']:.2g})"
                )
        for warning in result["warnings"]:
            print(f"warning: {warning}", file=sys.stderr)
