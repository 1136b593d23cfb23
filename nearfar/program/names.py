"""Function names without return type, arguments and template arguments."""

from __future__ import annotations

import re

_ANONYMOUS = "(anonymous namespace)::"
# Suffixes of specialised copies of a function: .llvm.123, .cold, .part.0.
_SUFFIX = re.compile(r"\.(?:llvm|cold|part|isra|constprop)\b[.0-9]*$")
# Rust's older mangling: a hash at the end, punctuation as $LT$ and dots.
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}(?= |\(|$)")
_RUST_MARKS = {"$LT$": "<", "$GT$": ">", "$C$": ",", "$u20$": " ", "$RF$": "&", "..": "::"}
# A return type in parentheses, which do not enclose arguments.
_DECLTYPE = re.compile(r"^decltype ?\(")
_OPERATOR = re.compile(r"\boperator\s*(?:new|delete|<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))")
# Fortran: flang writes _QMmodulePprocedure with a capital before each name, gfortran
# __module_MOD_procedure.
_FLANG = re.compile(r"_Q[A-Z][A-Za-z0-9_.]*$")
_FLANG_PART = re.compile(r"[A-Z]([a-z0-9_.]+)")
_GFORTRAN = re.compile(r"__([a-z][a-z0-9_]*)_MOD_([a-z][a-z0-9_]*)")
_FORTRAN_MAINS = ("_QQmain", "MAIN__")


def fortran_name(name: str) -> str:
    """Return ``module::procedure`` for a name that a Fortran compiler made; others unchanged."""
    if name in _FORTRAN_MAINS:
        return "main"
    if _FLANG.match(name):
        return "::".join(_FLANG_PART.findall(name[2:])) or name
    return _GFORTRAN.sub(r"\1::\2", name)


def is_rust(function: str) -> bool:
    """Return whether a demangled name is of Rust, by the hash at its end."""
    return _RUST_HASH.search(function) is not None


def bare_name(function: str) -> str:
    """Return ``ns::Class::method`` for ``int ns::Class<int>::method<2>(std::string) const``."""
    function = fortran_name(_rust(function))
    name = _without_decltype(_SUFFIX.sub("", function).replace(_ANONYMOUS, ""))
    operator = _OPERATOR.search(name)
    if operator is not None and "<" not in name[: operator.start()].rpartition(" ")[2]:
        # Angle brackets, parentheses and spaces of an operator are part of its name.
        owner = name[: operator.start()].rpartition(" ")[2]
        return owner + operator.group()
    kept: list[str] = []
    depth = 0
    for letter in name:
        if letter == "<":
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
        elif depth == 0:
            if letter == "(":
                break
            kept.append(letter)
    return "".join(kept).strip().rpartition(" ")[2] or function


def _without_decltype(name: str) -> str:
    """Return ``f(int)`` for ``decltype(g(1)) f(int)``."""
    if (start := _DECLTYPE.match(name)) is None:
        return name
    depth = 1
    for at in range(start.end(), len(name)):
        depth += {"(": 1, ")": -1}.get(name[at], 0)
        if depth == 0:
            return name[at + 1 :].lstrip()
    return name


def _rust(name: str) -> str:
    """Return ``alloc::Global::allocate`` for ``<alloc::Global as core::Allocator>::allocate``."""
    if _RUST_HASH.search(name):
        name = _RUST_HASH.sub("", name)
        for mark, meant in _RUST_MARKS.items():
            name = name.replace(mark, meant)
        name = name.removeprefix("_") if name.startswith("_<") else name
    if not name.startswith("<"):
        return name
    depth = 0
    for at, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if depth == 0:
            return name[1:at].partition(" as ")[0] + name[at + 1 :]
    return name
