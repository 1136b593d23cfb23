"""Maps and sets: the content that a command prints follows from the operations.

The command prints `key value` for each key, or `key`, with a tab between them if keys have spaces,
and `! TEXT` for what does not work. The program prints `put KEY VALUE` or `remove KEY` before an
operation, and the same line behind `acknowledged ` when it is to survive. A key holds what the last
acknowledged operation left, or what one left that had begun and may have come later. Keys that no
line names are not judged.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = "{folder}"
"""Placeholder for the image's folder in the command."""
_KINDS = frozenset({"put", "remove"})


@dataclass
class KeyOperation:
    """One operation on a key; its times are numbers of printed lines."""

    value: str | None
    """Value that it leaves; None: the key is removed."""
    begun: int
    ended: int | None = None


def operations(printed: str) -> dict[str, list[KeyOperation]]:
    """Return the operations on each key in the order in which they began."""
    keys: dict[str, list[KeyOperation]] = {}
    begun: dict[str, list[KeyOperation]] = {}
    for number, line in enumerate(printed.split("\n")[:-1]):
        first, _, rest = line.partition(" ")
        text = rest if first == "acknowledged" else line
        kind, _, words = text.partition(" ")
        if kind not in _KINDS:
            continue
        key, value = _pair(words)
        waiting = begun.setdefault(text, [])
        if first == "acknowledged" and waiting:
            waiting.pop(0).ended = number
            continue
        operation = KeyOperation(value if kind == "put" else None, number)
        keys.setdefault(key, []).append(operation)
        if first == "acknowledged":
            operation.ended = number
        else:
            waiting.append(operation)
    return keys


def _pair(words: str) -> tuple[str, str]:
    key, _, value = words.partition("\t" if "\t" in words else " ")
    return key, value.strip()


def complaint(key: str, held: str | None, known: list[KeyOperation]) -> str:
    """Return the error in a key's value (None: it is absent); empty: there is none."""
    ended = [operation for operation in known if operation.ended is not None]
    last_begin = max((operation.begun for operation in ended), default=-1)
    allowed = [
        operation.value
        for operation in known
        if operation.ended is None or operation.ended >= last_begin
    ]
    if not ended or held in allowed or (held == "" and any(value is not None for value in allowed)):
        # Before the first acknowledgement a key may hold what it held before the run.
        return ""
    wanted = " or ".join("nothing" if value is None else value or key for value in allowed)
    if held is None:
        return f"acknowledged and lost: key {key}, which holds {wanted}"
    return f"key {key} holds {held or key}, not {wanted}"


def main(folder: str, printed: str, dump: str) -> int:
    """Return the exit code."""
    command = dump.replace(FOLDER, shlex.quote(folder))
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    lines = [line for line in done.stdout.decode(errors="replace").split("\n") if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("!")]
    if done.returncode != 0 or errors:
        reasons = [*done.stderr.decode(errors="replace").strip().splitlines(), *errors]
        print(
            reasons[-1]
            if reasons
            else f"the command that prints the content: exit {done.returncode}"
        )
        return 1
    held: dict[str, str] = {}
    for line in lines:
        key, value = _pair(line)
        if key in held:
            print(f"key {key} is there twice")
            return 1
        held[key] = value
    for key, known in operations(Path(printed).read_text(errors="replace")).items():
        if wrong := complaint(key, held.get(key), known):
            print(wrong)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
