"""The verb `machine`: what is here, what lacks, and persistent memory converted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._options import JsonOption, OutputOption, QuietOption

if TYPE_CHECKING:
    from nearfar.documents import MachineProfile

app = App(name="machine")

NamesOption = Annotated[list[str] | None, Parameter(negative="")]


@app.default
def machine(
    *,
    root: Path = Path("/"),
    check: Annotated[bool, Parameter(negative="")] = False,
    measure: Annotated[bool, Parameter(negative="")] = False,
    joint: NamesOption = None,
    bug_report: Annotated[bool, Parameter(negative="")] = False,
    output: OutputOption = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Show processor, caches, memories and counters of this machine, and what it lacks.

    Each lack says what, why, and the command that mends it. No root is needed.

    Parameters
    ----------
    root
        Folder that holds sys and proc: / for this machine, or a tree captured from another.
    check
        Look at everything that far memory needs: nodes, tiers, firmware, health, regions,
        mounts, kernel, container. Say what works, what lacks, what that costs, and the command
        that mends it; end with 1 if something lacks.
    measure
        Also measure latency and read bandwidth of every node's memory from every node with CPUs
        (about 3 s a pair), and the time of a cache line from CPU to CPU (all pairs, or 300 of
        them: up to 30 s).
    joint
        Two memories with a comma between, such as dram,node:1 or dram,file:/mnt/pmem0: measure
        what they copy together under every split of the threads, and whether they hold each other
        back as memories on one channel do (up to 60 s). Repeat for several pairs; with --measure.
    bug_report
        Gather what a maintainer would ask for, as Markdown: versions, machine, findings, without
        names, addresses, identifiers or unrelated variables. Read it before you send it.
    output
        File to write the machine profile, or with --check the findings, to (JSON).
    json_
        Print that as JSON: sizes in bytes, latencies in ns, bandwidths in GB/s (1e9 B/s).
    quiet
        Print nothing but errors.
    """
    from nearfar.base.files import check_writable
    from nearfar.documents.header import save, to_json
    from nearfar.machine.read import read_machine
    from nearfar.machine.render import render

    if joint and not measure:
        raise CommandError("--joint goes with --measure: nearfar machine --measure --joint A,B")
    if check and measure:
        raise CommandError("--check and --measure are two commands: give one of them")
    if measure and root.resolve() != Path("/"):
        raise CommandError(f"--measure is for this machine, and {root} is a captured one")
    if bug_report and (check or measure or json_):
        raise CommandError("--bug-report stands alone: it holds the machine and its check")
    if output is not None:
        check_writable(output)
    if bug_report:
        _report_bug(root, output, quiet=quiet)
        return ExitCode.DONE
    if check:
        return _check(root, output, json_=json_, quiet=quiet)
    found = read_machine(root)
    if measure:
        _measure(found, joint or [], quiet)
    if output is not None:
        save(found, output)
    if quiet:
        return ExitCode.DONE
    if json_:
        sys.stdout.write(to_json(found).decode())
    elif output is None:
        sys.stdout.write(render(found))
    else:
        print(f"wrote {output}")
    return ExitCode.DONE


@app.command
def convert(
    device: str | None = None,
    *,
    to: str | None = None,
    destroy: NamesOption = None,
    yes: Annotated[bool, Parameter(negative="")] = False,
    resume: Annotated[bool, Parameter(negative="")] = False,
    file_system: Literal["ext4", "xfs"] = "ext4",
    note: Path | None = None,
    root: Path = Path("/"),
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Convert persistent or far memory to another use, step by step.

    Shows every step as a command that could be typed, and what stands in its way; does nothing
    without --yes. Ends with 3 where a precondition does not hold or a step did not do what it
    should.

    Parameters
    ----------
    device
        What to convert: namespace0.0, pmem0, dax0.0 or region0. Not needed where there is only
        one, nor for app-direct, memory-mode, mixed and emulated-pmem.
    to
        app-direct, memory-mode, mixed:N% (Optane modules, over a reboot); fsdax, devdax,
        system-ram (one device); emulated-pmem:SIZE (DRAM set aside at boot; 0B gives it back).
    destroy
        Name of a namespace or device whose data may be destroyed; repeat for several.
    yes
        Act. Stops before a reboot, which is yours to do.
    resume
        Go on with the conversion that a reboot or an error interrupted.
    file_system
        What to make for fsdax.
    note
        File that keeps a conversion over the reboot. Default: /var/lib/nearfar/conversion.json.
    root
        Folder that holds sys and proc of a captured machine, to see what would be done there.
    json_
        Print the conversion as JSON.
    quiet
        Print nothing but errors.
    """
    import os

    from nearfar.documents import producer
    from nearfar.documents.conversion import Conversion
    from nearfar.documents.header import to_json
    from nearfar.machine.convert import convert as conversion
    from nearfar.machine.convert.render import render_conversion
    from nearfar.machine.sysfs import Tree

    tree = Tree(root)
    note = note or conversion.NOTE
    if (to is None) != resume:
        raise CommandError(
            "say what to convert to (--to fsdax, ...), or --resume to go on with what was begun"
        )
    if yes and not tree.live:
        raise CommandError(f"--yes is for this machine, and {root} is a captured one")
    if yes and os.geteuid() != 0:
        raise CommandError(
            "only root may do this: run it with sudo, or type the commands that it shows "
            "without --yes",
            ExitCode.MACHINE_LACKS,
        )
    if to is None:
        if device is not None:
            raise CommandError(
                f"--resume goes on with what was begun, and takes no device: leave {device} out"
            )
        wanted = conversion.resume(tree, note)
        wanted.destroy = sorted({*wanted.destroy, *(destroy or [])})
    else:
        begun = conversion.read_note(note) if tree.live else None
        if yes and begun is not None and (begun.to, begun.device) != (to, device):
            what = f" of {begun.device}" if begun.device else ""
            raise CommandError(
                f"a conversion{what} to {begun.to} was begun and not finished: go on with "
                f"--resume, or forget it with: sudo rm {note}"
            )
        wanted = Conversion(
            producer=producer(),
            to=to,
            device=device,
            file_system=file_system,
            destroy=destroy or [],
        )
    conversion.draft(tree, wanted)
    if yes and wanted.state != "stopped":
        tell = (lambda _: None) if quiet or json_ else lambda line: print(f"$ {line}", flush=True)
        conversion.act(tree, wanted, note, conversion.run_step, tell)
    if json_ and not quiet:
        sys.stdout.write(to_json(wanted).decode())
    elif not quiet:
        sys.stdout.write(render_conversion(wanted))
    return ExitCode.MACHINE_LACKS if wanted.state == "stopped" else ExitCode.DONE


def _report_bug(root: Path, output: Path | None, *, quiet: bool) -> None:
    from nearfar.base.files import write_atomically
    from nearfar.machine.bug_report import bug_report

    text = bug_report(root)
    if output is None:
        sys.stdout.write("" if quiet else text)
        return
    write_atomically(output, text)
    if not quiet:
        print(f"wrote {output}")


def _check(root: Path, output: Path | None, *, json_: bool, quiet: bool) -> int:
    from nearfar.documents.header import save, to_json
    from nearfar.machine.check import check_machine
    from nearfar.machine.render_check import render_check

    found = check_machine(root)
    if output is not None:
        save(found, output)
    if not quiet:
        if json_:
            sys.stdout.write(to_json(found).decode())
        elif output is None:
            sys.stdout.write(render_check(found))
        else:
            print(f"wrote {output}")
    return ExitCode.FOUND if found.lacks() else ExitCode.DONE


def _measure(found: MachineProfile, joint: list[str], quiet: bool) -> None:
    from nearfar.measure.measure_machine import measure_machine, parse_pair
    from nearfar.measure.show import progress

    pairs = [parse_pair(text) for text in joint]
    with progress(quiet, "machine") as tell:
        warnings = measure_machine(found, pairs, tell)
    if not quiet:
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
