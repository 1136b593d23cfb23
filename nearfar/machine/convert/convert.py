"""A conversion from the request to its end: draft, check, act, and resume after a reboot."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.conversion import Conversion, ConversionObstacle, ConversionStep
from nearfar.documents.header import load, producer, save
from nearfar.machine.convert.draft import DraftConversion, DraftStep
from nearfar.machine.convert.request import parse_request
from nearfar.machine.convert.targets import TARGETS
from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import FOLDERS

NOTE = Path("/var/lib/nearfar/conversion.json")
"""File that records an unfinished conversion; it must survive a reboot."""
BOOT_ID = "proc/sys/kernel/random/boot_id"

Runner = Callable[[DraftStep], str]
"""Function that does one step and returns its output."""
Tell = Callable[[str], None]


def draft(tree: Tree, wanted: Conversion) -> DraftConversion:
    """Fill `wanted` with the steps that remain on the machine now, and return the draft."""
    request = parse_request(wanted.to, wanted.device, wanted.file_system)
    made = DraftConversion()
    TARGETS.get(request.target)(tree, request, made)
    wanted.steps = [
        ConversionStep(
            command=step.command(),
            why=step.why,
            destroys=list(step.destroys),
            reboot=step.reboot,
            after_reboot=step.after_reboot,
        )
        for step in made.steps
    ]
    wanted.obstacles = [ConversionObstacle(what=o.what, fix=o.fix) for o in made.obstacles]
    wanted.warnings = made.warnings
    wanted.boot_id = tree.text_if_allowed(BOOT_ID) or ""
    done = not made.steps and not made.obstacles
    wanted.state = "stopped" if made.obstacles else "done" if done else "drafted"
    return made


def act(tree: Tree, wanted: Conversion, note: Path, run: Runner, tell: Tell) -> None:
    """Do the remaining steps up to the next reboot; stop at the first step that has no effect."""
    made = draft(tree, wanted)
    if made.obstacles:
        return
    unnamed = sorted({n for step in made.steps for n in step.destroys} - set(wanted.destroy))
    if unnamed:
        options = " ".join(f"--destroy {name}" for name in unnamed)
        raise NearfarError(
            f"this destroys the data in {' and '.join(unnamed)}, so its name must be typed: save "
            f"the data that you need, then add {options}"
        )
    if wanted.state == "done":
        note.unlink(missing_ok=True)
        return
    wanted.state = "acting"
    _write(wanted, note)
    for step, shown in zip(made.steps, wanted.steps, strict=True):
        if step.reboot:
            wanted.state = "reboot"
            _write(wanted, note)
            return
        tell(shown.command)
        output = run(step)
        if not step.holds(Tree(tree.root)):
            raise NearfarError(
                f"`{shown.command}` did not work: after it, it must hold that {step.expected}"
                + (f"; its output: {' '.join(output.split())[-300:]}" if output.strip() else "")
                + "; earlier steps stay done. Fix it, then continue with: "
                "nearfar machine convert --resume --yes",
                ExitCode.MACHINE_LACKS,
            )
        shown.done = True
        _write(wanted, note)
    wanted.state = "done"
    note.unlink(missing_ok=True)


def read_note(note: Path) -> Conversion | None:
    """Return the unfinished conversion; None if there is none."""
    return load(note, Conversion) if note.exists() else None


def resume(tree: Tree, note: Path) -> Conversion:
    """Return the unfinished conversion; refuse if there is none or it still waits for a reboot."""
    current = read_note(note)
    if current is None:
        raise NearfarError(f"no conversion is under way ({note} is not there)")
    if current.state == "reboot" and current.boot_id == (tree.text_if_allowed(BOOT_ID) or ""):
        raise NearfarError(
            f"the conversion to {current.to} waits for a reboot: sudo reboot",
            ExitCode.MACHINE_LACKS,
        )
    return Conversion(
        producer=producer(),
        to=current.to,
        device=current.device,
        file_system=current.file_system,
        destroy=current.destroy,
    )


def run_step(step: DraftStep) -> str:
    """Do one step on this machine and return its output; its exit status is not reliable."""
    if step.writes is not None:
        path, line = step.writes
        try:
            Path(path).write_text(line + "\n")
        except OSError as error:
            return f"{path}: {error.strerror}"
        return ""
    environment = {**os.environ, "LC_ALL": "C"}
    environment["PATH"] = f"{environment.get('PATH', os.defpath)}:{FOLDERS}"
    try:
        done = subprocess.run(
            list(step.argv),
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except OSError as error:
        return f"{step.argv[0]}: {error.strerror}"
    return done.stdout + done.stderr


def _write(wanted: Conversion, note: Path) -> None:
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NearfarError(
            f"cannot write {note}, where a conversion is kept over the reboot: {error.strerror}; "
            "run this with sudo, or choose another file with --note",
            ExitCode.MACHINE_LACKS,
        ) from error
    save(wanted, note)
