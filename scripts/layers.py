"""Draw the packages of nearfar as layers, from the import contract in pyproject.toml.

scripts/layers.py           print the picture
scripts/layers.py --write   put it into DESIGN.md
scripts/layers.py --check   exit 1 if DESIGN.md holds another picture
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
DESIGN = ROOT / "DESIGN.md"
BEGIN = "<!-- layers: made by scripts/layers.py --write -->\n"
END = "<!-- end of layers -->\n"
NOTES = {
    "base": "errors, files, units, registries",
    "documents": "what passes between stages: JSON, versioned",
}


def layers() -> list[list[str]]:
    """Return the names of each layer, the topmost layer first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = (c for c in settings["contracts"] if c["type"] == "layers")
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def summary(package: str) -> str:
    """Return the first sentence of a package's or module's docstring."""
    for path in (f"nearfar/{package}/__init__.py", f"nearfar/{package}.py"):
        if (ROOT / path).is_file():
            first = (ROOT / path).read_text().split('"""')
            text = " ".join(first[1].split("\n\n")[0].split()) if len(first) > 1 else ""
            return NOTES.get(package) or text.rstrip(".")
    return NOTES.get(package, "")


def picture() -> str:
    """Return the layers as a Markdown table: a layer imports only those below it."""
    rows = ["| layer | packages |", "|---|---|"]
    every = layers()
    for number, names in enumerate(every):
        cells = "<br>".join(f"**{name}**: {summary(name)}" for name in names)
        rows.append(f"| {len(every) - number} | {cells} |")
    return "\n".join(rows) + "\n"


def main(arguments: list[str]) -> int:
    """Print, write or check the picture."""
    if not arguments:
        print(picture(), end="")
        return 0
    text = DESIGN.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    fresh = before + BEGIN + picture() + END + after
    if arguments == ["--write"]:
        DESIGN.write_text(fresh)
    elif fresh != text:
        print("DESIGN.md shows other layers than pyproject.toml: run scripts/layers.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
