"""The base class of studies, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from matplotlib.figure import Figure

from nearfar.base.registry import Registry
from nearfar.documents.study import StudyResult


@dataclass(frozen=True)
class StudyInputs:
    """Files that a study may use in addition to the published figures."""

    profile: Path | None = None
    """A program's profile, for studies of any program."""
    near: Path | None = None
    """The memory in which that profile was measured."""
    profiles: Path | None = None
    """Folder in which profiles of programs are kept; None: they are made again."""
    say: Callable[[str], None] = lambda sentence: None
    """Receives the progress of long work."""


class Study:
    """One comparison with published figures.

    A study whose inputs are absent raises NearfarError with `ExitCode.MACHINE_LACKS`: it is then
    skipped with that sentence.
    """

    title: ClassVar[str]
    source: ClassVar[str]
    """Citation; for a source in `published/`, the citation of that file."""
    name: str = ""

    def run(self, given: StudyInputs) -> StudyResult:
        """Compute ours and compare."""
        raise NotImplementedError

    def result(self, inputs: str, **parts: Any) -> StudyResult:
        """Return a result of this study; `parts` are its tables, texts and verdict."""
        return StudyResult(
            name=self.name, title=self.title, source=self.source, inputs=inputs, **parts
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw `result` into `figure` and return its caption; "" if the study has no picture."""
        return ""


STUDIES: Registry[type[Study]] = Registry("nearfar_studies.studies", "study")
