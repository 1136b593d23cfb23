"""What nearfar makes of a tree of this folder: the JSON and the text expected beside it."""

import json
import tempfile
from pathlib import Path

import msgspec
from manifest import expand

from nearfar.machine.read import read_machine
from nearfar.machine.render import render

HERE = Path(__file__).parent


def answers(name: str) -> dict[Path, str]:
    """Return file to content: NAME.json without the producer, and NAME.txt."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        expand((HERE / f"{name}.tree").read_text(), root)
        machine = read_machine(root)
    document = msgspec.to_builtins(machine)
    del document["producer"]
    return {
        HERE / f"{name}.json": json.dumps(document, indent=1) + "\n",
        HERE / f"{name}.txt": render(machine),
    }
