"""A page in the report's style without scripts, as `compare` and `fleet` write it.

A part is HTML that was escaped where it was made; nothing is fetched, and nothing can run.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from nearfar.documents.header import Producer

STYLE_SHEET = Path(__file__).parent / "page.css"

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

PAGE_CSS = """
.sides { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); }
.sides .card p { margin: 0 0 .3rem; }
.bar { height: .62rem; border-radius: 2px; margin: .16rem 0; min-width: 1px; }
.bar.a { background: var(--near); } .bar.b { background: var(--far); }
.a-ink { color: var(--near); font-weight: 650; } .b-ink { color: var(--far-ink); font-weight: 650; }
.bars { min-width: 10rem; width: 30%; }
.worse { color: var(--far-ink); font-weight: 650; } .better { color: var(--near); }
tr.over td { background: var(--far-wash); }
.headline { font-size: 1.15rem; }
"""


def text(value: object) -> str:
    """Escape a value for HTML."""
    return html.escape(str(value))


def table(heads: Sequence[tuple[str, bool]], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return a table; heads are (text, whether numbers), rows (class, cells of escaped HTML)."""
    cells = "".join(f'<th scope="col"{_number(right)}>{text(head)}</th>' for head, right in heads)
    body = "".join(
        f'<tr class="{css}">'
        + "".join(f"<td{_number(heads[i][1])}>{cell}</td>" for i, cell in enumerate(row))
        + "</tr>"
        for css, row in rows
    )
    return (
        f'<div class="table-frame card"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _number(right: bool) -> str:
    return ' class="number"' if right else ""


def page(title: str, sections: Sequence[tuple[str, str, str]], made: Producer) -> str:
    """Return a whole page; sections are (id, heading, HTML)."""
    links = "".join(f'<a href="#{text(name)}">{text(head)}</a>' for name, head, _ in sections)
    body = "".join(
        f'<section id="{text(name)}" aria-labelledby="{text(name)}-title">'
        f'<h2 id="{text(name)}-title">{text(head)}</h2>{content}</section>'
        for name, head, content in sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="nearfar {text(made.nearfar_version)}">
<title>{text(title)}</title>
<style>
{STYLE_SHEET.read_text()}{PAGE_CSS}</style>
</head>
<body>
<a class="skip" href="#{text(sections[0][0])}">Skip to the answer</a>
<header class="masthead"><div>
  <span class="brand"><b>near</b><i>far</i></span>
  <h1>{text(title)}</h1>
  <nav aria-label="Parts of this page">{links}</nav>
</div></header>
<main><div class="column">{body}</div></main>
<footer><div class="small quiet"><p>Made by nearfar {text(made.nearfar_version)} on
{text(made.time_utc)} by <code>{text(made.command)}</code>. Every number is in its JSON.</p></div>
</footer>
</body>
</html>
"""
