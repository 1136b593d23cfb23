"""Small objects, a library's mapping, and a large list made by two callers of one function."""

import mmap


def make(count: int) -> list[int]:
    return list(range(count))


def first() -> list[int]:
    return make(1 << 16)


def second() -> list[int]:
    return make(1 << 16)


mapped = mmap.mmap(-1, 1 << 20)
lists = [first(), second()]
for _ in range(2):
    for numbers in lists:
        total = sum(numbers)
    mapped[::64] = bytes(len(mapped) // 64)
