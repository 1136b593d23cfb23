"""Buffers that are made on four lines of two functions."""

MIB = 1 << 20


def make() -> list[bytearray]:
    first = bytearray(8 * MIB)
    second = bytearray(8 * MIB)
    return [first, second]


def count() -> list[int]:
    return list(range(1 << 19))


def fill(buffers: list[bytearray]) -> None:
    for buffer in buffers:
        buffer[::4096] = bytes([1]) * (len(buffer) // 4096)


buffers = [*make(), bytearray(8 * MIB)]
numbers = count()
fill(buffers)
assert sum(map(sum, buffers)) == 3 * 2048
assert sum(numbers) == (1 << 18) * ((1 << 19) - 1)
