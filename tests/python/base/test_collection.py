"""When Python searches for cycles of objects: not while a plan is made, and seldom in a verb."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from nearfar.base.collection import collection_paused


def test_it_is_paused_for_a_block_that_fails_too() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collection_paused():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_it_stays_as_the_caller_has_it() -> None:
    paused = collection_paused()(gc.isenabled)
    assert not paused()
    gc.disable()
    try:
        assert not paused()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_verb_is_searched_seldom() -> None:
    script = "import gc; from nearfar.__main__ import main; main(); print(gc.get_threshold()[0])"
    run = subprocess.run(
        [sys.executable, "-c", script, "--version"], capture_output=True, text=True, check=True
    )
    assert int(run.stdout.split()[-1]) >= 100_000
