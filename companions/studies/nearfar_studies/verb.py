"""The verb `reproduce`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nearfar.base.errors import CommandError
from nearfar.commands._verb import verb
from nearfar.options.option import Option, Options
from nearfar.options.shared import DeliveryOptions

if TYPE_CHECKING:
    from nearfar.documents import Reproduction


PROFILING = {"applications", "population"}
"""Studies that keep profiles."""
PREDICTIONS = Path(__file__).parents[1] / "blind" / "predictions.csv"


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(Options):
    """Options of `reproduce`."""

    names: Annotated[Sequence[str], Option(position="rest")] = ()
    """Studies, as --list shows them."""
    all_: bool = False
    """Every study."""
    list_: bool = False
    """List the studies and end."""
    profile: Path | None = None
    """Profile of your program, for the study x-mem-curve. Default: what `make demo` leaves."""
    near: Path | None = None
    """The memory it was profiled in. Default: what `make demo` leaves."""
    plot: Path | None = None
    """Folder for pictures: NAME.png of every study that has one."""
    blind: Path | None = None
    """With the study applications: CSV of cases without their far times. A prediction of every row
    is written to -o as CSV, with interval, model, commit and assumptions."""
    score: Path | None = None
    """CSV of measured slowdowns, with at least the columns id and slowdown: score --predictions
    against them."""
    predictions: Path | None = None
    """With --score: the file that --blind wrote. Default: the predictions of this project, where
    nearfar runs in a checkout."""
    profiles: Path | None = None
    """For the studies applications and population: folder that keeps profiles, so that an
    interrupted run goes on from them."""

    def check_options(self) -> None:
        """Refuse a command that names no study, and options that contradict each other."""
        if self.score is not None:
            if self.names or self.all_ or self.list_ or self.blind is not None:
                raise CommandError("--score runs no study: leave the other options out")
            return
        if self.predictions is not None:
            raise CommandError("--predictions goes with --score")
        if self.blind is not None and tuple(self.names) != ("applications",):
            raise CommandError(
                "--blind goes with the study applications: nearfar reproduce applications --blind "
                "CASES.csv -o PREDICTIONS.csv"
            )
        if self.profiles is not None and not (self.all_ or PROFILING.intersection(self.names)):
            raise CommandError(
                f"--profiles goes with the studies {' and '.join(sorted(PROFILING))}"
            )
        if self.list_ and (self.names or self.all_):
            raise CommandError(
                "--list lists all studies and runs none: leave out --list or the names"
            )
        if not self.names and not self.all_ and not self.list_:
            raise CommandError("name a study, or --all; `nearfar reproduce --list` shows them")
        if self.names and self.all_:
            raise CommandError("name studies, or give --all, not both")
        if (self.profile is None) != (self.near is None):
            raise CommandError("--profile and --near go together: name both, or neither")
        for file, flag in ((self.profile, "--profile"), (self.near, "--near")):
            if file is not None and not file.is_file():
                raise CommandError(f"cannot read {file}, named by {flag}: there is no such file")


@verb(ReproduceOptions, DeliveryOptions)
def reproduce(options: ReproduceOptions, delivery: DeliveryOptions) -> None:
    """Compare published figures with what nearfar computes for the same cases.

    Each study prints published, ours and the difference, and a verdict. A study whose inputs are
    missing reports that and is skipped.
    """
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar_studies.render import print_reproduction
    from nearfar_studies.run import reproduce as run
    from nearfar_studies.study import STUDIES, StudyInputs

    if options.list_:
        _list(delivery)
        return
    check_output(delivery.output)
    if options.blind is not None:
        _predict_blind(options.blind, options.profiles, delivery)
        return
    if options.score is not None:
        deliver_document(_scored(options), delivery, print_reproduction)
        return
    reproduction = run(
        STUDIES.names() if options.all_ else list(dict.fromkeys(options.names)),
        StudyInputs(
            profile=options.profile,
            near=options.near,
            profiles=options.profiles,
            say=_nothing if delivery.quiet else _say,
        ),
        pictures=options.plot,
        begin=_nothing if delivery.quiet or not sys.stderr.isatty() else _show,
    )
    deliver_document(reproduction, delivery, print_reproduction)


def _predict_blind(cases_file: Path, profiles: Path | None, delivery: DeliveryOptions) -> None:
    """Predict every row of a case file, in its order, and write the predictions."""
    import tempfile

    from rich.progress import track

    from nearfar_studies.hardware.cases import count_of_cases, read_cases, write_predictions
    from nearfar_studies.hardware.predictor import CasePredictor

    if delivery.output is None:
        raise CommandError("--blind writes a file: name it with -o PREDICTIONS.csv")
    cases = read_cases(cases_file)
    with tempfile.TemporaryDirectory(prefix="nearfar-blind-") as name:
        predictor = CasePredictor(profiles or Path(name))
        shown = track(cases, "predicting", disable=delivery.quiet or not sys.stderr.isatty())
        predictions = [predictor.predict(case) for case in shown]
    write_predictions(predictions, delivery.output)
    if not delivery.quiet:
        made = sum(each.slowdown is not None for each in predictions)
        print(f"predicted {made} of {count_of_cases(len(cases))}; wrote {delivery.output}")


def _scored(options: ReproduceOptions) -> Reproduction:
    from nearfar.documents import Reproduction, producer
    from nearfar_studies.hardware.cases import SCORED, read_cases, read_predictions
    from nearfar_studies.hardware.predictor import latency_ratio
    from nearfar_studies.hardware.score import scored

    assert options.score is not None, "asked for"
    truths = read_cases(options.score, SCORED)
    predictions = options.predictions or PREDICTIONS
    if options.predictions is None and not predictions.is_file():
        raise CommandError(
            "this project's predictions are not installed, only in its repository: name yours "
            "with --predictions FILE.csv"
        )
    result = scored("score", read_predictions(predictions), truths, latency_ratio)
    return Reproduction(producer=producer(), studies=[result])


def _show(title: str) -> None:
    print(f"reproducing: {title}", file=sys.stderr)


def _say(sentence: str) -> None:
    print(f"nearfar: {sentence}", file=sys.stderr)


def _nothing(text: str) -> None:
    del text


def _list(delivery: DeliveryOptions) -> None:
    from nearfar_studies.study import STUDIES

    studies = [
        {"name": name, "title": STUDIES.get(name).title, "source": STUDIES.get(name).source}
        for name in STUDIES.names()
    ]
    if delivery.quiet:
        return
    if delivery.json:
        import json

        print(json.dumps(studies, indent=1))
        return
    width = max(len(study["name"]) for study in studies)
    for study in studies:
        print(f"{study['name']:{width}}  {study['title']}")
