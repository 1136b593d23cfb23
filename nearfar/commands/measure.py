"""The verb `measure`."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from nearfar.base.errors import CommandError
from nearfar.commands._options import JsonOption, OutputOption, QuietOption

if TYPE_CHECKING:
    from nearfar.measure.measure import Settings


def measure(
    memory: str = "dram",
    *,
    quick: Annotated[bool, Parameter(negative="")] = False,
    output: OutputOption = None,
    plot: Path | None = None,
    name: str = "",
    title: str = "",
    seconds: float | None = None,
    repetitions: int | None = None,
    threads: int | None = None,
    largest: str | None = None,
    spin: bool = True,
    kernel: str | None = None,
    chains: int = 1,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure how a memory behaves and write its device profile.

    Idle latency by region and page size, 1 to 32 independent chains, bandwidth by threads and
    kind of access, and latency under load; every point once a round, medians with 95 % bootstrap
    intervals. Takes about 5 minutes, with --quick about one.

    Parameters
    ----------
    memory
        dram, node:N (a NUMA node), file:PATH (a temporary file in that folder). Options follow a
        comma: pages=4k|thp|2m (only that page size; thp: transparent huge pages, 2m: reserved
        ones), load=none|read|store|copy (what another core does all the while).
    quick
        Fewer regions, thread counts and loads; about 60 s.
    output
        File to write the device profile to; NAME.json if not given (and nothing if --json is).
    plot
        Also draw latency by region, chains and latency under load to this .png, .svg or .pdf.
    name
        Name of the device in the profile: lower case, digits, dashes. Default: from MEMORY.
    title
        Its one-line description.
    seconds
        Stop after the round in which so many seconds have passed (at least 3 rounds).
    repetitions
        Make exactly so many rounds (at least 2), however long they take.
    threads
        Use at most so many cores (with --kernel: exactly so many, default 1).
    largest
        Largest region, such as 256MiB. Default: 8 times the last-level cache, less where memory
        is short.
    spin
        Keep another core awake with a PAUSE loop while this one is timed alone.
    kernel
        Run only this kernel, print ns per access or GB/s and write nothing; `list` lists them.
    chains
        Independent chains, 1 to 32; only for --kernel chains.
    """
    settings = _settings(
        memory,
        quick=quick,
        name=name,
        title=title,
        seconds=seconds,
        repetitions=repetitions,
        threads=threads,
        largest=largest,
        spin=spin,
    )
    if kernel is not None:
        if output is not None or plot is not None:
            raise CommandError("--kernel prints and writes nothing: leave out -o and --plot")
        _one_kernel(settings, kernel, chains, json, quiet)
        return
    if chains != 1:
        raise CommandError("--chains is for --kernel chains; a whole measurement has them all")
    _whole(settings, output, plot, json, quiet)


def _settings(
    memory: str,
    *,
    quick: bool,
    name: str,
    title: str,
    seconds: float | None,
    repetitions: int | None,
    threads: int | None,
    largest: str | None,
    spin: bool,
) -> Settings:
    import math
    import re

    from nearfar.base.units import parse_size_bytes
    from nearfar.measure.measure import Settings
    from nearfar.measure.spec import parse_spec

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
    largest_bytes = parse_size_bytes(largest) if largest is not None else 0
    if largest is not None and largest_bytes < 64 << 10:
        raise CommandError(f"--largest must be at least 64KiB, not {largest}")
    return Settings(
        spec=parse_spec(memory),
        quick=quick,
        seconds=seconds,
        repetitions=repetitions,
        threads=threads,
        largest_bytes=largest_bytes,
        spin=spin,
        name=name,
        title=title,
    )


def _whole(
    settings: Settings, output: Path | None, plot: Path | None, json: bool, quiet: bool
) -> None:
    from nearfar.base.files import check_writable
    from nearfar.documents import save
    from nearfar.documents.header import to_json
    from nearfar.measure import show
    from nearfar.measure.measure import measure as measure_device
    from nearfar.measure.plot import check_ending
    from nearfar.measure.plot import plot as draw

    if output is None and not json:
        output = Path(f"{settings.name or settings.spec.slug()}.json")
    if output is not None:
        check_writable(output)
    if plot is not None:
        check_ending(plot)
        check_writable(plot)
    with show.progress(quiet) as progress:
        device = measure_device(settings, progress)
    if output is not None:
        save(device, output)
    if plot is not None:
        draw(device, plot)
    if json:
        sys.stdout.write(to_json(device).decode())
    elif not quiet:
        print(show.summary(device))
        print(f"wrote {' and '.join(str(path) for path in (output, plot) if path is not None)}")


def _one_kernel(settings: Settings, kernel: str, chains: int, json: bool, quiet: bool) -> None:
    from nearfar.measure.one_kernel import kernel_list, measure_kernel

    if kernel == "list":
        kernels = kernel_list()
        if json:
            print(json_module.dumps(kernels, indent=1))
        elif not quiet:
            for one in kernels:
                print(f"{one['name']:18s} {one['summary']}")
        return
    result: dict[str, Any] = measure_kernel(settings, kernel, chains)
    if json:
        print(json_module.dumps(result, indent=1))
    elif not quiet:
        for one in result["results"]:
            print(
                f"{kernel}: {one['value']:.3f} {result['unit']} "
                f"[{one['low']:.3f}, {one['high']:.3f}] in {one['repetitions']} repetitions, "
                f"{result['memory']}, {one['page_bytes'] >> 10} KiB pages"
            )
        for warning in result["warnings"]:
            print(f"warning: {warning}", file=sys.stderr)
