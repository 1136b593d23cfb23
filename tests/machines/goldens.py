"""Describes each machine tree of this folder with nearfar, for the accepted descriptions."""

import json
import tempfile
from pathlib import Path

import msgspec
from manifest import expand

from nearfar.machine.check import check_machine
from nearfar.machine.read import read_machine
from nearfar.machine.render import render
from nearfar.machine.render_check import render_check

HERE = Path(__file__).parent


def answers(name: str) -> dict[Path, str]:
    """Return file to content: NAME.json without the producer, NAME.txt, and NAME.check."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        expand((HERE / f"{name}.tree").read_text(), root)
        machine = read_machine(root)
        check = render_check(check_machine(root))
    document = msgspec.to_builtins(machine)
    del document["producer"]
    return {
        HERE / f"{name}.json": json.dumps(document, indent=1) + "\n",
        HERE / f"{name}.txt": render(machine),
        HERE / f"{name}.check": check,
    }
