"""Runs every check in the order of their names and prints what each found (TAP).

Each runs in a child of this process, which has imported nearfar's verbs: under an emulated
processor importing them takes longer than what most checks do.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from guest import SkipCheckError

from nearfar.__main__ import main as nearfar_main

CHECKS = Path("/payload/checks")
LOG = Path("/tmp/log")
LIMIT_S = 200
"""Of one check; the longest takes a tenth of it on a quiet machine."""
SKIPPED = 77


def main() -> None:
    """Run them all."""
    names = sorted(path.stem for path in CHECKS.glob("[0-9]*.py"))
    nearfar_main(["--version"])  # Its output is a comment; what it imports stays.
    for module in imports(names):
        importlib.import_module(module)
    for number, name in enumerate(names, start=1):
        began = time.monotonic()
        status = run(name)
        text = LOG.read_text(errors="replace")
        last = (text.strip().splitlines() or [""])[-1]
        if status == 0:
            print(f"ok {number} - {name}")
        elif status == SKIPPED:
            print(f"ok {number} - {name} # SKIP {last}")
        else:
            print(f"not ok {number} - {name} # status {status}")
        print(f"# it took {time.monotonic() - began:.1f} s")
        print("\n".join(f"# {line}" for line in text[-6000:].splitlines()), flush=True)
    print(f"1..{len(names)}", flush=True)


def imports(names: list[str]) -> list[str]:
    """Return what the checks called so import: once here, not in each of their children."""
    found = ["nearfar.commands.machine", "nearfar.machine.check", "nearfar.machine.convert.convert"]
    if any(name >= "60" for name in names):
        found += ["nearfar.profile.options", "nearfar.run.api"]
    return found


def run(name: str) -> int:
    """Run one check in a child and return its status."""
    child = os.fork()
    if child == 0:
        os._exit(body(name))
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(LIMIT_S)
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    return os.waitstatus_to_exitcode(status)


def body(name: str) -> int:
    """Be the child: everything it and its children print goes to the log."""
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir("/tmp")
    faulthandler.dump_traceback_later(LIMIT_S - 5, file=2)  # where it hangs, before it is ended
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    try:
        spec = importlib.util.spec_from_file_location(f"check_{name}", CHECKS / f"{name}.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.check()
    except SkipCheckError as reason:
        print(reason, flush=True)
        return SKIPPED
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


main()
