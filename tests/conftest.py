"""What every test may rely on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A stall of a shared machine is no failure: no example has a time to keep.
settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")

# A shell that starts the tests in its background has them ignore Ctrl-C, and so would every
# program they start: those that test being interrupted would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files: workers take whole files, and one would be alone at the end."""
    here = Path(__file__).parent
    first = ("vm", "e2e/test_redis", "e2e/test_", "python/validate", "python/predict/test_cycle")

    def order(item: pytest.Item) -> int:
        name = item.path.relative_to(here).as_posix()
        return next((at for at, begin in enumerate(first) if name.startswith(begin)), len(first))

    items.sort(key=order)
