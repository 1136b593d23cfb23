"""Kinds of access that no judged kernel has appear in the columns that models expect."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import nearfar
from patience import patience

from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder
from nearfar.predict import traffic as t
from nearfar.predict.phases import phases_of
from nearfar.predict.traffic import PhaseTraffic, misses, write_backs

SOURCE = Path(__file__).parent / "kinds/kinds.c"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PhaseTraffic]:
    folder = tmp_path_factory.mktemp("kinds")
    program, profile = folder / "kinds", folder / "kinds.json"
    nearfar("cc", "-O2", f"-I{include_folder()}", SOURCE, "-o", program, check=True)
    options = ["--llc", "1MiB", "--repetitions", "1", "--quiet", "-o", profile]
    nearfar("profile", *options, "--", program, check=True, timeout=patience(120))
    return {phase.name: phase for phase in phases_of(load(profile, WorkloadProfile))}


@pytest.mark.parametrize(
    ("kind", "columns", "least"),
    [
        ("sum", [t.STREAM], 0.9),
        ("stencil", [t.STREAM, t.STORE_STREAM], 0.9),
        ("partition", [t.STREAM, t.STORE_STREAM], 0.9),
        ("read-modify-write", [t.INDEPENDENT], 0.7),
        ("scatter", [t.STORE], 0.7),
        ("computed gather", [t.INDEPENDENT], 0.7),
        ("computed chase", [t.CHASE], 0.9),
        # The compiler decides by a branch or a move whether probes wait for each other: near time
        # shows which, as long as they are loads and no stream.
        ("branchless search", [t.CHASE, t.INDEPENDENT], 0.7),
    ],
)
def test_misses_have_their_kind(
    found: dict[str, PhaseTraffic], kind: str, columns: list[int], least: float
) -> None:
    total = found[kind].total
    assert sum(total[column] for column in columns) >= least * misses(total)


def test_stored_lines_are_written_back(found: dict[str, PhaseTraffic]) -> None:
    for kind in ("read-modify-write", "scatter"):
        total = found[kind].total
        stored = total[t.STORE] + total[t.INDEPENDENT]
        assert 0.5 * stored <= write_backs(total) <= 1.5 * stored


def test_a_stream_touches_each_line_once(found: dict[str, PhaseTraffic]) -> None:
    lines = (1 << 21) * 8 / 64
    assert misses(found["sum"].total) == pytest.approx(lines, rel=0.05)
