"""The list of all verbs that `nearfar --help` prints.

It is written without the parser, whose import and layout take longer than all the rest.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path

from nearfar.commands import heading_of, verb_modules, verbs
from nearfar.commands._companion_verbs import help_source, hint

ABOUT = "Predict how a program runs when some of its memory is far, and what must stay near."
OPTIONS = {
    "--help, -h": "Show this list or COMMAND's help.",
    "--version": "Show the version and what is installed.",
}
MIN_COLUMNS, MAX_COLUMNS = 60, 100


def overview() -> str:
    """Return usage, and each verb under its group's heading with the first paragraph of its help.

    No verb is imported.
    """
    sections: dict[str, dict[str, str]] = {}
    for verb in verbs():
        sections.setdefault(heading_of(verb), {})[verb] = _first_paragraph(verb)
    sections["Options"] = OPTIONS
    columns = min(max(shutil.get_terminal_size().columns, MIN_COLUMNS), MAX_COLUMNS)
    margin = max(len(name) for rows in sections.values() for name in rows) + 4
    lines = ["Usage: nearfar COMMAND", "", *textwrap.wrap(ABOUT, columns)]
    for heading, rows in sections.items():
        lines += ["", f"{heading}:"]
        for name, text in rows.items():
            row = f"  {name}".ljust(margin) + text
            lines.append(textwrap.fill(row, columns, subsequent_indent=" " * margin))
    return "\n".join(lines)


def _first_paragraph(verb: str) -> str:
    modules = verb_modules()
    if verb in modules:
        path = Path(__file__).with_name(f"{modules[verb]}.py")
        return _summary(path.read_text(), modules[verb])
    of_companion = help_source(verb)
    return hint(verb) if of_companion is None else _summary(*of_companion)


def _summary(source: str, name: str) -> str:
    """Return the first paragraph of the docstring of function `name` or, without it, the module."""
    paragraph = r'"""(.*?)(?:"""|\n\n)'
    function = re.search(rf"^def {name}\(.*?{paragraph}", source, re.MULTILINE | re.DOTALL)
    docstring = function or re.search(paragraph, source, re.DOTALL)
    return " ".join(docstring[1].split()) if docstring else ""
