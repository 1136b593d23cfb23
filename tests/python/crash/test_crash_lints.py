"""Lints: a lint is one file with everything that reports say about it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nearfar
from nearfar.crash.lints._registry import Lint, lints, meaning, reported_when

PACKAGE = Path(nearfar.__file__).parent
PITFALLS = Path(__file__).parents[3] / "examples" / "pitfalls"
NEW_LINT = '''"""Operations that begin."""

from nearfar.crash.lints._registry import Lint, register
from nearfar.crash.trace import EventKind


@register
class OperationBegun(Lint):
    """An operation that begins.

    The program marked that an operation starts.
    """

    kind = "operation begun"
    severity = "note"

    def feed(self, event):
        """Take one event."""
        if event.kind is EventKind.BEGIN:
            yield self.finding(event.a, event.stack, "it has begun")
'''
SCRIPT = """
import json, sys
# An editable install finds the modules of the checkout before those of the copy.
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
sys.path.insert(0, {folder!r})
import nearfar
assert nearfar.__file__.startswith({folder!r})
from crash import test_crash_forms as forms
from crash.test_crash_leaks import TraceEvent, trace_of
from nearfar.crash.lint_trace import lints_of
from nearfar.crash.report.junit import junit
from nearfar.crash.report.page import page
from nearfar.crash.report.sarif import sarif
from nearfar.crash.symbols import TraceSymbols
from nearfar.crash.trace import EventKind

trace = trace_of([TraceEvent(EventKind.BEGIN, 1, 0, (0x1010,), b"")])
reported, _ = lints_of(trace, TraceSymbols(trace))
assert [lint.kind for lint in reported] == ["operation begun"], reported
report = forms.report([])
report.lints[:] = reported
(run,) = json.loads(sarif(report))["runs"]
(rule,) = [r for r in run["tool"]["driver"]["rules"] if r["id"] == "operation-begun"]
assert rule["shortDescription"]["text"] == "An operation that begins."
assert run["results"][0]["level"] == "note"
assert 'classname="crash.slow"' in junit(report)
assert "An operation that begins." in page(report)
"""


@pytest.mark.parametrize("lint", lints(), ids=lambda lint: lint.kind)
def test_a_lint_has_an_explanation_and_names_its_pitfall(lint: type[Lint]) -> None:
    assert meaning(lint).endswith(".")
    assert reported_when(lint)
    rows = tomllib.loads((PITFALLS / "pitfalls.toml").read_text())
    assert lint.kind in rows[lint.pitfall]["expect"]


def test_causes_are_ranked() -> None:
    assert sorted(lint.explains for lint in lints() if lint.explains) == [1, 2, 3, 4, 5, 6]


def test_a_lint_is_added_by_writing_one_file(tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns("__pycache__", "*.so", "lib", "include")
    shutil.copytree(PACKAGE, tmp_path / "nearfar", ignore=skipped)
    for folder in ("lib", "include"):
        if (PACKAGE / folder).exists():
            (tmp_path / "nearfar" / folder).symlink_to((PACKAGE / folder).resolve())
    for library in PACKAGE.glob("*.so"):
        (tmp_path / "nearfar" / library.name).symlink_to(library.resolve())
    (tmp_path / "nearfar/crash/lints/operation_begun.py").write_text(NEW_LINT)
    script = SCRIPT.format(folder=str(tmp_path))
    tests = Path(__file__).parents[1]
    process = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tests)!r})\n{script}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
