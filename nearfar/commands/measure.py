"""The verb `measure`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.base.errors import CommandError
from nearfar.commands._options import JsonOption, OutputOption, QuietOption

SELF_TEST_USES = ("--seconds", "-o")
KERNEL_USES = (
    "--kernel", "--seconds", "--repetitions", "--threads", "--largest", "--no-spin", "--seed",
    "--chains", "--access", "--stride", "--window", "--read-share", "--fence-every", "--each",
    "--isa",
)  # fmt: skip
"""What these two can use; --json and --quiet every one."""

Flag = Annotated[bool, Parameter(negative="")]


def measure(
    memory: str = "dram",
    *,
    quick: Flag = False,
    output: OutputOption = None,
    plot: Path | None = None,
    name: str = "",
    title: str = "",
    seconds: float | None = None,
    repetitions: int | None = None,
    threads: int | None = None,
    largest: str | None = None,
    spin: bool = True,
    only: str | None = None,
    resume: Flag = False,
    since: Path | None = None,
    samples: bool = True,
    seed: int = 1,
    self_test: Flag = False,
    kernel: str | None = None,
    chains: int = 1,
    access: str = "64",
    stride: str = "0",
    window: str = "0",
    read_share: str = "",
    fence_every: int = 1,
    each: Flag = False,
    isa: str = "",
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Measure how a memory behaves and write its device profile.

    Latency by region, pattern and page size of reads, writes and persisted writes; 1 to 32
    independent chains; bandwidth by threads, size, pattern and read share; latency under load with
    its tails; what it is made of (caches, buffers, queues, interleaving, stalls), as far as the
    data show it; and what the instrument and other tools' ways to measure add. Every point once a
    round, medians with 95 % bootstrap intervals. Takes about 15 minutes, with --quick about one.
    Ctrl-C keeps what was sampled; --resume goes on.

    ``nearfar measure --like mlc|stream|lens ARGS...`` takes that tool's own options instead, and
    prints its tables (``nearfar measure --like mlc --help``).

    Parameters
    ----------
    memory
        dram, node:N (a NUMA node), file:PATH (a temporary file in that folder), devdax:/dev/daxX.Y
        (a DAX device: what it holds is overwritten), hugetlb:2M|1G (reserved pages), model:NAME (a
        simulated memory: a library device, a profile's path, or random:SEED). Options follow a
        comma: pages=4k|thp|2m|1g (only that page size; thp: transparent huge pages, 2m and 1g:
        reserved ones), load=none|read|store|copy (what another core does all the while),
        dax=require (refuse a file that is not mapped without a page cache).
    quick
        Fewer regions, thread counts and loads; about 60 s.
    output
        File to write the device profile to; NAME.json if not given (and nothing if --json is).
        All samples go beside it, NAME.samples.parquet. With --self-test: the verdicts, as JSON.
    plot
        Also draw what was found to this .png, .svg or .pdf, or one picture a kind to this folder.
    name
        Name of the device in the profile: lower case, digits, dashes. Default: from MEMORY.
    title
        Its one-line description.
    seconds
        Time for everything, shared out among the parts (at least 3 rounds are made).
    repetitions
        Make exactly so many rounds (at least 2), however long they take.
    threads
        Use at most so many cores (with --kernel: exactly so many, default 1).
    largest
        Largest region, such as 256MiB. Default: 8 times the last-level cache, less where memory
        is short, more where DRAM only caches the memory (Memory Mode).
    spin
        Keep another core awake with a PAUSE loop while this one is timed alone.
    only
        Measure only these, separated by commas: bandwidth, chains, idle, loaded, loaded-writes,
        mixture, writes; inference, instrument, protocols.
    resume
        Go on with an interrupted measurement of the same memory, machine and settings.
    since
        An earlier profile of this memory; figures that moved beyond noise are warned of. Default:
        what is at the output before it is replaced.
    samples
        Keep all samples beside the profile, while measuring (for --resume) and as Parquet.
    seed
        Of a simulated memory's noise.
    self_test
        Probe model:NAME and judge what is inferred against its truth; exit code 1 if something
        false is said. Takes --seconds (of CPU time), -o and --json.
    kernel
        Run only this kernel, print ns per access or GB/s and write nothing; `list` lists them.
    chains
        Independent chains, 1 to 32; only for --kernel chains.
    access
        With --kernel: size of one access, such as 256 or 4KiB; of a chase, its blocks.
    stride
        With --kernel: distance of neighbouring accesses; 0: side by side.
    window
        With --kernel: random accesses stay in so much, which moves on; 0: the whole region.
    read_share
        With --kernel mixed and its like: loads among the lines touched, such as 75% or 0.75.
    fence_every
        With --kernel persist-...: accesses between two fences.
    each
        With --kernel: time every access by itself and print percentiles.
    isa
        With --kernel: sse2, avx2, avx512 or scalar instead of the widest this processor has.
    """
    from nearfar.commands import _measure as command
    from nearfar.commands._ignored import refuse_unused
    from nearfar.measure.one_kernel import KernelChoice
    from nearfar.measure.settings import Settings
    from nearfar.measure.spec import parse_spec

    command.check_numbers(name, seconds, repetitions, threads)
    settings = Settings(
        spec=parse_spec(memory),
        quick=quick,
        seconds=seconds,
        repetitions=repetitions,
        threads=threads,
        largest_bytes=command.largest_bytes(largest),
        spin=spin,
        seed=seed,
        only=tuple(word.strip() for word in only.split(",")) if only else (),
        resume=resume,
        since=since,
        name=name,
        title=title,
    )
    wanted = command.Wanted(plot=plot, samples=samples, json=json, quiet=quiet)
    choice = KernelChoice(
        access=access,
        stride=stride,
        window=window,
        read_share=read_share,
        fence_every=fence_every,
        chains=chains,
        each=each,
        isa=isa,
    )
    given = command.given(settings, choice, output, wanted) | {"--kernel": kernel is not None}
    if self_test:
        refuse_unused("--self-test", given, SELF_TEST_USES, "probes model:NAME as it is")
        return command.self_test(settings, output, wanted)
    if kernel is not None:
        what = "measures that kernel alone, prints and writes nothing"
        refuse_unused("--kernel", given, KERNEL_USES, what)
        command.one_kernel(settings, kernel, choice, wanted)
        return 0
    if choice != KernelChoice():
        raise CommandError(
            "--chains, --access, --stride, --window, --read-share, --fence-every, --each and --isa "
            "are for --kernel; a whole measurement has them all"
        )
    command.whole(settings, output, wanted)
    return 0
