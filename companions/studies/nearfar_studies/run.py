"""Run studies: each gives its result, or says in one sentence why it could not run here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.header import producer
from nearfar.documents.study import Reproduction, StudyResult
from nearfar_studies.picture import draw
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
    return Reproduction(producer=producer(), studies=results)


def _run(study: Study, given: StudyInputs) -> StudyResult:
    try:
        return study.run(given)
    except NearfarError as error:
        if error.exit_code != ExitCode.MACHINE_LACKS:
            raise
        return StudyResult(
            name=study.name, title=study.title, source=study.source, skipped=str(error)
        )
