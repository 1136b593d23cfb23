"""A hundred runs at a limit that end badly: the machine is as before each time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from patience import patience
from swap_alone import permitted, swap_alone

from nearfar.memories.paged.group import find_group_parent
from nearfar.memories.paged.ledger import undo_dead

# 16 MiB of pages that do not repeat, touched until a second of CPU time is over; an argument: all
# of it is locked.
PROGRAM = r"""
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

int main(int count, char** words) {
  const size_t numbers = 2 << 20;
  uint64_t seed = 88172645463325252u;
  (void)words;
  if (count > 1 && mlockall(MCL_FUTURE) != 0) return 2;
  volatile uint64_t* block = malloc(numbers * sizeof *block);
  for (size_t i = 0; i < numbers; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    block[i] = seed ^= seed << 17;
  }
  while (clock() < CLOCKS_PER_SEC) {
    for (size_t i = 0; i < numbers; i += 512) ++block[i];
  }
  return 0;
}
"""

# A run with 2 MiB of swap for 12 MiB that are too many.
FULL = """
import sys
from pathlib import Path
from nearfar.memories.paged.group import find_group_parent
from nearfar.memories.paged.ledger import open_ledger
from nearfar.memories.paged.set_up import set_up
from nearfar.memories.spec import parse_spec
from nearfar.program.launch import Job
from nearfar.run.paged_run import run_limited
with open_ledger() as ledger:
    set_up(ledger, parse_spec("zram", paged=True), 2 << 20)
    run = run_limited(ledger, find_group_parent(), 4 << 20, Job(sys.argv[1:]), Path(sys.argv[1]))
sys.exit(0 if run.ended.failed else 1)
"""


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with swap_alone():
        yield tmp_path / "cache/nearfar/paged"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    source, built = tmp_path / "touches.c", tmp_path / "touches"
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-O1", str(source), "-o", str(built)], check=True)
    return built


def machine(program: Path) -> tuple[set[str], set[str], set[str], set[str]]:
    """Return swap, zram devices, groups of nearfar, and processes of `program`."""
    running = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and os.access(process / "exe", os.R_OK):
            try:
                if process.joinpath("exe").readlink() == program:
                    running.add(process.name)
            except OSError:
                continue
    swaps = Path("/proc/swaps").read_text().splitlines()[1:]
    return (
        {line.split()[0] for line in swaps},
        {path.name for path in Path("/sys/block").glob("zram*")},
        {path.name for path in find_group_parent().parent.glob("nearfar-*")},
        running,
    )


def limited(program: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a run with half of what the program touches near."""
    run = [sys.executable, "-m", "nearfar", "run", "--far", "zram", "--near", "8MiB", "--yes", "-q"]
    return subprocess.Popen(
        [*run, "--", str(program), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    return process.wait(timeout=patience(60))


def signalled(number: signal.Signals) -> Callable[[Path, float], None]:
    """Return a run that gets this signal after some seconds."""

    def run(program: Path, after_s: float) -> None:
        process = limited(program)
        time.sleep(after_s)
        process.send_signal(number)
        ended(process)

    return run


def program_killed(program: Path, after_s: float) -> None:
    process = limited(program)
    begun = time.monotonic()
    while process.poll() is None:
        if time.monotonic() - begun > after_s:
            for pid in machine(program)[3]:
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.02)
    ended(process)


def too_low(program: Path, _after_s: float) -> None:
    assert ended(limited(program, "lock")) != 0


def swap_full(program: Path, _after_s: float) -> None:
    assert ended(subprocess.Popen([sys.executable, "-c", FULL, str(program)])) == 0


WAYS = {
    "nearfar killed": (signalled(signal.SIGKILL), 40),
    "interrupted": (signalled(signal.SIGINT), 10),
    "terminated": (signalled(signal.SIGTERM), 10),
    "program killed": (program_killed, 20),
    "limit below what is locked": (too_low, 10),
    "swap full": (swap_full, 10),
}


@permitted
@pytest.mark.long
def test_after_a_hundred_bad_ends_the_machine_is_as_before(program: Path, journals: Path) -> None:
    before = machine(program)
    begun = time.monotonic()
    assert ended(limited(program)) == 0
    whole_s = time.monotonic() - begun
    runs, cleared = 0, 0
    for way, (run, times) in WAYS.items():
        for number in range(times):
            run(program, whole_s * (number + 0.5) / times)
            runs += 1
            if way == "nearfar killed":  # the next start undoes what it left
                cleared += undo_dead(journals)
            assert machine(program) == before, f"{way}, run {number}"
            assert list(journals.iterdir()) == [], f"{way}, run {number}"
    assert runs == 100
    assert cleared > 10, "most were killed before or after the set-up"
