"""Programs with unusual use of their pool are explored, with the expected warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from crash.crash_programs import built, explore

from nearfar.crash.record import record
from nearfar.crash.trace import EventKind


@pytest.mark.parametrize(
    ("way", "bugs", "warning"),
    [
        ("large", 0, ""),
        ("ends-in-the-middle", 0, ""),
        ("crashes", 0, "was killed by SIGSEGV"),
        ("never-flushes", 1, "no fence was seen"),
        ("maps-twice", 0, ""),
        ("maps-elsewhere", 0, ""),
        ("remaps", 0, ""),
        ("writes", 0, "by system calls"),
        ("writes-without-fsync", 1, "by system calls"),
        ("forks", 0, "its children's stores count"),
        ("forks-without-flush", 1, "its children's stores count"),
        ("execs", 0, "several processes had the pool at once"),
        ("reads-into", 0, ""),
        ("reads-by-stdio", 0, ""),
        ("blocks-signals", 0, ""),
        ("writes-after-unmapping", 0, "no recorded store wrote"),
        ("stores-wide", 1, ""),
        ("swaps-wide", 0, ""),
        ("fences-for-another", 1, "waited for another"),
    ],
)
def test_a_program_with_unusual_use_is_explored(
    way: str, bugs: int, warning: str, tmp_path: Path
) -> None:
    program = str(built("crash_odd"))
    report = explore(tmp_path, f"{program} {{pool}} check", [program, "{pool}", way])
    assert len(report.bugs) == bugs
    assert report.complete
    assert warning in " ".join(report.warnings)
    if not warning:
        assert not report.warnings


def test_recorded_stores_change_what_they_change_elsewhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = str(built("crash_stores", "-mno-red-zone"))
    pool = tmp_path / "pool"
    recorded = record([program, str(pool)], pool, tmp_path / "trace", json=True)
    assert not recorded.failed, capfd.readouterr().err
    assert recorded.trace.counts[EventKind.STORE] > 40
