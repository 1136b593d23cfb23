"""Allocations in threads, generators and finalizers, and while an exception is handled."""

import gc
import threading
from collections.abc import Iterator


class Cycle:
    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        bytearray(6 << 14)


def blocks(count: int) -> Iterator[bytearray]:
    for _ in range(count):
        yield bytearray(4 << 14)


def fail() -> int:
    try:
        raise ValueError("x" * 9000)
    except ValueError as error:
        block = bytearray(8 << 14)
        return len(block) + len(str(error))


def work() -> None:
    for _ in range(10):
        assert fail() == (8 << 14) + 9000
        for _ in range(10):
            Cycle()
        assert sum(map(len, blocks(5))) == 5 * (4 << 14)


gc.set_threshold(20, 2, 2)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
work()
