"""Runs `nearfar try` with a near memory that is kept already, so that none is measured."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from forked import nearfar
from patience import patience

from nearfar.__main__ import main
from nearfar.devices.curves import idle_read_latency_ns
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, save
from nearfar.documents.device import MeasuredContext
from nearfar.measure import kept
from nearfar.options.try_program import MIN_TIME_S

ROOT = Path(__file__).resolve().parents[2]

Refused = Callable[..., str]
"""Runs `try` in this process, is refused at once, and returns standard error."""

needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or shutil.which("gcc") is None,
    reason="needs qemu-x86_64 (apt-get install qemu-user) and gcc",
)


RUNS_S = 4.0
"""Time for all runs of a program that does not end, s."""
CACHE_BYTES = 4 << 20
"""A core's share of the cache: programs of these tests miss it on any processor."""


def near_memory(latency_ns: float) -> DeviceProfile:
    """Return a published memory that takes `latency_ns` an access, behind a small cache."""
    device = load_device("ddr4-2666-local")
    figure = idle_read_latency_ns(device)
    changed = msgspec.structs.replace(figure, value_ns=latency_ns, low_ns=None, high_ns=None)
    device.latency[device.latency.index(figure)] = changed
    device.measured = MeasuredContext(
        memory_spec="dram",
        repetitions=3,
        seconds=20.0,
        noise_floor=0.01,
        timer_resolution_ns=1.0,
        cpus=[0],
        llc_bytes=CACHE_BYTES,
        effective_llc_bytes=CACHE_BYTES,
        environment={},
    )
    return device


def keep_near_memory(home: Path) -> None:
    """Keep a published near memory in the cache `home`, with the latency measured now."""
    figure = msgspec.structs.replace(idle_read_latency_ns(near_memory(1.0)), region_bytes=1 << 30)
    now_ns = kept._latency_ns(figure)
    near = near_memory(now_ns)
    # Looked at again: the default region takes as long as everything else together.
    near.latency.append(msgspec.structs.replace(figure, value_ns=now_ns))
    folder = home / "nearfar" / "near"
    folder.mkdir(parents=True, exist_ok=True)  # where a test runs again
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    save(near, folder / f"{boot}.json")


def attempt(cache: Path, folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a verb to its end, with this cache; `try` takes the near memory from there."""
    given = _with_near(cache, words)
    return nearfar(*given, cwd=folder, env=_variables(cache), timeout=patience(300))


def start(cache: Path, folder: Path, *words: object) -> subprocess.Popen[str]:
    """Start a verb in a new interpreter, as the leader of a session without a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "nearfar", *map(str, _with_near(cache, words))],
        cwd=folder,
        env=_variables(cache),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _with_near(cache: Path, words: tuple[object, ...]) -> tuple[object, ...]:
    return ("try", "--near", cache / "near.json", *words[1:]) if words[0] == "try" else words


def _variables(cache: Path) -> dict[str, str]:
    paths = (os.environ.get("PYTHONPATH"), str(ROOT))
    joined = os.pathsep.join(path for path in paths if path)
    return {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": joined}


def attempt_in_short(
    monkeypatch: pytest.MonkeyPatch, cache: Path, folder: Path, *words: str
) -> int:
    """Run `try` in this process; all runs of the program get RUNS_S of `--time` together."""
    module = importlib.import_module("nearfar.api.try_program")
    monkeypatch.setattr(module, "ANSWER_S", MIN_TIME_S - RUNS_S)
    monkeypatch.chdir(folder)
    time = f"{MIN_TIME_S:g}s"
    return main(["try", "--near", str(cache / "near.json"), "--time", time, *words])


def build(folder: Path, name: str, source: str) -> None:
    """Compile a C program."""
    (folder / f"{name}.c").write_text(source)
    command = ["gcc", "-O1", "-g", f"{name}.c", "-o", name]
    subprocess.run(command, cwd=folder, check=True)


def left_running(folder: Path) -> list[int]:
    """Return the processes that work in `folder`, besides this one."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
    return [pid for pid in found if pid != os.getpid()]
