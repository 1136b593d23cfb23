"""The files that show a bug again, and showing it."""

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
from nearfar.crash.bugs import Found
from nearfar.crash.checker import (
    KEPT_BYTES,
    Check,
    Verdict,
    filled,
    parse,
    run_once,
    variables,
)
from nearfar.crash.record import MOST_POOL_BYTES, environment
from nearfar.crash.room import check_room, scratch
from nearfar.documents.crash_report import CrashReport, CrashState
from nearfar.documents.header import load, save

_DUMP_KEPT_BYTES = 64 << 20


def write_states(
    report: CrashReport,
    found: list[Found],
    folder: Path,
    timeout_s: float,
    checks: Sequence[Check] = (),
) -> None:
    """Write ``bug-N.json`` for each bug into `folder`, and say so in the report's bugs.

    Those of an earlier report there, which this one replaces, are removed.
    """
    _remove_others(folder, {one.bug.id for one in found})
    if found:
        folder.mkdir(parents=True, exist_ok=True)
    for one in found:
        path = folder / f"bug-{one.bug.id}.json"
        one.bug.replay = str(path)
        state = CrashState(
            producer=report.producer,
            bug=one.bug,
            check=report.check,
            more_checks=[one.command for one in checks[1:] if not one.oracle],
            dump=next((one.command for one in checks if one.oracle), ""),
            expected=one.expected,
            timeout_s=timeout_s,
            done=one.done,
            begun=one.begun,
            in_flight=list(one.in_flight),
            pool_bytes=report.pool_bytes,
            pages=one.pages,
        )
        save(state, path)


def _remove_others(folder: Path, numbers: set[int]) -> None:
    """Remove an earlier report's files but those to be written over; what else is there stays."""
    removed = False
    for path in folder.glob("bug-*.json"):
        number = re.fullmatch(r"bug-([1-9][0-9]*)\.json", path.name)
        if number is None or int(number[1]) in numbers or not path.is_file() or path.is_symlink():
            continue
        try:
            load(path, CrashState)
        except NearfarError:
            continue  # nothing that a report wrote
        path.unlink(missing_ok=True)
        removed = True
    if removed and not numbers:
        with contextlib.suppress(OSError):  # other files are in it
            folder.rmdir()


def replay(state: CrashState, *, check: str | None, keep: Path | None) -> Verdict:
    """Rebuild the image, keep a copy of it if asked for, and run the checker on it."""
    with scratch() as folder:
        pool = folder / "state"
        _rebuild(state, pool)
        if keep is not None:
            with atomic_path(keep) as path:
                shutil.copyfile(pool, path)
        if check is not None:
            return _run(state, check, pool)
        # Each on an image as the power left it, in the order in which they found the bug.
        for command in [state.check, *state.more_checks]:
            if command != state.dump and (verdict := _run(state, command, pool)).symptom:
                return verdict
            _rebuild(state, pool)
        if state.expected is None:
            return Verdict("", "")
        dumped = _run(state, state.dump, pool, kept_bytes=_DUMP_KEPT_BYTES)
        return judge_content(state.expected, dumped)


def _run(state: CrashState, check: str, pool: Path, *, kept_bytes: int = KEPT_BYTES) -> Verdict:
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
            f"there is no {debugger} here: install it, or name another by --debugger",
            ExitCode.MACHINE_LACKS,
        )
    with scratch() as folder:
        pool = keep if keep is not None else folder / "state"
        _rebuild(state, pool)
        command = parse(check or state.check)
        operations = (state.done, state.begun, *state.in_flight)
        words = filled(command, pool.resolve(), operations)
        # Not in the debugger's own environment: it is no checker.
        settings = variables(command, pool.resolve(), operations)
        sets = [
            word for name, value in settings.items() for word in ("-ex", f"set env {name} {value}")
        ]
        sets += ["-ex", "set startup-with-shell off"]
        started = [path, *sets, "--args", *words]
        return subprocess.run(started, env=environment(), check=False).returncode


def _rebuild(state: CrashState, path: Path) -> None:
    """Write the image; what is zero in it takes no room."""
    if not 0 < state.pool_bytes <= MOST_POOL_BYTES:
        raise NearfarError(f"a pool of {state.pool_bytes} bytes is not one that nearfar explores")
    check_room(path.parent, PAGE_BYTES * len(state.pages))
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
