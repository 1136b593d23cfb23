"""How predictions and their intervals come about, in the words of the code that makes them."""

from __future__ import annotations

import inspect
import sys

from nearfar.predict import interval
from nearfar.predict.model import MODELS


def how_predicted(model: str) -> list[str]:
    """Return paragraphs on `model` and on intervals; a list item starts with ``- ``.

    They are the docstrings of the modules that compute, so the page cannot say otherwise.
    """
    module = sys.modules[MODELS.get(model).__module__]
    return [*paragraphs(module.__doc__ or ""), *paragraphs(interval.__doc__ or "")]


def paragraphs(docstring: str) -> list[str]:
    """Split a docstring into paragraphs and list items, each on one line."""
    texts: list[str] = []
    start_new = True
    for line in inspect.cleandoc(docstring).replace("``", "").splitlines():
        text = line.strip()
        if not text:
            start_new = True
        elif start_new or text.startswith("- "):
            texts.append(text)
            start_new = False
        else:
            texts[-1] += f" {text}"
    return texts
