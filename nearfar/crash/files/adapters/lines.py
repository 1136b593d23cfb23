"""Append logs: each acknowledged text is a line of some file, in the order of the program.

The program prints `acknowledged TEXT` when TEXT is to survive. A line that is no text that the
program appended cannot be told from one that is: check that in your own checker.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(folder: str, printed: str) -> int:
    """Return 0 if the files have what `printed` acknowledges, in its order, otherwise 1."""
    lines = [
        line
        for root, _, files in sorted(os.walk(folder))
        for name in sorted(files)
        for line in (Path(root) / name).read_bytes().split(b"\n")[:-1]
    ]
    at = 0
    for line in Path(printed).read_bytes().split(b"\n")[:-1]:
        word, _, text = line.partition(b" ")
        if word != b"acknowledged":
            continue
        try:
            at = lines.index(text, at) + 1
        except ValueError:
            why = "out of order" if text in lines else "lost"
            print(f"acknowledged and {why}: {text.decode(errors='replace')}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
