"""The verb `measure`."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.commands._verb import verb
from nearfar.memories.spec import PAGED
from nearfar.options.measure import (
    KernelOptions,
    KernelShape,
    MeasureModes,
    MeasureOptions,
    MemoryOptions,
)

SELF_TEST_USES = ("--seconds", "-o")
CORE_USES = ("-o",)
KERNEL_USES = ("--seconds", "--repetitions", "--threads", "--largest", "--no-spin", "--seed")
PAGED_USES = (
    *("-o", "--seconds", "--repetitions", "--threads", "--largest", "--quick"),
    *("--name", "--title"),
)
"""Options that these modes use, besides those of a kernel's shape."""


@verb(MeasureOptions, KernelShape, MeasureModes)
def measure(options: MeasureOptions, shape: KernelShape, modes: MeasureModes) -> int:
    """Measure how a memory behaves and write its device profile.

    Latency by region, pattern and page size of reads, writes and persisted writes; 1 to 32
    independent chains; bandwidth by threads, size, pattern and read share; latency under load with
    its tails; what it is made of (caches, buffers, queues, interleaving, stalls), as far as the
    data show it; and what the instrument itself and the methods of other tools add. Every round
    measures each point once; results are medians with 95 % bootstrap intervals. Takes about 15
    minutes, or about 20 s with --quick, which measures only what predictions read. Ctrl-C keeps
    what was sampled, and --resume continues.

    ``nearfar measure core`` measures the processor's core instead, in about 40 s: window, load,
    store and miss buffers, branch mispredictions, arithmetic, caches, page walks, prefetchers. It
    prints a table, and -o writes or updates a machine profile, for ``nearfar predict --core``.

    ``nearfar measure zram --yes`` measures a paged memory, in about a minute: what a fault and an
    eviction cost per page. It makes a swap device and a control group, and removes them again;
    without --yes it shows how, and changes nothing.

    ``nearfar measure --like mlc|stream|lens ARGS...`` takes that tool's own options instead, and
    prints its tables (``nearfar measure --like mlc --help``).
    """
    from nearfar.commands import _measure as mode
    from nearfar.commands._ignored import refuse_unused

    given = options.given() | shape.given()
    if options.memory == "core":
        uses = (*CORE_USES, *(("--seed",) if modes.self_test else ()))
        refuse_unused("core", given, uses, "measures this processor's core")
        return mode.core(options, modes)
    if options.memory.partition(",")[0].partition(":")[0] in PAGED:
        refuse_unused("a paged memory", given, PAGED_USES, "is measured by its faults")
        return mode.paged(options, modes)
    if modes.yes:
        raise CommandError("--yes is for zram, zswap and swap: nothing else is set up")
    if modes.self_test:
        refuse_unused("--self-test", given, SELF_TEST_USES, "probes model:NAME as it is")
        return mode.self_test(options, modes)
    if shape.kernel is not None:
        uses = (*KERNEL_USES, *shape.given())
        refuse_unused(
            "--kernel", given, uses, "measures that kernel alone, prints and writes nothing"
        )
        if shape.kernel == "list":
            mode.list_kernels(modes)
        else:
            mode.one_kernel(_kernel_options(options, shape), modes)
        return 0
    if shape != KernelShape():
        raise CommandError(
            "--chains, --access, --stride, --window, --read-share, --fence-every, --each and --isa "
            "are for --kernel; a whole measurement has them all"
        )
    _whole(options, modes)
    return 0


def _kernel_options(options: MeasureOptions, shape: KernelShape) -> KernelOptions:
    memory = {part.name: getattr(options, part.name) for part in fields(MemoryOptions)}
    return KernelOptions(**memory, **{p.name: getattr(shape, p.name) for p in fields(shape)})


def _whole(options: MeasureOptions, modes: MeasureModes) -> None:
    """Measure everything and print a summary or JSON."""
    from nearfar.api.measure import run_measurement
    from nearfar.commands._deliver import print_json
    from nearfar.measure import show
    from nearfar.measure.settings import samples_path
    from nearfar.memories.spec import parse_spec

    if options.output is None and not modes.json:
        name = options.name or parse_spec(options.memory).slug()
        options = replace(options, output=Path(f"{name}.json"))
    samples = samples_path(options)
    device = run_measurement(options, lambda most_s: show.watching(modes.quiet, most_s=most_s))
    if modes.json:
        print_json(device)
    elif not modes.quiet:
        print(show.summary(device))
        wrote = [str(path) for path in (options.output, samples, options.plot) if path is not None]
        print(f"wrote {' and '.join(wrote)}")
