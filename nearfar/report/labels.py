"""Short names: C++ names without arguments and template parameters.

Every label comes with the full name (`name`).
"""

from __future__ import annotations

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


def short_labels(names: Sequence[str]) -> list[str]:
    """Return a label for each name with only the outermost caller, if there are any: ``f ← g``.

    Labels that would be the same get more callers, those next to the site first:
    ``f ← a ← g`` and ``f ← b ← g``.
    """
    parts = [label(name).split(_CALLED_BY) for name in names]
    shown = [_ends(each, 0) for each in parts]
    for between in range(1, max(map(len, parts), default=0) - 1):
        counts = Counter(shown)
        shown = [
            _ends(each, between) if counts[text] > 1 else text
            for each, text in zip(parts, shown, strict=True)
        ]
    return shown


def _ends(parts: Sequence[str], between: int) -> str:
    """Return the site, as many of its next callers as `between` says, and the outermost one."""
    site, *callers = parts
    if not callers:
        return site
    return _CALLED_BY.join([_without_place(site), *callers[:-1][:between], callers[-1]])


def _without_place(part: str) -> str:
    match = _PLACE.match(part)
    return (match["function"] if match else "") or part


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
