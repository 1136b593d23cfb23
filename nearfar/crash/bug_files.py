"""Files with the image of a bug, and its replay from them."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.base.files import atomic_path
from nearfar.base.units import PAGE_BYTES
from nearfar.crash.adapters.oracle import judge_content
from nearfar.crash.bugs import FoundBug
from nearfar.crash.checker import (
    KEPT_BYTES,
    Check,
    CheckerVerdict,
    filled,
    parse,
    run_once,
    variables,
)
from nearfar.crash.files.replay import replay_files
from nearfar.crash.record import MAX_POOL_BYTES, environment
from nearfar.crash.scratch import check_free_space, scratch
from nearfar.documents.crash_report import CrashReport, CrashState
from nearfar.documents.header import load, save

_MAX_DUMP_BYTES = 64 << 20


def write_states(
    report: CrashReport,
    bugs: list[FoundBug],
    folder: Path,
    timeout_s: float,
    checks: Sequence[Check] = (),
) -> None:
    """Write ``bug-N.json`` for each bug into `folder`, and note the path in the report's bugs.

    The files of an earlier report in the folder are removed.
    """
    _remove_others(folder, {found_bug.bug.id for found_bug in bugs})
    if bugs:
        folder.mkdir(parents=True, exist_ok=True)
    for found_bug in bugs:
        path = folder / f"bug-{found_bug.bug.id}.json"
        found_bug.bug.replay = str(path)
        state = CrashState(
            producer=report.producer,
            bug=found_bug.bug,
            check=report.check,
            more_checks=[check.command for check in checks[1:] if not check.oracle],
            dump=next((check.command for check in checks if check.oracle), ""),
            expected=found_bug.expected,
            timeout_s=timeout_s,
            done=found_bug.done,
            begun=found_bug.begun,
            in_flight=list(found_bug.in_flight),
            pool_bytes=report.pool_bytes,
            pages=found_bug.pages,
            files=found_bug.files,
            printed=found_bug.printed,
        )
        save(state, path)


def _remove_others(folder: Path, numbers: set[int]) -> None:
    """Remove an earlier report's files except those of `numbers`; other files stay."""
    removed = False
    for path in folder.glob("bug-*.json"):
        number = re.fullmatch(r"bug-([1-9][0-9]*)\.json", path.name)
        if number is None or int(number[1]) in numbers or not path.is_file() or path.is_symlink():
            continue
        try:
            load(path, CrashState)
        except NearfarError:
            continue  # not written by a report
        path.unlink(missing_ok=True)
        removed = True
    if removed and not numbers:
        with contextlib.suppress(OSError):  # it has other files
            folder.rmdir()


def replay(state: CrashState, *, check: str | None, keep: Path | None) -> CheckerVerdict:
    """Rebuild the image, copy it to `keep` if given, and run the checker on it."""
    if state.files is not None:
        return replay_files(state, state.files, check=check, keep=keep)
    with scratch() as folder:
        pool = folder / "state"
        _rebuild(state, pool)
        if keep is not None:
            with atomic_path(keep) as path:
                shutil.copyfile(pool, path)
        if check is not None:
            return _run(state, check, pool)
        # Each check gets the image as the power left it, in the order of the exploration.
        for command in [state.check, *state.more_checks]:
            if command != state.dump and (verdict := _run(state, command, pool)).symptom:
                return verdict
            _rebuild(state, pool)
        if state.expected is None:
            return CheckerVerdict("", "")
        dumped = _run(state, state.dump, pool, kept_bytes=_MAX_DUMP_BYTES)
        return judge_content(state.expected, dumped)


def _run(
    state: CrashState, check: str, pool: Path, *, kept_bytes: int = KEPT_BYTES
) -> CheckerVerdict:
    return run_once(
        parse(check),
        pool,
        (state.done, state.begun, *state.in_flight),
        state.timeout_s,
        environment(),
        kept_bytes=kept_bytes,
    )


def debug(state: CrashState, *, debugger: str, check: str | None, keep: Path | None) -> int:
    """Run the checker on the rebuilt image under a debugger, at this terminal; return its code."""
    path = shutil.which(debugger)
    if path is None:
        raise CommandError(
            f"the debugger {debugger} is not installed: install it, or name another by --debugger",
            ExitCode.MACHINE_LACKS,
        )
    if state.files is not None:
        raise CommandError(
            "--debugger is for pools: keep the files by --keep FOLDER, and run the checker there"
        )
    with scratch() as folder:
        pool = keep if keep is not None else folder / "state"
        _rebuild(state, pool)
        command = parse(check or state.check)
        operations = (state.done, state.begun, *state.in_flight)
        words = filled(command, pool.resolve(), operations)
        # For the checker only: the debugger keeps its environment.
        settings = variables(command, pool.resolve(), operations)
        sets = [
            word for name, value in settings.items() for word in ("-ex", f"set env {name} {value}")
        ]
        sets += ["-ex", "set startup-with-shell off"]
        started = [path, *sets, "--args", *words]
        return subprocess.run(started, env=environment(), check=False).returncode


def _rebuild(state: CrashState, path: Path) -> None:
    """Write the image as a sparse file."""
    if not 0 < state.pool_bytes <= MAX_POOL_BYTES:
        raise NearfarError(f"a pool has 1 to {MAX_POOL_BYTES} bytes, not {state.pool_bytes}")
    check_free_space(path.parent, PAGE_BYTES * len(state.pages))
    with path.open("wb") as file:
        for page in state.pages:
            try:
                content = zlib.decompress(page.content)
            except zlib.error as error:
                raise NearfarError(f"the page at {page.offset} cannot be read: {error}") from error
            if len(content) != PAGE_BYTES or not 0 <= page.offset < state.pool_bytes:
                raise NearfarError(f"the page at {page.offset} does not fit the pool")
            file.seek(page.offset)
            file.write(content)
        file.truncate(state.pool_bytes)
