"""Builds the kernels with nearfar's drivers and runs them plain, traced and under cachegrind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nearfar.native_files import include_folder
from nearfar.profile.compiler.twin import extract_plain
from nearfar.profile.session import prepare_folder
from nearfar.program.control import RUN_FOLDER_VARIABLE

SOURCES = Path("benchmarks/kernels")
BUILD = Path("build/kernels")
CACHE_BYTES = 32 << 20
CACHE_WAYS = 16
"""The last-level cache of a common server; simulation makes it independent of the machine."""
TABLE_BYTES = 64 << 20
"""`nearfar profile`'s default size of the runtime's tables."""


@dataclass(frozen=True)
class Kernel:
    """Holds a kernel built at one rate."""

    name: str
    traced: Path
    plain: Path


def build(name: str, rate: int = 64) -> Kernel:
    """Compile a kernel at -O2 with its twin."""
    (source,) = (path for path in SOURCES.glob(f"{name}.c*"))
    folder = BUILD / f"rate-{rate}"
    (folder / "plain").mkdir(parents=True, exist_ok=True)
    traced = folder / name
    driver = "c++" if source.suffix == ".cpp" else "cc"
    command = [sys.executable, "-m", "nearfar", driver, "-O2", f"--nearfar-rate={rate}"]
    command += [f"-I{include_folder()}", str(source), "-o", str(traced)]
    subprocess.run(command, check=True)
    plain = extract_plain(traced, folder / "plain")
    if plain is None:
        raise RuntimeError(f"{traced} has no plain twin")
    return Kernel(name, traced.resolve(), plain.resolve())


def kernel_seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Run a kernel, which checks its result; return its kernel phase's CPU seconds."""
    done = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stderr.rpartition("kernel_cpu_s ")[2].split()[0])


def plain_seconds(kernel: Kernel, size: int, repetitions: int) -> float:
    """Return CPU seconds of the plain build."""
    return kernel_seconds([str(kernel.plain), str(size), str(repetitions)])


def traced_seconds(kernel: Kernel, size: int, repetitions: int) -> float:
    """Return CPU seconds of the instrumented build as under `nearfar profile`."""
    with tempfile.TemporaryDirectory() as name:
        control = prepare_folder(Path(name), CACHE_BYTES, CACHE_WAYS, TABLE_BYTES)
        command = [str(kernel.traced), str(size), str(repetitions)]
        seconds = kernel_seconds(command, {RUN_FOLDER_VARIABLE: name})
        control.close()
    return seconds


def untraced_seconds(kernel: Kernel, size: int, repetitions: int) -> float:
    """Return CPU seconds of the instrumented build run by itself."""
    return kernel_seconds([str(kernel.traced), str(size), str(repetitions)])


def cachegrind_seconds(kernel: Kernel, size: int, repetitions: int) -> float:
    """Return CPU seconds of the plain build under cachegrind."""
    tool = ["valgrind", "-q", "--tool=cachegrind", "--cachegrind-out-file=/dev/null"]
    return kernel_seconds([*tool, str(kernel.plain), str(size), str(repetitions)])
