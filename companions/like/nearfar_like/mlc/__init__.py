"""MLC's modes and options on nearfar's kernels: ``nearfar measure --like mlc``."""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Callable
from typing import Any

from nearfar import __version__
from nearfar.base.errors import CommandError
from nearfar.measure.instrument import InstrumentWatch
from nearfar_like.bench import Bench
from nearfar_like.mlc.arguments import MlcArguments, parse
from nearfar_like.mlc.options import BARE, MODES, OPTIONS
from nearfar_like.mlc.run import MlcRun
from nearfar_like.model import ModelBench
from nearfar_like.noise import RunNoise
from nearfar_like.real import RealBench

SUMMARY = "latency and bandwidth by the options of Intel's Memory Latency Checker"


def _help() -> str:
    lines = [
        "nearfar measure --like mlc [model:NAME] [--MODE] [-OPTION...] [--json]",
        "",
        "Takes the options of Intel(R) Memory Latency Checker and prints tables laid out as its",
        "own, measured by nearfar's kernels. Without a mode: " + ", ".join(BARE[:3]) + ",",
        ", ".join(BARE[3:]) + ". model:NAME measures a device of the library instead.",
        "",
        "Modes:",
        *(f"  --{mode}" for mode in MODES),
        "",
        "Options (values attached or after a blank):",
    ]
    for option in OPTIONS.values():
        value = f" {option.takes.upper()}" if option.takes else ""
        what = f"refused: {option.refused}" if option.refused else option.meaning
        lines.append(f"  -{option.letter + value:8s} {what}")
    lines += [
        "",
        "docs/like.md says of every option whether it is the same, differs, or is refused.",
    ]
    return "\n".join(lines)


HELP = _help()


def run(arguments: list[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Parse and measure; return the results for JSON."""
    parsed = parse(arguments)
    bench = _bench(parsed)
    cpus = () if bench.name else tuple(cpu for node in bench.nodes() for cpu in node.cpus)
    return measure(parsed, bench, say, InstrumentWatch(cpus) if cpus else None)


def measure(
    parsed: MlcArguments,
    bench: Bench,
    say: Callable[[str], None],
    watch: InstrumentWatch | None = None,
) -> dict[str, Any]:
    """Run the modes asked for on `bench`, while `watch` looks at the machine."""
    noise = RunNoise(bench.name, "-t SECONDS", watch)
    run = MlcRun(bench, parsed, say, noise)
    say(f"nearfar {__version__}, MLC-like (not Intel(R) Memory Latency Checker)")
    say(f"Command line parameters: {shlex.join(parsed.words)} ")
    say("")
    for note in parsed.notes:
        run.note(note)
    for letter in "YZ":
        if bench.name and parsed.has(letter):
            run.note(f"-{letter} changes nothing: {bench.name} has no instructions")
    modes = (parsed.mode,) if parsed.mode else BARE
    for mode in modes:
        if mode == "c2c_latency" and bench.name:
            if parsed.mode:
                raise CommandError(f"{bench.name} is a memory and has no cores to pass lines")
            run.note(f"c2c_latency is left out: {bench.name} is a memory and has no cores")
            continue
        module = importlib.import_module(f"{__name__}.modes.{mode}")
        run.results[mode] = module.run(run)
        if len(modes) > 1:
            say("")
    return {
        "tool": "mlc",
        "producer": f"nearfar {__version__}",
        "arguments": parsed.words,
        "memory": bench.name or "this machine",
        "vector": bench.vector,
        "ghz": bench.ghz,
        "notes": run.notes,
        "noise": noise.fields(),
        "results": run.results,
    }


def _bench(parsed: MlcArguments) -> Bench:
    if parsed.memory:
        return ModelBench(parsed.memory)
    isa = "avx512" if parsed.has("Z") else "avx2" if parsed.has("Y") else ""
    return RealBench(isa)
