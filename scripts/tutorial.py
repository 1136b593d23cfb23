"""Run the commands of docs/tutorial.md and put below each block what it printed.

It takes some minutes. Run it on a quiet machine: it refuses to show a noisy measurement.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.docs.commands import FENCE  # noqa: E402
from tests.docs.reader import lay_checkout, shell  # noqa: E402

PAGE = ROOT / "docs/tutorial.md"
MAX_LINES = 24
"""Lines shown of what one command printed."""
SILENT = "nearfar c++ "
"""A command that prints nothing, and builds what later ones run."""
LEFT_OUT = "nearfar emulate "
"""A command that takes minutes to print what depends on the machine's noise."""
NOISY = "do not use this profile"
OUTPUT = re.compile(r"\n```text\n.*?\n```\n", re.DOTALL)


def printed(folder: Path, command: str) -> str:
    """Return the beginning of what a command prints; raise SystemExit if it should not be shown."""
    done = shell(folder, command)
    lines = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
    if done.returncode or NOISY in done.stderr + done.stdout:
        raise SystemExit(f"{command}: exit code {done.returncode}, or too noisy\n{done.stderr}")
    text = "\n".join(lines[:MAX_LINES]).replace(f"{folder}/", "").strip("\n")
    return f"{text}\n..." if len(lines) > MAX_LINES else text


def is_run(command: str) -> bool:
    """Return whether a command is run for the page."""
    return command.startswith("nearfar ") and not command.startswith(LEFT_OUT)


def is_shown(command: str) -> bool:
    """Return whether the page has what a command prints."""
    return is_run(command) and not command.startswith(SILENT)


def with_output(page: str, folder: Path) -> str:
    """Return the page with what its commands print in `folder`."""
    result = ""
    block: list[str] | None = None
    for line in OUTPUT.sub("", page).splitlines():
        result += f"{line}\n"
        fence = FENCE.match(line)
        if block is None:
            block = [] if fence and fence.group(2) == "sh" else None
        elif fence:
            texts = {command: printed(folder, command) for command in block if is_run(command)}
            shown = "\n\n".join(text for command, text in texts.items() if is_shown(command))
            result += f"\n```text\n{shown}\n```\n" if shown else ""
            block = None
        else:
            block.append(line)
    return result


def main() -> None:
    """Write the page anew."""
    with tempfile.TemporaryDirectory(prefix="tutorial-") as name:
        lay_checkout(Path(name))
        PAGE.write_text(with_output(PAGE.read_text(), Path(name)))


if __name__ == "__main__":
    main()
