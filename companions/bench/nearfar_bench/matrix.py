"""The cells of an experiment."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from nearfar.base.errors import NearfarError
from nearfar_bench.experiment import Experiment


def cells(experiment: Experiment) -> list[dict[str, str]]:
    """Return every combination of the matrix that is not left out, the last key fastest."""
    keys = list(experiment.matrix)
    matching = []
    for values in itertools.product(*(experiment.matrix[key] for key in keys)):
        cell = dict(zip(keys, values, strict=True))
        if not any(
            _matches({**experiment.arguments, **cell}, rule) for rule in experiment.leave_out
        ):
            matching.append(cell)
    if not matching:
        raise NearfarError(f"the experiment {experiment.name} leaves out all of its combinations")
    return matching


def baseline_of(cell: Mapping[str, str], compare: Mapping[str, str]) -> dict[str, str] | None:
    """Return the baseline of a cell; None if it is one itself, or nothing is compared."""
    if not compare or all(cell.get(key) == value for key, value in compare.items()):
        return None
    return {**cell, **compare}


def _matches(cell: Mapping[str, str], rule: Mapping[str, list[str]]) -> bool:
    return all(cell.get(key) in values for key, values in rule.items())
