"""The verb `reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.base.errors import CommandError
from nearfar.commands._options import JsonOption, OutputOption, QuietOption


def reproduce(
    *names: str,
    all_: Annotated[bool, Parameter(name="--all", negative="")] = False,
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    profile: Path | None = None,
    near: Path | None = None,
    plot: Path | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare published figures with what nearfar computes for the same.

    Each study prints published, ours and the difference, and a verdict. A study whose inputs are
    not here says so and is skipped.

    Parameters
    ----------
    names
        Studies, as --list shows them.
    all_
        Every study.
    list_
        List the studies and end.
    profile
        Profile of your program, for the study x-mem-curve. Default: what `make demo` leaves.
    near
        The memory it was profiled in. Default: what `make demo` leaves.
    plot
        Folder for pictures: NAME.png of every study that has one.
    """
    from nearfar.commands._deliver import deliver
    from nearfar_studies.study import STUDIES, Given

    if list_ and (names or all_):
        raise CommandError("--list lists all studies and runs none: leave the names out, or --list")
    if list_:
        _list(json=json, quiet=quiet)
        return
    if not names and not all_:
        raise CommandError("name a study, or --all; `nearfar reproduce --list` shows them")
    if names and all_:
        raise CommandError("name studies, or say --all, not both")
    if (profile is None) != (near is None):
        raise CommandError("--profile and --near go together: name both, or neither")
    for file, option in ((profile, "--profile"), (near, "--near")):
        if file is not None and not file.is_file():
            raise CommandError(f"cannot read {file}, named by {option}: there is no such file")
    if output is not None:
        from nearfar.base.files import check_writable

        check_writable(output)
    from nearfar_studies.render import print_reproduction
    from nearfar_studies.run import reproduce as run

    chosen = STUDIES.names() if all_ else list(dict.fromkeys(names))
    found = run(
        chosen,
        Given(profile=profile, near=near),
        pictures=plot,
        begin=_nothing if quiet or not sys.stderr.isatty() else _show,
    )
    deliver(
        found,
        output,
        json=json,
        quiet=quiet,
        show=lambda console: print_reproduction(found, console),
    )


def _show(title: str) -> None:
    print(f"reproducing: {title}", file=sys.stderr)


def _nothing(title: str) -> None:
    del title


def _list(*, json: bool, quiet: bool) -> None:
    from nearfar_studies.study import STUDIES

    found = [
        {"name": name, "title": STUDIES.get(name).title, "source": STUDIES.get(name).source}
        for name in STUDIES.names()
    ]
    if quiet:
        return
    if json:
        import json as encoder

        print(encoder.dumps(found, indent=1))
        return
    width = max(len(study["name"]) for study in found)
    for study in found:
        print(f"{study['name']:{width}}  {study['title']}")
