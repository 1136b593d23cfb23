"""Short names: C++ names without arguments and template parameters.

Every label comes with the full name (`name`).
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence

_PLACE = re.compile(r"^(?P<function>.*?)(?P<place> [^ ]+:\d+)?$", re.DOTALL)
_OPERATOR = re.compile(r"\boperator *(?:<=>|<<=|>>=|<<|>>|<=|>=|->\*|->|<|>|\(\))")
_CALLER = " < "
"""Between a site and its caller in an object's name."""
_CALLED_BY = " ← "
"""The same in a label."""
_KEPT_WORDS = frozenset(["new", "delete", "new[]", "delete[]", "operator"])
"""Second words of ``operator new``, which is one name."""


def label(name: str) -> str:
    """Shorten ``R ns::f<A, B>(C) file.cc:12 < g h.cc:3`` to ``ns::f<…> file.cc:12 ← g``.

    Text that cannot be a demangled C++ name, such as text with unbalanced brackets, is returned
    unchanged.
    """
    site, *callers = name.split(_CALLER)
    shorter = [_shorten(site), *(_without_place(_shorten(caller)) for caller in callers)]
    return _CALLED_BY.join(part for part in shorter if part) or name


def short_labels(labels: Sequence[str]) -> list[str]:
    """Return each label with only the outermost caller, if there are any: ``f ← g``.

    Those that would be the same get more callers, those next to the site first: ``f ← a ← g`` and
    ``f ← b ← g``; then the whole label; then a number.
    """
    parts = [text.split(_CALLED_BY) for text in labels]
    shown = [_ends(each, 0) for each in parts]
    alike = _alike(shown)
    for between in range(1, max((len(parts[i]) for i in alike), default=0) - 1):
        for i in alike:
            shown[i] = _ends(parts[i], between)
        alike = _alike(shown)
    for i in alike:
        shown[i] = labels[i]
    seen: Counter[str] = Counter()
    for i in _alike(shown):
        seen[labels[i]] += 1
        shown[i] = f"{labels[i]} ({seen[labels[i]]})"
    return shown


def _alike(shown: Sequence[str]) -> list[int]:
    """Return the positions of texts that are there several times."""
    counts = Counter(shown)
    return [i for i, text in enumerate(shown) if counts[text] > 1]


def _ends(parts: Sequence[str], between: int) -> str:
    """Return the site, as many of its next callers as `between` says, and the outermost one."""
    site, *callers = parts
    if not callers:
        return site
    return _CALLED_BY.join([_without_place(site), *callers[:-1][:between], callers[-1]])


def _without_place(part: str) -> str:
    match = _PLACE.match(part)
    return (match["function"] if match else "") or part


@functools.lru_cache(maxsize=1 << 14)
def _shorten(part: str) -> str:
    if not any(mark in part for mark in "<("):
        return part
    match = _PLACE.match(part)
    if match is None:
        return part
    place = match["place"] or ""
    function = match["function"].replace("(anonymous namespace)::", "")
    function = function.removesuffix(" const")
    # Names of operators, such as ``operator<``, contain brackets without a partner.
    hidden: list[str] = []

    def hide(match: re.Match[str]) -> str:
        hidden.append(match[0])
        return f"\x00{len(hidden) - 1}\x00"

    bare = _collapse(_OPERATOR.sub(hide, function))
    if bare is None:
        return part
    words = bare.split()
    if not words:
        return part
    kept = words[-1]
    if len(words) > 1 and (kept in _KEPT_WORDS or words[-2].endswith("operator")):
        kept = f"{words[-2]} {kept}"
    for number, text in enumerate(hidden):
        kept = kept.replace(f"\x00{number}\x00", text)
    return f"{kept}{place}"


def _collapse(text: str) -> str | None:
    """Replace outermost ``<...>`` by ``<…>`` and drop ``(...)``.

    None: brackets do not pair, or a ``<`` follows no name and so begins no template.
    """
    out: list[str] = []
    stack: list[str] = []
    closing = {"<": ">", "(": ")"}
    for letter in text:
        if letter in closing:
            if not stack and letter == "<":
                if not out or not (out[-1].isalnum() or out[-1] in "_\x00"):
                    return None
                out.append("<…>")
            stack.append(closing[letter])
        elif letter in ">)":
            if not stack or stack.pop() != letter:
                return None
        elif not stack:
            out.append(letter)
    return None if stack else "".join(out)
