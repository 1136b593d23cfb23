"""Runs nearfar in processes that begin with its modules imported: a start takes 0.3 to 1 s of CPU.

The process that they are copied from starts at the first call and imports nothing of the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nearfar.__main__ import main

_COPIES = multiprocessing.get_context("forkserver")
PRELOADED = [
    *(f"nearfar.{name}.api" for name in ("compare", "place", "predict", "profile", "run")),
    *("nearfar.measure.measure", "nearfar.report.api", "nearfar.report.render"),
    *("nearfar.profile.compiler.driver", "nearfar.profile.sources.qemu", "scipy.stats"),
    *("cyclopts", "jinja2", "pyarrow.parquet", "rich.console", "rich.table"),
]
_COPIES.set_forkserver_preload(PRELOADED)


def nearfar(
    *words: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run nearfar in a session of its own, without input.

    `env` replaces the environment. What an interpreter reads of it when it starts, such as
    `PYTHONPATH` and `LD_PRELOAD`, is that of the first call, and so are limits and the umask.
    """
    command = ["nearfar", *map(str, words)]
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder, "out"), Path(folder, "err")
        begin = (command, outputs, cwd or Path.cwd(), dict(os.environ if env is None else env))
        process = _COPIES.Process(target=_run, args=begin)
        process.start()
        try:
            process.join(timeout)
        finally:
            ended = process.exitcode is not None
            if not ended:
                _kill(process.pid)
            process.join()
        texts = [output.read_text(errors="replace") for output in outputs]
    if not ended:
        raise subprocess.TimeoutExpired(command, timeout or 0.0, *texts)
    assert not (check and process.exitcode), texts[1]
    return subprocess.CompletedProcess(command, process.exitcode or 0, *texts)


def _kill(number: int | None) -> None:
    """Kill a process that has not ended, with its group."""
    assert number is not None
    for kill in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError):
            kill(number, signal.SIGKILL)


def _run(command: list[str], outputs: tuple[Path, Path], cwd: Path, env: dict[str, str]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, path in enumerate([Path(os.devnull), *outputs]):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = command
    try:
        code = main()
    finally:
        atexit._run_exitfuncs()
    sys.exit(code)
