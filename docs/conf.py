"""How Sphinx makes the site: Markdown by MyST, the theme furo; both work without a network."""

from __future__ import annotations

from pathlib import Path

from nearfar import __version__

project = "nearfar"
author = "nearfar's authors"
version = release = __version__
extensions = ["myst_parser"]
exclude_patterns = ["README.md"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
html_theme = "furo"
html_title = f"nearfar {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path: list[str] = []
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
highlight_language = "none"


def _body(page: Path) -> str:
    """Return a page's text after its front matter, title and usage."""
    text = page.read_text().split("---")[2]
    return text.split("```")[2] if "```" in text else text


def _summary(page: Path) -> str:
    """Return the verb's first sentence: the first plain line after its usage."""
    after_usage = _body(page).splitlines()
    plain = (line for line in after_usage if line.strip() and line[0] not in "#-*:")
    return next(plain, "").rstrip(".")


man_pages = [
    (f"man/{page.stem}", page.stem, _summary(page), author, 1)
    for page in sorted((Path(__file__).parent / "man").glob("*.md"))
]
