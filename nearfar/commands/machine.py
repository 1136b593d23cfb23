"""The verb `machine`: what is in this machine, what is missing, and persistent memory converted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from cyclopts import App

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._verb import verb
from nearfar.documents import Document
from nearfar.options.machine import ConvertOptions, MachineModes, MachineOptions
from nearfar.options.shared import JsonOptions

if TYPE_CHECKING:
    from pathlib import Path

    from nearfar.documents import MachineProfile
    from nearfar.documents.conversion import Conversion
    from nearfar.machine.sysfs import Tree

DocumentT = TypeVar("DocumentT", bound=Document)

app = App(name="machine")


@app.default
@verb(MachineOptions, MachineModes)
def machine(options: MachineOptions, modes: MachineModes) -> int:
    """Show processor, caches, memories and counters of this machine, and what it lacks.

    Each missing requirement comes with the reason and the command that fixes it. No root is needed.
    """
    from nearfar.commands._deliver import check_output
    from nearfar.machine.render import render

    if modes.check and options.measure:
        raise CommandError("--check and --measure are two commands: give one of them")
    if modes.bug_report and options.measure:
        raise CommandError(
            "--bug-report takes no other options: it includes the machine and its check"
        )
    check_output(modes.output)
    if modes.bug_report:
        _report_bug(options, modes)
        return ExitCode.DONE
    if modes.check:
        return _check(options, modes)
    profile = _read(options, modes)
    _deliver(profile, modes, render)
    return ExitCode.DONE


def _read(options: MachineOptions, modes: MachineModes) -> MachineProfile:
    from nearfar.api.machine import run_machine

    if not options.measure:
        return run_machine(options)[0]
    from nearfar.measure.show import progress

    with progress(modes.quiet, "machine") as tell:
        profile, warnings = run_machine(options, tell)
    if not modes.quiet:
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
    return profile


def _check(options: MachineOptions, modes: MachineModes) -> int:
    from nearfar import api
    from nearfar.machine.render_check import render_check

    findings = api.check_machine(root=options.root)
    _deliver(findings, modes, render_check)
    return ExitCode.FOUND if findings.lacks() else ExitCode.DONE


def _deliver(document: DocumentT, modes: MachineModes, render: Callable[[DocumentT], str]) -> None:
    """Save a document if a path is named; print the document as JSON or text, or print the path."""
    from nearfar.commands._deliver import print_json
    from nearfar.documents import save

    if modes.output is not None:
        save(document, modes.output)
    if modes.quiet:
        return
    if modes.json:
        print_json(document)
    elif modes.output is None:
        sys.stdout.write(render(document))
    else:
        print(f"wrote {modes.output}")


def _report_bug(options: MachineOptions, modes: MachineModes) -> None:
    from nearfar.base.files import write_atomically
    from nearfar.machine.bug_report import bug_report

    text = bug_report(options.root)
    if modes.output is None:
        sys.stdout.write("" if modes.quiet else text)
        return
    write_atomically(modes.output, text)
    if not modes.quiet:
        print(f"wrote {modes.output}")


@app.command
@verb(ConvertOptions, JsonOptions)
def convert(options: ConvertOptions, delivery: JsonOptions) -> int:
    """Convert persistent or far memory to another use, step by step.

    Shows every step as a command that could be typed, and what prevents it; does nothing without
    --yes. Exit code 3 if a precondition does not hold or a step fails.
    """
    from nearfar.commands._deliver import print_json
    from nearfar.machine.convert import convert as engine
    from nearfar.machine.convert.render import render_conversion
    from nearfar.machine.sysfs import Tree

    tree = Tree(options.root)
    _check_rights(tree, options)
    note = options.note or engine.NOTE
    conversion = _conversion(tree, note, options)
    engine.draft(tree, conversion)
    if options.yes and conversion.state != "stopped":
        silent = delivery.quiet or delivery.json
        engine.act(tree, conversion, note, engine.run_step, _ignore if silent else _echo)
    if delivery.json and not delivery.quiet:
        print_json(conversion)
    elif not delivery.quiet:
        sys.stdout.write(render_conversion(conversion))
    return ExitCode.MACHINE_LACKS if conversion.state == "stopped" else ExitCode.DONE


def _ignore(_command: str) -> None:
    """Print nothing."""


def _echo(command: str) -> None:
    print(f"$ {command}", flush=True)


def _check_rights(tree: Tree, options: ConvertOptions) -> None:
    import os

    if options.yes and not tree.live:
        raise CommandError(f"--yes changes this machine, but {options.root} is a captured one")
    if options.yes and os.geteuid() != 0:
        raise CommandError(
            "only root may do this: run it with sudo, or type the commands that it shows "
            "without --yes",
            ExitCode.MACHINE_LACKS,
        )


def _conversion(tree: Tree, note: Path, options: ConvertOptions) -> Conversion:
    """Return the conversion that the options specify, or the unfinished conversion in `note`."""
    from nearfar.documents import producer
    from nearfar.documents.conversion import Conversion
    from nearfar.machine.convert import convert as engine

    if options.to is None:
        conversion = engine.resume(tree, note)
        conversion.destroy = sorted({*conversion.destroy, *options.destroy})
        return conversion
    begun = engine.read_note(note) if tree.live else None
    asked = (options.to, options.device)
    if options.yes and begun is not None and (begun.to, begun.device) != asked:
        device = f" of {begun.device}" if begun.device else ""
        raise CommandError(
            f"a conversion{device} to {begun.to} was begun and not finished: go on with "
            f"--resume, or forget it with: sudo rm {note}"
        )
    return Conversion(
        producer=producer(),
        to=options.to,
        device=options.device,
        file_system=options.file_system,
        destroy=list(options.destroy),
    )
