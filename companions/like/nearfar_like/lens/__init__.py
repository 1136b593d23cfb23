"""The three probers of LENS on nearfar's kernels: ``nearfar measure --like lens``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from nearfar import __version__
from nearfar.base.errors import CommandError, nearest
from nearfar.base.units import format_bytes, parse_size_bytes
from nearfar.measure.instrument import InstrumentWatch
from nearfar.measure.open_subject import open_memory
from nearfar.measure.reported_caches import kernels_caches
from nearfar.measure.subject import Subject
from nearfar.options.measure import MemoryOptions
from nearfar_like.lens.inferred import inferred
from nearfar_like.lens.probe import LensProbe
from nearfar_like.noise import RunNoise

SUMMARY = "buffers, policies and performance of a memory's device, as LENS probes them"

PROBERS = ("buffer", "policy", "performance")

HELP = """nearfar measure --like lens [MEMORY] [buffer|policy|performance] [OPTION...] [--json]

LENS' probers in user space, without its kernel module, by nearfar's kernels. Without a prober: all.

  MEMORY            dram (default), node:N, file:FOLDER, devdax:DEVICE, model:NAME
  buffer            latency by region and block, of reads and of stores made durable; amplification
  policy            stores over and over the same region: tails and stalls; sequential persists
  performance       bandwidth by access size and stride

  --largest SIZE    largest region, such as 512MiB (default: the memory's largest)
  --rounds N        samples of every point (default 3)
  --writes N        stores of the overwrite test (default 200000)
  --no-infer        tables only, nothing inferred of them
"""


def run(arguments: list[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Probe and print; return the tables for JSON."""
    chosen = parse(arguments)
    largest = f"{chosen['largest']}B" if chosen["largest"] else None
    options = MemoryOptions(memory=chosen["memory"], largest=largest)
    opened = open_memory(options)
    watch = InstrumentWatch(opened.cpus) if opened.cpus else None
    return probe(opened.subject, chosen, say, watch, kernels_caches(opened.facts))


def parse(arguments: list[str]) -> dict[str, Any]:
    """Read the command line."""
    chosen: dict[str, Any] = {
        "memory": "",
        "probers": [],
        "largest": 0,
        "rounds": 3,
        "writes": 200_000,
        "infer": True,
    }
    rest = list(arguments)
    valid = ["--largest", "--rounds", "--writes", "--no-infer"]
    while rest:
        word = rest.pop(0)
        if word in PROBERS:
            if word not in chosen["probers"]:
                chosen["probers"].append(word)
        elif word == "--no-infer":
            chosen["infer"] = False
        elif word in valid:
            if not rest:
                raise CommandError(f"{word} needs a value")
            chosen[word[2:]] = _number(word, rest.pop(0))
        elif word.startswith("-"):
            raise CommandError(
                f"lens has no option {word}{nearest(word, valid)} (`nearfar measure --like lens "
                "--help` lists all)"
            )
        elif chosen["memory"]:
            raise CommandError(f"one memory at a time: {chosen['memory']} and {word} were given")
        else:
            chosen["memory"] = word
    chosen["memory"] = chosen["memory"] or "dram"
    chosen["probers"] = chosen["probers"] or list(PROBERS)
    return chosen


def _number(option: str, text: str) -> int:
    if option == "--largest":
        return parse_size_bytes(text)
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise CommandError(f"{option}: {text!r} is no whole number of at least 1")
    return int(text)


def probe(
    subject: Subject,
    chosen: dict[str, Any],
    say: Callable[[str], None],
    watch: InstrumentWatch | None = None,
    kernels: Sequence[int] = (),
) -> dict[str, Any]:
    """Run the chosen probers on `subject`, while `watch` looks at the machine.

    `kernels`: sizes of the caches that the kernel reports, bytes, the first level first.
    """
    facts = subject.facts()
    largest = min(chosen["largest"] or facts.largest_bytes, facts.largest_bytes)
    if chosen["largest"] > facts.largest_bytes:
        raise CommandError(
            f"--largest {format_bytes(chosen['largest'])}: regions of {chosen['memory']} have at "
            f"most {format_bytes(facts.largest_bytes)}; choose a smaller --largest"
        )
    say(f"nearfar {__version__}, LENS-like, {chosen['memory']}, regions to {format_bytes(largest)}")
    simulated = chosen["memory"] if chosen["memory"].startswith("model:") else ""
    noise = RunNoise(simulated, "--rounds N", watch)
    prober = LensProbe(subject, facts, largest, chosen["rounds"], chosen["writes"], say, noise)
    results = {}
    for name in chosen["probers"]:
        say("")
        results[name] = importlib.import_module(f"{__name__}.{name}").run(prober)
    document: dict[str, Any] = {
        "tool": "lens",
        "producer": f"nearfar {__version__}",
        "memory": chosen["memory"],
        "largest_bytes": largest,
        "notes": prober.notes,
        "noise": noise.fields(),
        "results": results,
    }
    if chosen["infer"]:
        say("")
        document["inferred"] = inferred(subject, say, kernels)
    return document
