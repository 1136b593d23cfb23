"""Formulas as text: numbers, names, + - * / // % ** and a few functions; nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from nearfar.base.errors import NearfarError, nearest

FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "ln": math.log,
    "log2": math.log2,
    "max": max,
    "min": min,
    "sqrt": math.sqrt,
}
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def evaluate(text: str | float, names: Mapping[str, float], where: str) -> float:
    """Return the value of a formula over `names`; `where` names the formula in errors.

    All arithmetic is floating point, so no formula grows without bound. Raises NearfarError for
    text that is not a formula, an unknown name (with the nearest), and a result that is not finite.
    """
    if isinstance(text, int | float):
        return float(text)
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NearfarError(f"{where}: cannot read the formula {text!r}") from None
    try:
        value = _value(tree.body, names, f"{where}, formula {text!r}")
    except (ArithmeticError, ValueError, TypeError) as error:
        raise NearfarError(f"{where}: the formula {text!r} has no value: {error}") from None
    except RecursionError:
        raise NearfarError(f"{where}: the formula {text[:40]!r}... is too deep") from None
    if isinstance(value, complex) or not math.isfinite(value):
        raise NearfarError(f"{where}: the formula {text!r} gives {value}, expected a finite number")
    return float(value)


def _value(node: ast.expr, names: Mapping[str, float], where: str) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]  # checked above
    if isinstance(node, ast.Name):
        if node.id not in names:
            known = [*names, *FUNCTIONS]
            hint = nearest(node.id, known) or f"; there are: {', '.join(names)}"
            raise NearfarError(f"{where}: unknown name {node.id!r}{hint}")
        return float(names[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand, names, where)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = (_value(side, names, where) for side in (node.left, node.right))
        return OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in FUNCTIONS:
            known = list(FUNCTIONS)
            hint = nearest(node.func.id, known) or f"; there are: {', '.join(known)}"
            raise NearfarError(f"{where}: unknown function {node.func.id!r}{hint}")
        return float(
            FUNCTIONS[node.func.id](*(_value(argument, names, where) for argument in node.args))
        )
    raise NearfarError(
        f"{where}: only numbers, names, + - * / // % ** and {', '.join(FUNCTIONS)} are allowed"
    )
