"""Writes docs/accuracy.md and its picture: every judged slowdown beside its prediction.

    .venv/bin/nearfar reproduce applications cycle-level profet-counters -o build/accuracy.json
    .venv/bin/python scripts/accuracy.py build/accuracy.json...

Tables whose unit is `slowdown` count in the summary and the picture, which have the studies of the
documents; other studies keep their sections. Documents without such a table (population.json) get
their sections in the page, which else stays:

    .venv/bin/nearfar reproduce population --profiles build/p --plot build -o build/population.json
    .venv/bin/python scripts/accuracy.py build/population.json
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from nearfar.documents import Reproduction, load
from nearfar.documents.study import ComparisonRow, ComparisonTable, StudyResult
from nearfar_studies.hardware.cases import read_predictions
from nearfar_studies.verb import PREDICTIONS

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURE = ROOT / "docs" / "accuracy.md", ROOT / "docs" / "accuracy.png"
README = ROOT / "README.md"
LINE = re.compile(
    r"(<!-- accuracy: made by scripts/accuracy.py -->\n).*?(<!-- end of accuracy -->)", re.DOTALL
)
HEADING = "\n## "
"""A study's section starts with this; its name and a colon follow."""
WITHIN_POINTS = 10.0
WORST = 5
"""Largest errors of a study that are listed first."""


def slowdowns(study: StudyResult) -> list[tuple[ComparisonRow, ComparisonTable]]:
    """Return the study's slowdowns and their tables."""
    return [
        (row, table) for table in study.tables if table.unit == "slowdown" for row in table.rows
    ]


def judged(study: StudyResult) -> list[ComparisonRow]:
    """Return the study's judged slowdowns that were predicted."""
    return [row for row, _ in slowdowns(study) if row.judged and row.published and row.ours]


def summary(rows: Sequence[ComparisonRow]) -> str:
    """Return the figures of some rows in a sentence."""
    truth, ours = (np.array([getattr(row, key) for row in rows]) for key in ("published", "ours"))
    errors = np.abs(ours / truth - 1.0)
    within = np.mean(np.abs(ours - truth) * 100.0 <= WITHIN_POINTS)
    covered = [row.low <= row.published <= row.high for row in rows if _with_interval(row)]
    text = (
        f"{len(rows)} slowdowns: mean error {np.mean(errors):.1%}, median {np.median(errors):.1%}, "
        f"{within:.0%} within {WITHIN_POINTS:g} points of slowdown, "
        f"correlation {np.corrcoef(truth, ours)[0, 1]:.2f}"
    )
    return f"{text}, {np.mean(covered):.0%} inside the 90 % intervals" if covered else text


def _with_interval(row: ComparisonRow) -> bool:
    return row.low is not None and row.high is not None


def page(documents: Sequence[Reproduction], before: str = "") -> str:
    """Return the page; studies that only the page `before` has keep their sections and origins."""
    studies = studies_of(documents)
    names = {study.name for study in studies}
    kept = [part for part in before.split(HEADING)[1:] if part.partition(":")[0] not in names]
    origins = [
        _origin(study.name, document) for document in documents for study in document.studies
    ]
    for part in kept:
        name = part.partition(":")[0]
        earlier = re.search(rf"^- `{re.escape(name)}`: .*$", before, re.MULTILINE)
        origins.append(earlier[0] if earlier else f"- `{name}`: from an earlier page.")
    lines = [
        "# Accuracy",
        "",
        "Made by scripts/accuracy.py. A slowdown is far time over near time. Errors are errors of "
        "time. A point is a hundredth of near time. All these cases were known while the models "
        "were made; [constants](constants.md) lists which figures each constant was chosen with. "
        "Blind predictions of further cases are in companions/studies/blind. Each part is from:",
        "",
        *origins,
        "",
        "![Predicted against measured slowdown, by study](accuracy.png)",
    ]
    sections = "".join(map(section, studies)) + "".join(HEADING + part for part in kept)
    return "\n".join(lines) + "\n" + sections


def _origin(name: str, document: Reproduction) -> str:
    models = f"models of {document.commit}" if document.commit else "models of an unknown commit"
    made = document.producer
    return f"- `{name}`: {models}, `{made.command}` on {made.time_utc[:10]}."


def section(study: StudyResult) -> str:
    """Return the section of one study."""
    lines = ["", f"## {study.name}: {study.title}", ""]
    if study.skipped:
        return "\n".join([*lines, f"Not run: {study.skipped}", ""])
    lines += [f"Source of the measurements: {study.source}. Predicted from: {study.inputs}.", ""]
    if study.picture:
        lines += [f"![{study.title}]({study.name}.png)", ""]
    rows = judged(study)
    if len(rows) > 1:
        lines += [f"**{summary(rows)}.**", ""]
    lines += [f"- {sentence}" for sentence in study.verdict]
    listed = slowdowns(study)
    if len(listed) > len(rows):
        lines.append(
            f"- {len(listed) - len(rows)} more slowdowns are listed but not judged: their "
            "notes give the reasons"
        )
    worst = sorted(
        ((row, table) for row, table in listed if row.judged and row.published and row.ours),
        key=lambda each: -abs(each[0].difference or 0.0),
    )[:WORST]
    cells = [
        [
            row.what if len(study.tables) == 1 else f"{row.what}, {table.title}",
            _number(row.published),
            _number(row.ours),
            f"{row.difference or 0.0:+.1%}",
        ]
        for row, table in worst
    ]
    if cells:
        lines += ["", *_markdown("largest errors", ["", "measured", "predicted", "error"], cells)]
    for text in study.texts:
        lines += ["", *_markdown(text.title, text.columns, text.rows)]
    for table in study.tables:
        cells = [
            [
                row.what,
                *(_number(x) for x in (row.published, row.ours, row.low, row.high)),
                "" if row.difference is None else f"{row.difference:+.1%}",
                row.note,
            ]
            for row in table.rows
        ]
        columns = ["", "measured", "predicted", "low", "high", "error", "note"]
        lines += ["", *_markdown(f"{table.title} ({table.unit})", columns, cells)]
    return "\n".join(lines) + "\n"


def with_section(text: str, study: StudyResult) -> str:
    """Return the page with this study's section, in place of the one it had or at the end."""
    before, mark, after = text.partition(f"\n## {study.name}: ")
    if not mark:
        return text + section(study)
    _, following, rest = after.partition("\n## ")
    return before + section(study) + following + rest


def _markdown(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [f"*{title}*", "", line(columns), "|" + "---|" * len(columns), *map(line, rows)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def studies_of(documents: Sequence[Reproduction]) -> list[StudyResult]:
    """Return the studies of all documents, in their order."""
    return [study for document in documents for study in document.studies]


def draw(documents: Sequence[Reproduction], path: Path) -> None:
    """Draw predicted against measured slowdown of all studies that have some."""
    mpl.use("agg")
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axes = figure.add_subplot()
    for study in studies_of(documents):
        if rows := judged(study):
            measured = [row.published for row in rows]
            axes.loglog(measured, [row.ours for row in rows], "o", ms=3.5, label=study.name)
    axes.axline((1.0, 1.0), (2.0, 2.0), color="grey", linewidth=0.8)
    axes.set_xlabel("measured slowdown")
    axes.set_ylabel("predicted slowdown")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend()
    figure.savefig(path, dpi=110)


def mean_of(study: StudyResult) -> str:
    """Return the mean error of a study, and that of the rows without a note if some have one."""
    rows = judged(study)
    plain = [row for row in rows if not row.note]
    text = f"{_mean_error(rows)} in {len(rows)} cases of `{study.name}`"
    if not 0 < len(plain) < len(rows):
        return text
    count = len(rows) - len(plain)
    left_out = "the case from whose run" if count == 1 else f"the {count} cases from whose runs"
    others = f"{_mean_error(plain)} without {left_out} the far bandwidths were taken"
    return f"{text} ({others})"


def _mean_error(rows: Sequence[ComparisonRow]) -> str:
    return f"{np.mean([abs(row.difference or 0.0) for row in rows]):.1%}"


def main() -> None:
    """Write the page, its picture, and the line in the README."""
    if len(sys.argv) < 2:
        sys.exit("usage: accuracy.py REPRODUCTION.json...")
    documents = [load(Path(name), Reproduction) for name in sys.argv[1:]]
    for study in studies_of(documents):
        if study.picture:
            shutil.copyfile(study.picture, PAGE.with_name(f"{study.name}.png"))
    if not any(map(judged, studies_of(documents))):
        PAGE.write_text(reduce(with_section, studies_of(documents), PAGE.read_text()))
        sys.stdout.write(f"wrote sections of {PAGE.relative_to(ROOT)}\n")
        return
    PAGE.write_text(page(documents, PAGE.read_text()))
    draw(documents, PICTURE)
    means = [mean_of(study) for study in studies_of(documents) if judged(study)]
    blind = sum(each.slowdown is not None for each in read_predictions(PREDICTIONS))
    sentence = (
        f"Accuracy: the mean error of predicted time, by study, is {', '.join(means)} "
        "([the studies, and every prediction](docs/accuracy.md)). All these cases were known "
        f"while the models were made. {blind} more cases are "
        "[predicted blind](companions/studies/blind/README.md) and are not compared with "
        "measurements yet."
    )
    readme = README.read_text()
    README.write_text(LINE.sub(lambda match: f"{match[1]}{sentence}\n{match[2]}", readme))
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}, {PICTURE.relative_to(ROOT)}, README.md\n")


if __name__ == "__main__":
    main()
