"""The man pages' sources, one a verb, from the verbs' own help."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from nearfar.commands import heading_of, verbs

APART = "---\norphan: true\n---\n\n"
"""These pages are for `man`; the site has the same in its reference."""


def write_man_sources(folder: Path, app: App) -> None:
    """Write one page a verb into `folder`, and one of the program."""
    folder.mkdir(parents=True)
    (folder / "nearfar.md").write_text(APART + _program(app))
    for name in verb_names(app):
        text = app[name].generate_docs(output_format="markdown", usage_name=f"nearfar {name}")
        (folder / f"nearfar-{name}.md").write_text(APART + text)


def verb_names(app: App) -> list[str]:
    """Return the verbs, in order."""
    return sorted(name for name in app if not name.startswith("-"))


def _program(app: App) -> str:
    lines = ["# nearfar", "", "Predict how a program runs when some of its memory is far.", ""]
    group = ""
    for name in sorted(verb_names(app), key=verbs().index):
        if heading_of(name) != group:
            group = heading_of(name)
            lines += ["", f"## {group}", ""]
        summary = (app[name].help or "").strip().splitlines()
        lines.append(
            f"- **nearfar {name}**: {summary[0] if summary else ''} See nearfar-{name}(1)."
        )
    return "\n".join(lines) + "\n"
