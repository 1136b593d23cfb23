"""A key of a sweep's block that names an option of its verb has the option's default."""

from __future__ import annotations

import msgspec
import pytest

from nearfar.options.option import option_fields
from nearfar.options.place import PlaceOptions
from nearfar.options.predict import PredictOptions
from nearfar.options.simulate import SimulateOptions
from nearfar.points.kind import POINT_KINDS

VERBS = {"place": PlaceOptions, "predict": PredictOptions, "simulate": SimulateOptions}

OTHER_MEANING = {
    "predict.model": "formulas and counters choose their own where none is named",
    "predict.phase": "a point is one phase, or all of them",
    "predict.size": "a table here",
}


@pytest.mark.parametrize("name", VERBS)
def test_keys_have_the_options_defaults(name: str) -> None:
    options = {entry.name: entry for entry in option_fields(VERBS[name])}
    shared = 0
    for key in msgspec.structs.fields(POINT_KINDS.get(name)):
        if key.name not in options or key.required or f"{name}.{key.name}" in OTHER_MEANING:
            continue
        assert key.default == options[key.name].default, key.name
        shared += 1
    assert shared >= 2
