"""What all tests of the core and the companions rely on.

Modules of `tests/python`, `tests/closed_forms` and of a companion's `tests` can be imported by
their name.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from nearfar.__main__ import main

ROOT = Path(__file__).parent
TIMEOUT_S, LONG_TIMEOUT_S = 600.0, 3600.0
"""Time-outs on a quiet machine; they grow on a slow or busy one."""
FOLDERS = (
    "tests/python",
    "tests/closed_forms",
    "companions/imports/tests",
    "companions/like/tests",
)
sys.path[:0] = [str(ROOT / folder) for folder in FOLDERS]
from patience import extend_alarm  # noqa: E402

# A stall of a shared machine is no failure: no example has a time to keep. Every run tries the same
# examples, so that a rare one fails where it was introduced; `--hypothesis-profile=search` tries
# others, and `make test-long` four times as many. Costly properties draw a share of a profile's
# examples (tests/python/property_examples.py).
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("search", **PATIENT)
settings.register_profile("shared machine", **PATIENT, derandomize=True, max_examples=100)
settings.register_profile("long", **PATIENT, derandomize=True, max_examples=400)
settings.load_profile("shared machine")

# Searching all tests and what they import for garbage takes a tenth of the CPU time.
gc.disable()

# A shell that starts the tests in its background has them ignore Ctrl-C, and so would every
# program they start: those that test being interrupted would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests, give each a time-out, and repeat once those marked `timing`."""
    _longest_first(items)
    for item in items:
        if item.get_closest_marker("timing"):
            item.add_marker(pytest.mark.flaky(reruns=1))
        if config.getoption("timeout") is None and not item.get_closest_marker("timeout"):
            long = item.get_closest_marker("long")
            item.add_marker(pytest.mark.timeout(LONG_TIMEOUT_S if long else TIMEOUT_S))


def pytest_collection_finish() -> None:
    """Search for garbage among what tests make, less often than by default."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


def pytest_unconfigure() -> None:
    """Let the interpreter's end free what tests are made of."""
    gc.unfreeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> Iterator[None]:
    """Give a test whose time is up as much more as the machine is slower than a quiet one."""
    yield
    if item.config.getoption("timeout") is None and settings.method == "signal":
        extend_alarm(settings.timeout)


def _longest_first(items: list[pytest.Item]) -> None:
    """Begin with the longest files, and put those that measure this machine far apart.

    Workers take whole files: one would be alone at the end, and two that measure at once share the
    CPU that measuring is pinned to, while the other is idle. The first files do not need
    the fixture `whole_path`: one worker would wait while the other makes it.
    """
    first = ("e2e/test_try", "e2e/test_", "companions/studies/")
    measuring = ("test_core.py", "_native", "_real", "measure_verb", "validate_verb", "bench_verb")
    items.sort(key=lambda item: [part not in item.nodeid.partition("::")[0] for part in first])
    files = list(dict.fromkeys(item.path for item in items))
    apart = [file for file in files if any(part in file.as_posix() for part in measuring)]
    place = {file: float(at) for at, file in enumerate(files)}
    place |= {file: (at + 0.5) * len(files) / len(apart) for at, file in enumerate(apart)}
    items.sort(key=lambda item: place[item.path])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set up a repeated test's module fixtures anew: they hold the measurement that failed."""
    if getattr(item, "execution_count", 1) > 1 and isinstance(item, pytest.Function):
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            if definitions[-1].scope == "module":
                definitions[-1].finish(item._request)


@pytest.fixture
def refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[str]], tuple[int, str]]:
    """Return a function that runs a command that is refused in this process, in an empty folder.

    It returns the exit code and the one line of standard error, and fails if the command printed
    another number of lines or left a file. Without an interpreter's start, a hundred are quick.
    """
    monkeypatch.chdir(tmp_path)

    def run(words: list[str]) -> tuple[int, str]:
        code = main(words)
        stderr = capfd.readouterr().err
        assert len(stderr.splitlines()) == 1, stderr
        assert list(tmp_path.iterdir()) == []
        return code, stderr

    return run
