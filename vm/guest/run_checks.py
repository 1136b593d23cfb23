"""Runs every check and prints what each found (TAP), then how long each took.

Each runs in a child of this process, which has imported nearfar's verbs: under an emulated
processor importing them takes longer than what most checks do. Checks follow each other in the
order of their names, but for two kinds that say so by a name of theirs:

- `BESIDE = True`: uses node 1 only, and not all of it; it runs from the start, beside the others,
  for the guest has two processors and most checks use one.
- `ALONE = True`: minds what others do; it waits until all others have ended.

A check with a function `check_after_reboot` has left something for the boot loader: the guest boots
once more, and these functions are what runs then.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from guest import SkipCheckError

from nearfar.__main__ import main as nearfar_main

CHECKS = Path("/payload/checks")
LOGS = Path("/tmp/checks")
LIMIT_S = 200 * float(os.environ.get("NEARFAR_MACHINE_FACTOR", "1"))
"""Time-out of a check; the longest takes a fifth of it on a quiet machine. The factor is a word of
the kernel's command line, which has it in its first process' environment."""
SKIPPED = 77
GRUB = Path("/boot/grub/grub.cfg")
SECOND_BOOT = os.environ.get("NEARFAR_BOOT") == "2"
"""Whether the guest boots once more; also a word of the kernel's command line."""


@dataclass(frozen=True)
class Check:
    """One file of `checks`."""

    name: str
    module: ModuleType | None
    """None: importing it failed, which its log tells."""

    @property
    def folder(self) -> Path:
        """Where it runs: those that run at once do not share files."""
        return LOGS / self.name

    def says(self, word: str) -> bool:
        """Return whether the file has this set."""
        return bool(getattr(self.module, word, False))


@dataclass(frozen=True)
class Begun:
    """A check under way."""

    check: Check
    child: int
    at_s: float


def main() -> None:
    """Run them all."""
    names = sorted(path.stem for path in CHECKS.glob("[0-9]*.py"))
    if SECOND_BOOT:
        names = [name for name in names if "check_after_reboot" in source(name)]
    began = time.monotonic()
    nearfar_main(["--version"])  # Its output is a comment; what it imports stays.
    for module in imports(names):
        importlib.import_module(module)
    checks = [opened(name) for name in names]
    # Seconds since the kernel's start, and the part of it that is Python's.
    print(f"# ready {began:.1f} s after the kernel, imports {time.monotonic() - began:.1f} s")
    took: dict[str, float] = {}
    beside = [start(check) for check in checks if check.says("BESIDE")]
    for check in checks:
        if not check.says("BESIDE") and not check.says("ALONE"):
            end(start(check), took)
    for begun in beside:
        end(begun, took)
    for check in checks:
        if check.says("ALONE"):
            end(start(check), took)
    print("# seconds of each check (those beside others at once with them):")
    for name in sorted(took, key=lambda name: -took[name]):
        print(f"# {took[name]:7.1f} {name}")
    if not SECOND_BOOT and GRUB.exists():
        options = re.sub(r"^linux \S+", "", GRUB.read_text().strip())
        print(f"# boot again: {options.strip()}")
    print(f"1..{len(names)}", flush=True)


def source(name: str) -> str:
    """Return a check's text."""
    return (CHECKS / f"{name}.py").read_text()


def imports(names: Sequence[str]) -> list[str]:
    """Return what the checks called so import: once here, not in each of their children."""
    found = ["nearfar.commands.machine", "nearfar.machine.check", "nearfar.machine.convert.convert"]
    if any(re.search("planned|nearfar.run|measure", source(name)) for name in names):
        found += ["nearfar.profile.options", "nearfar.run.api"]
    return found


def opened(name: str) -> Check:
    """Import a check."""
    check = Check(name, None)
    check.folder.mkdir(parents=True)
    spec = importlib.util.spec_from_file_location(f"check_{name}", CHECKS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception:
        (check.folder / "log").write_text(traceback.format_exc())
        return check
    return Check(name, module)


def start(check: Check) -> Begun:
    """Begin a check in a child."""
    sys.stdout.flush()
    now = time.monotonic()
    child = os.fork()
    if child == 0:
        status = body(check)
        (check.folder / "took").write_text(f"{time.monotonic() - now}")
        os._exit(status)
    return Begun(check, child, now)


def end(begun: Begun, took: dict[str, float]) -> None:
    """Wait for a check and print what it found."""
    name = begun.check.name
    said = f"{name} after the reboot" if SECOND_BOOT else name
    status = wait(begun)
    ended = begun.check.folder / "took"
    took[name] = float(ended.read_text()) if ended.exists() else time.monotonic() - begun.at_s
    text = (begun.check.folder / "log").read_text(errors="replace")
    last = (text.strip().splitlines() or [""])[-1]
    if status == 0:
        print(f"ok {len(took)} - {said}")
    elif status == SKIPPED:
        print(f"ok {len(took)} - {said} # SKIP {last}")
    else:
        print(f"not ok {len(took)} - {said} # status {status}")
    print(f"# it took {took[name]:.1f} s")
    print("\n".join(f"# {line}" for line in text[-6000:].splitlines()), flush=True)


def wait(begun: Begun) -> int:
    """Return a check's status; it is killed when its time is over."""
    left = LIMIT_S - (time.monotonic() - begun.at_s)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(begun.child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, max(left, 0.1))
    _, status = os.waitpid(begun.child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return os.waitstatus_to_exitcode(status)


def body(check: Check) -> int:
    """Be the child: everything it and its children print goes to the log."""
    if check.module is None:
        return 1
    os.chdir(check.folder)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.dump_traceback_later(LIMIT_S - 5, file=2)  # where it hangs, before it is ended
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    try:
        (check.module.check_after_reboot if SECOND_BOOT else check.module.check)()
    except SkipCheckError as reason:
        print(reason, flush=True)
        return SKIPPED
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


main()
