"""The trees of tests/machines, for the tests of this folder."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parents[2] / "machines"
sys.path.insert(0, str(HERE))

from goldens import answers  # noqa: E402
from manifest import expand  # noqa: E402

NAMES = sorted(path.stem for path in HERE.glob("*.tree"))

__all__ = ["HERE", "NAMES", "answers", "expand", "make"]


def make(name: str, root: Path) -> Path:
    """Expand tree `name` into `root` and return it."""
    expand((HERE / f"{name}.tree").read_text(), root)
    return root
