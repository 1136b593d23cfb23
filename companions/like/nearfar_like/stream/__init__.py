"""McCalpin's STREAM on nearfar's kernels: ``nearfar measure --like stream``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nearfar import __version__
from nearfar.base.errors import CommandError, ExitCode, nearest
from nearfar.base.units import format_bytes
from nearfar.measure.instrument import InstrumentWatch
from nearfar_like.noise import RunNoise
from nearfar_like.stream.arrays import ELEMENT_BYTES, STREAM_FUNCTIONS, Arrays
from nearfar_like.stream.model import ModelArrays
from nearfar_like.stream.real import RealArrays

SUMMARY = "copy, scale, add and triad, with STREAM's table and validation"

HELP = """nearfar measure --like stream [MEMORY] [-n ELEMENTS] [-t TRIALS] [--threads N] [--json]

STREAM's four kernels and a sum, on arrays of ELEMENTS 8-byte elements, TRIALS times; the first
trial is left out, as in STREAM.

  MEMORY         dram (default: every thread on its own node), node:N, file:FOLDER, devdax:DEVICE,
                 model:NAME
  -n ELEMENTS    as -DSTREAM_ARRAY_SIZE (default: arrays of 4 times the last-level caches, at least
                 10000000)
  -t TRIALS      as -DNTIMES (default 10, at least 2)
  --threads N    default: OMP_NUM_THREADS, else a thread on every core
"""

MIN_ELEMENTS = 10_000_000
"""Default of STREAM, elements."""
LLC_MULTIPLE = 4
"""Rule of STREAM: each array is at least four times the caches together."""

RULE = "-" * 61


@dataclass(frozen=True)
class StreamOptions:
    """The parsed command line."""

    memory: str = "dram"
    elements: int = 0
    """Elements of an array; 0: chosen by the caches."""
    trials: int = 10
    threads: int | None = None


def run(arguments: list[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Measure, print STREAM's table, validate; return all for JSON."""
    options = parse(arguments)
    if options.memory.startswith("model:"):
        return stream(ModelArrays(options.memory, options.threads), options, say)
    arrays = RealArrays(options.memory, options.threads)
    return stream(arrays, options, say, InstrumentWatch(arrays.cpus))


def parse(arguments: list[str], environment: dict[str, str] | None = None) -> StreamOptions:
    """Read the command line and OMP_NUM_THREADS."""
    values: dict[str, int] = {}
    memory = ""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        option = "--threads" if word.startswith("--threads") else word[:2]
        if option in ("-n", "-t", "--threads") and word.startswith("-"):
            text = word[len(option) :].removeprefix("=")
            if not text:
                if not rest:
                    raise CommandError(f"{option} needs a value")
                text = rest.pop(0)
            least = 2 if option == "-t" else 1
            if not (text.isascii() and text.isdecimal()) or int(text) < least:
                raise CommandError(f"{option}: {text!r} is no whole number of at least {least}")
            values[option] = int(text)
        elif word.startswith("-"):
            hint = nearest(word, ["-n", "-t", "--threads"])
            raise CommandError(f"stream has no option {word}{hint}: it has -n, -t and --threads")
        elif memory:
            raise CommandError(f"one memory at a time: {memory} and {word} were given")
        else:
            memory = word
    threads = values.get("--threads")
    variable = (os.environ if environment is None else environment).get("OMP_NUM_THREADS", "")
    if threads is None and variable:
        if not variable.isdecimal() or int(variable) < 1:
            raise CommandError(
                f"OMP_NUM_THREADS={variable!r} is no number of threads: give --threads"
            )
        threads = int(variable)
    return StreamOptions(memory or "dram", values.get("-n", 0), values.get("-t", 10), threads)


def stream(
    arrays: Arrays,
    options: StreamOptions,
    say: Callable[[str], None],
    watch: InstrumentWatch | None = None,
) -> dict[str, Any]:
    """Run all kernels and print as STREAM does, while `watch` looks at the machine."""
    simulated = options.memory if options.memory.startswith("model:") else ""
    noise = RunNoise(simulated, "-t TRIALS", watch)
    elements = arrays.prepare(
        options.elements or max(MIN_ELEMENTS, LLC_MULTIPLE * arrays.llc_bytes // ELEMENT_BYTES)
    )
    notes = [*arrays.notes, *_too_small(elements, arrays.llc_bytes)]
    for line in _head(arrays, elements, options.trials, notes):
        say(line)
    rows = []
    wrong: list[str] = []
    for name, function in STREAM_FUNCTIONS.items():
        size = function.arrays * elements * ELEMENT_BYTES
        arrays.fill(function)
        noise.next()
        times = [size / (1e9 * arrays.gb_per_s(function)) for _ in range(options.trials)][1:]
        wrong += arrays.wrong(function)
        row = {
            "function": name.lower(),
            "best_mb_per_s": 1e-6 * size / min(times),
            "average_s": sum(times) / len(times),
            "least_s": min(times),
            "most_s": max(times),
        }
        rows.append(row)
        noise.value(name, [1e-6 * size / each for each in times], "mb_per_s")
        say(
            f"{name + ':':11s}{row['best_mb_per_s']:12.1f}  {row['average_s']:11.6f}  "
            f"{row['least_s']:11.6f}  {row['most_s']:11.6f}"
        )
    say(RULE)
    if wrong:
        raise CommandError("Failed Validation: " + "; ".join(wrong), ExitCode.FOUND)
    say(arrays.verdict)
    say(RULE)
    return {
        "tool": "stream",
        "producer": f"nearfar {__version__}",
        "memory": options.memory,
        "elements": elements,
        "threads": arrays.threads,
        "trials": options.trials,
        "notes": notes,
        "noise": noise.fields(),
        "validated": arrays.verdict,
        "results": rows,
    }


def _head(arrays: Arrays, elements: int, trials: int, notes: list[str]) -> list[str]:
    """Return the lines above the first row of the table."""
    mib = elements * ELEMENT_BYTES / (1 << 20)
    return [
        RULE,
        f"nearfar {__version__}, STREAM-like",
        RULE,
        f"This system uses {ELEMENT_BYTES} bytes per array element.",
        RULE,
        f"Array size = {elements} (elements), Offset = 0 (elements)",
        f"Memory per array = {mib:.1f} MiB (= {mib / 1024:.1f} GiB).",
        f"Total memory required = {3 * mib:.1f} MiB (= {3 * mib / 1024:.1f} GiB).",
        f"Each kernel will be executed {trials} times.",
        " The *best* time for each kernel (excluding the first iteration)",
        " will be used to compute the reported bandwidth.",
        RULE,
        f"Number of Threads counted = {arrays.threads}",
        *notes,
        RULE,
        "Function    Best Rate MB/s  Avg time     Min time     Max time",
    ]


def _too_small(elements: int, llc_bytes: int) -> list[str]:
    """Return a warning if caches may serve arrays of so many elements; STREAM's rule."""
    least = LLC_MULTIPLE * llc_bytes // ELEMENT_BYTES
    if elements >= least:
        return []
    return [
        f"WARNING: arrays of {format_bytes(elements * ELEMENT_BYTES)} are less than {LLC_MULTIPLE} "
        f"times the caches ({format_bytes(llc_bytes)}): what follows is partly the caches' "
        f"bandwidth, not the memory's; take -n {least} or more"
    ]
