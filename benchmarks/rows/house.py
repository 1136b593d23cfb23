"""Size of the code, rules, and start-up time of the API and the help."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

from benchmarks import Row, alternate, make_row, wall_seconds

SECONDS = 15

ROOT = Path(__file__).parents[2]
NATIVE = (".c", ".cpp", ".h", ".hpp")
CORE = ("nearfar/", "native/", "include/")
RUNS = 9
IMPORT_MS, HELP_MS = 150, 300
CORE_LINES, ALL_LINES, MEDIAN_LINES, FILE_LINES = 80_000, 100_000, 120, 400


def rows() -> list[Row]:
    """Count lines and broken rules; time the import and the help."""
    lengths = {name: count for name, count in _lengths().items() if "/tests/" not in name}
    core = [count for name, count in lengths.items() if name.startswith(CORE)]
    python = [count for name, count in lengths.items() if name.endswith(".py")]
    broken = _broken_rules()
    counted = "git ls-files nearfar native include companions | xargs wc -l"
    checked = "make lint"

    def row(name: str, value: float, unit: str, bar: float, command: str) -> Row:
        return make_row(name, value, unit, bar=bar, peer="", command=command)

    return [
        row("lines of the core, Python and native", sum(core), "lines", CORE_LINES, counted),
        row("lines of core and companions", sum(lengths.values()), "lines", ALL_LINES, counted),
        row("median Python file", statistics.median(python), "lines", MEDIAN_LINES, counted),
        row("longest Python file", max(python), "lines", FILE_LINES, counted),
        row("public classes of one name", broken["class-name"], "", 0, checked),
        row("docstrings that start with Of, What, Who", broken["docstring-start"], "", 0, checked),
        row("functions above 60 lines", broken["function-length"], "", 0, checked),
        row("functions of complexity above 15", broken["C901"], "", 0, checked),
        row("imports against the order of packages", broken["imports"], "", 0, checked),
        *_start_up(),
    ]


def _lengths() -> dict[str, int]:
    """Return the lines of each source file that git tracks; links are not followed."""
    folders = ["nearfar", "native", "include", "companions"]
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [name for name in listed.stdout.splitlines() if name.endswith((".py", *NATIVE))]
    return {
        name: (ROOT / name).read_text().count("\n")
        for name in files
        if not (ROOT / name).is_symlink()
    }


def _broken_rules() -> Counter[str]:
    """Return the number of violations of each rule of check_house."""
    broken: Counter[str] = Counter()
    house = _run("scripts/check_house.py", "--count").stderr
    for line in house.splitlines():
        count, rule = line.split()
        broken[rule] = int(count)
    ruff = ["-m", "ruff", "check", "--select", "C901", "--output-format", "concise"]
    broken["C901"] = _run(*ruff, "nearfar", "companions").stdout.count("C901")
    order = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    broken["imports"] = int(_run("-c", order).returncode != 0)
    return broken


def _start_up() -> list[Row]:
    def bare() -> None:
        _run("-c", "pass")

    def api() -> None:
        _run("-c", "import nearfar.api")

    def help_text() -> None:
        _run("-m", "nearfar", "--help")

    variants = [lambda run=run: wall_seconds(run) * 1e3 for run in (bare, api, help_text)]
    python_ms, api_ms, help_ms = map(statistics.median, alternate(variants, RUNS))
    return [
        make_row(
            "import nearfar.api, interpreter left out",
            api_ms - python_ms,
            "ms",
            bar=IMPORT_MS,
            peer="starting Python",
            peer_value=python_ms,
            command="python -X importtime -c 'import nearfar.api'",
        ),
        make_row(
            "nearfar --help",
            help_ms,
            "ms",
            bar=HELP_MS,
            peer="starting Python",
            peer_value=python_ms,
            command="time nearfar --help",
        ),
    ]


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
