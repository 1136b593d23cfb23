"""The verb `reproduce`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nearfar.base.errors import CommandError
from nearfar.commands._verb import verb
from nearfar.options.option import Option, Options
from nearfar.options.shared import DeliveryOptions


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

    def check_options(self) -> None:
        """Refuse no study, and two ways to name them."""
        if self.list_ and (self.names or self.all_):
            raise CommandError(
                "--list lists all studies and runs none: leave the names out, or --list"
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
    """Compare published figures with what nearfar computes for the same.

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
    reproduction = run(
        STUDIES.names() if options.all_ else list(dict.fromkeys(options.names)),
        StudyInputs(profile=options.profile, near=options.near),
        pictures=options.plot,
        begin=_nothing if delivery.quiet or not sys.stderr.isatty() else _show,
    )
    deliver_document(reproduction, delivery, print_reproduction)


def _show(title: str) -> None:
    print(f"reproducing: {title}", file=sys.stderr)


def _nothing(title: str) -> None:
    del title


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
