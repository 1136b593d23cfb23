"""Builds the site (build/docs/html) and the man pages (build/docs/man), from docs/ and the code.

Sphinx reads a copy of docs/ into which the reference was written, so that nothing generated is
ever beside what people wrote. The pages use no network: `build/docs/html/index.html` opens as is.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from cyclopts import App
from sphinx.cmd.build import build_main

sys.path.insert(0, str(Path(__file__).parent))
from man import write_man_sources  # beside this file
from reference import pages

from nearfar.commands import add_commands

REPOSITORY = Path(__file__).resolve().parent.parent
OUTPUT = REPOSITORY / "build" / "docs"
GENERATED = ("DESIGN.md", "CHANGELOG.md")
"""Pages at the top of the repository that belong to the site as they are."""
IN_REPOSITORY = re.compile(r"\]\((?!https?://|#)([^)#]+)(#[^)]*)?\)")


def prepare(source: Path) -> None:
    """Fill `source` with the pages people wrote and those made from the code."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(REPOSITORY / "docs", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name in GENERATED:
        (source / name).write_text(_from_top((REPOSITORY / name).read_text()))
    reference = source / "reference"
    reference.mkdir()
    for name, text in pages().items():
        (reference / name).write_text(text)
    app = App(name="nearfar")
    add_commands(app)
    write_man_sources(source / "man", app)


def _from_top(text: str) -> str:
    """Return a page of the repository's top with links to files outside the site as plain code."""

    def link(found: re.Match[str]) -> str:
        target = found.group(1)
        if target.startswith("docs/") and target.endswith(".md"):
            return f"]({target.removeprefix('docs/')}{found.group(2) or ''})"
        return found.group(0) if target in GENERATED else f"] (`{target}`)"

    return IN_REPOSITORY.sub(link, text)


def build(builder: str, source: Path) -> int:
    """Run one of Sphinx's builders; warnings are errors."""
    folder = OUTPUT / builder
    cache = OUTPUT / "cache" / builder
    options = ["-q", "-W", "--keep-going", "-E", "-b", builder, "-d", str(cache)]
    return int(build_main([*options, str(source), str(folder)]))


def main() -> int:
    """Build the site and the man pages."""
    source = OUTPUT / "source"
    prepare(source)
    failed = build("html", source) or build("man", source)
    if not failed:
        print(f"open {(OUTPUT / 'html' / 'index.html').relative_to(REPOSITORY)}")
        print(f"man {(OUTPUT / 'man' / 'nearfar.1').relative_to(REPOSITORY)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
