"""A study's picture as a file, with its caption under it."""

from __future__ import annotations

import textwrap
from pathlib import Path

from matplotlib.figure import Figure

from nearfar.base.files import atomic_path
from nearfar.documents.study import StudyResult
from nearfar_studies.study import Study

CAPTION_COLUMNS = 140
"""Characters that fit into 9 inches at 7.5 points."""


def draw(study: Study, result: StudyResult, path: Path) -> bool:
    """Draw `study` to `path` (PNG); False, and no file, where it has no picture."""
    figure = Figure(figsize=(9, 5.4))
    caption = study.draw(result, figure)
    if not caption:
        return False
    wrapped = textwrap.wrap(caption, CAPTION_COLUMNS)
    caption_share = 0.03 + 0.025 * len(wrapped)
    figure.tight_layout(rect=(0.0, caption_share, 1.0, 1.0))
    figure.text(0.02, 0.01, "\n".join(wrapped), fontsize=7.5, va="bottom")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)
    return True
