"""Optional dependencies of nearfar: companions, and what developers and the docs need.

scikit-build-core calls this when it builds nearfar. In a checkout a companion is the folder beside
this one, so that `pip install '.[all]'` installs everything; with NEARFAR_RELEASE set, companions
are named as an index knows them. `companion_extras.py core|run|test` prints what set-up installs.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COMPANIONS = ("bench", "imports", "like", "studies")
NEEDS = {"studies": ("bench",)}
"""Companions that a companion needs."""

OTHERS = {
    "dev": [
        "hypothesis>=6.100",
        "import-linter>=2",  # the order of packages
        "mypy>=1.13",
        "playwright>=1.45",
        "polars>=1.0",  # reads a sweep's dataset, as users do
        "pre-commit>=3.5",
        "pytest>=8",
        "pytest-rerunfailures>=14",  # reruns tests marked `timing` on a shared machine
        "pytest-timeout>=2.3",
        "pytest-xdist>=3.6",  # one test file per core at a time
        "ruff>=0.8",
        "scipy-stubs>=1.11",
        "vulture>=2.11",  # dead code
    ],
    "docs": [
        "furo>=2024.8",  # the site's theme: no fonts or scripts from elsewhere
        "myst-parser>=4",  # pages in Markdown, readable where the sources are read too
        "sphinx>=8",  # site and man pages from the same pages
    ],
}


def dynamic_metadata(
    field: str,
    settings: Mapping[str, Any] | None = None,
    project: Mapping[str, Any] | None = None,
) -> dict[str, list[str]]:
    """Return the extras by name."""
    del field, settings, project
    extras = {
        name: [_requirement(part) for part in (name, *NEEDS.get(name, ()))] for name in COMPANIONS
    }
    return {**extras, "all": [_requirement(name) for name in COMPANIONS], **OTHERS}


def _requirement(name: str) -> str:
    folder = Path(__file__).parent.parent / "companions" / name
    if os.environ.get("NEARFAR_RELEASE") or not folder.is_dir():
        return f"nearfar-{name}"
    return f"nearfar-{name} @ {folder.resolve().as_uri()}"


def requirements(what: str) -> list[str]:
    """Return what set-up installs beside nearfar and its companions."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    core: list[str] = tomllib.loads(text)["project"]["dependencies"]
    return [*core, *(OTHERS["dev"] if what == "test" else [])]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
