"""What every test may rely on."""

from __future__ import annotations

import signal
from collections.abc import Generator
from pathlib import Path

import pytest

# A shell that starts the tests in its background has them ignore Ctrl-C, and so would every
# program they start: those that test being interrupted would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Let two workers share the tests by file; what shares a run of the whole path stays together.

    The longest begin first, or one worker would be at them alone in the end.
    """

    def group(item: pytest.Item) -> str:
        e2e = item.path.parent.name == "e2e" and item.path.name != "test_redis.py"
        return "whole path" if e2e else str(item.path.relative_to(Path(__file__).parent))

    first = ("vm/", "e2e/test_redis", "whole path")

    def order(item: pytest.Item) -> int:
        name = group(item)
        return next((at for at, begin in enumerate(first) if name.startswith(begin)), len(first))

    items.sort(key=order)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    return (yield)
