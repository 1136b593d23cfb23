"""The store of --learn: one JSON line per result, only ever appended."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.files import cannot_write, read_bytes
from nearfar.documents import load
from nearfar.documents.validation import KernelResult, Session, ValidationReport

VERSION = 1


class StoredResult(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One result and its session: a line of the store."""

    version: int = VERSION
    session: Session
    result: KernelResult


def default_store() -> Path:
    """Return the file in the user's data folder (XDG_DATA_HOME)."""
    home = os.environ.get("XDG_DATA_HOME") or ""
    base = Path(home) if home.startswith("/") else Path.home() / ".local" / "share"
    return base / "nearfar" / "validation.jsonl"


def prepare_store(path: Path) -> None:
    """Create the store, so that results can be written once they are measured."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
    except OSError as error:
        raise cannot_write(path, error) from error


def append(path: Path, session: Session, result: KernelResult) -> None:
    """Add one result by a single write to the file's end, so that two writers do not mix."""
    line = msgspec.json.encode(StoredResult(session=session, result=result)) + b"\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise cannot_write(path, error) from error


def read_results(paths: Iterable[Path]) -> tuple[list[Session], list[KernelResult]]:
    """Return all sessions and results of stores and reports, each once."""
    sessions: dict[str, Session] = {}
    results: dict[tuple[str, str], KernelResult] = {}
    for path in paths:
        for session, result in _read(path):
            sessions[session.id] = session
            results[result.session, result.name] = result
    return list(sessions.values()), list(results.values())


def _read(path: Path) -> list[tuple[Session, KernelResult]]:
    data = read_bytes(path, "validation results")
    if not data.strip():
        raise NearfarError(f"{path} is empty: `nearfar validate --learn` fills a store")
    if not data.startswith(b'{"version":'):
        report = load(path, ValidationReport)
        by_id = {session.id: session for session in report.sessions}
        return [(by_id[result.session], result) for result in report.results]
    results = []
    # A last line without newline was interrupted while it was written: it is skipped.
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            stored = msgspec.json.decode(line, type=StoredResult)
        except msgspec.DecodeError as error:
            raise NearfarError(f"cannot read {path}, line {number}: {error}") from error
        if stored.version != VERSION:
            raise NearfarError(
                f"{path}, line {number}, has version {stored.version}; this nearfar reads version "
                f"{VERSION}"
            )
        results.append((stored.session, stored.result))
    return results
