"""The commands that the documentation shows, as a reader would type them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(```+)\s*([\w-]*)\s*$")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
SHELL = ("", "sh", "console")
"""Languages of blocks that may hold commands; others are programs, files or output."""


@dataclass(frozen=True)
class Command:
    """One command line of a page."""

    page: str
    line: int
    text: str
    not_run: str = ""
    """Why it cannot be run where tests run, as the page says in a comment above its block."""

    @property
    def words(self) -> list[str]:
        """The command's words up to a redirection or pipe, without variables before it."""
        words = shlex.split(self.text, comments=True)
        for at, word in enumerate(words):
            if word in ("|", ">", "2>", "&&", "&", ";", "||"):
                words = words[:at]
                break
        while words and re.match(r"^[A-Z_]+=", words[0]):
            words = words[1:]
        return words


def pages() -> list[Path]:
    """Return every page a user reads: README and docs/."""
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def commands(page: Path) -> Iterator[Command]:
    """Yield the nearfar commands in a page's blocks, continued lines joined."""
    fence = ""
    shell = False
    reason = ""
    pending = ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        result = FENCE.match(line)
        if fence:
            if result and result.group(1) == fence and not result.group(2):
                fence, reason = "", ""
            elif shell:
                pending += line
                if pending.endswith("\\"):
                    pending = pending[:-1]
                    continue
                text, pending = pending.strip().removeprefix("$ "), ""
                if text.startswith(("nearfar ", "nearfar-")):
                    yield Command(str(page.relative_to(REPOSITORY)), number, text, reason)
        elif result:
            fence, shell = result.group(1), result.group(2) in SHELL
        elif line.strip():
            message = NOT_RUN.match(line.strip())
            reason = message.group(1) if message else ""
