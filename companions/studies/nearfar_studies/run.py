"""Run studies: each returns its result, or states in one sentence why it could not run here."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from matplotlib.figure import Figure

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.files import atomic_path
from nearfar.documents.header import producer
from nearfar.documents.study import Reproduction, StudyResult
from nearfar.version import built_from
from nearfar_studies.study import STUDIES, Study, StudyInputs


def reproduce(
    names: Sequence[str],
    given: StudyInputs,
    *,
    pictures: Path | None = None,
    begin: Callable[[str], None] = lambda title: None,
) -> Reproduction:
    """Run the studies called `names`, in that order, and draw into the folder `pictures`.

    `begin` is called with each study's title as it starts. Raises NearfarError for an unknown name
    before anything runs; a study that lacks its inputs is skipped with its sentence.
    """
    kinds = [(name, STUDIES.get(name)) for name in names]
    if pictures is not None:
        try:
            pictures.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NearfarError(
                f"cannot make the folder {pictures}: {error.strerror}; name another with --plot",
                ExitCode.MACHINE_LACKS,
            ) from error
    results = []
    for name, kind in kinds:
        begin(kind.title)
        study = kind()
        study.name = name
        result = _run(study, given)
        if pictures is not None and not result.skipped:
            path = pictures / f"{name}.png"
            if draw(study, result, path):
                result = msgspec.structs.replace(result, picture=str(path))
        results.append(result)
    return Reproduction(producer=producer(), studies=results, commit=built_from())


def _run(study: Study, given: StudyInputs) -> StudyResult:
    try:
        return study.run(given)
    except NearfarError as error:
        if error.exit_code != ExitCode.MACHINE_LACKS:
            raise
        return StudyResult(
            name=study.name, title=study.title, source=study.source, skipped=str(error)
        )


CAPTION_COLUMNS = 140
"""Characters that fit into 9 inches at 7.5 points."""


def draw(study: Study, result: StudyResult, path: Path) -> bool:
    """Draw `study` to `path` (PNG); return False, without a file, if it has no picture."""
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
