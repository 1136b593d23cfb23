"""The tutorial's output is made by a script, and the site's search finds the page for a word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.tutorial import PAGE, is_shown, with_output

from .commands import REPOSITORY, commands

PAGE_TEXT = """# Page

```sh
nearfar --version
```

prints the version.

```sh
make setup
```
"""


def test_the_script_puts_below_each_block_what_it_prints(tmp_path: Path) -> None:
    page = with_output(PAGE_TEXT, tmp_path)
    before, shown, after = re.split(r"```text\n(.*?)\n```\n", page, flags=re.DOTALL)
    assert shown.startswith("nearfar ")
    assert before.endswith("nearfar --version\n```\n\n") and after.startswith("\nprints")
    # Once more, and what is there is replaced.
    assert with_output(page, tmp_path) == page


def test_a_command_that_fails_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"nearfar predict none\.json"):
        with_output(PAGE_TEXT.replace("--version", "predict none.json"), tmp_path)


def test_the_tutorials_commands_are_shown() -> None:
    shown = [command.text for command in commands(PAGE) if is_shown(command.text)]
    assert len(shown) >= 7
    assert not any(text.startswith(("nearfar emulate", "nearfar c++")) for text in shown)


def best_heading(word: str) -> str:
    """Return the page that the site's search lists first: by headings, as Sphinx scores them.

    A heading counts if the word is at least half of it, the more the shorter it is.
    """
    scores: dict[str, float] = {}
    for page in sorted((REPOSITORY / "docs").glob("*.md")):
        for title in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE):
            if word in title.lower() and 2 * len(word) >= len(title):
                scores[page.name] = max(scores.get(page.name, 0.0), len(word) / len(title))
    return max(scores, key=lambda name: scores[name]) if scores else ""


@pytest.mark.parametrize(("word", "page"), [("budget", "place.md")])
def test_a_search_finds_the_page(word: str, page: str) -> None:
    assert best_heading(word) == page
