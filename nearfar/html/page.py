"""A page in the report's style without scripts, as `compare`, `fleet` and `crash` write it.

A part is HTML that was escaped where it was made; nothing is fetched, and nothing can run.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from nearfar.documents.header import Producer

HERE = Path(__file__).parent
STYLE_SHEET = HERE / "page.css"


def text(value: object) -> str:
    """Escape a value for HTML."""
    return html.escape(str(value))


def table(heads: Sequence[tuple[str, bool]], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return a table; heads are (text, whether numbers), rows (class, cells of escaped HTML)."""
    cells = "".join(
        f'<th scope="col"{_number_class(is_number)}>{text(head)}</th>' for head, is_number in heads
    )
    body = "".join(
        f'<tr class="{css}">'
        + "".join(f"<td{_number_class(heads[i][1])}>{cell}</td>" for i, cell in enumerate(row))
        + "</tr>"
        for css, row in rows
    )
    return (
        f'<div class="table-frame card"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _number_class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def page(title: str, sections: Sequence[tuple[str, str, str]], made: Producer) -> str:
    """Return a whole page; sections are (id, heading, HTML)."""
    parts = [(name, head, Markup(content)) for name, head, content in sections]
    return environment().get_template("page.html").render(title=title, sections=parts, made=made)


def environment(folder: Path = HERE) -> jinja2.Environment:
    """Return the Jinja environment of the templates in `folder`; they may extend `page.html`."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, HERE]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["css"] = Markup(STYLE_SHEET.read_text())  # our own files
    made.globals["parts_css"] = Markup((HERE / "parts.css").read_text())
    return made
