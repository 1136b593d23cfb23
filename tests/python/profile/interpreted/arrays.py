"""Four arrays that are made on four lines, and read in this order: 4, 3, 2 times, once."""

import numpy as np

COUNT = 1 << 18


def make_in_library() -> list[np.ndarray]:
    ones = np.ones(COUNT)  # numpy's own Python code allocates
    generator = np.random.default_rng(1)
    drawn = generator.random(COUNT)  # a native extension allocates
    return [ones, drawn]


def main() -> None:
    zeros = np.zeros(COUNT)  # without the interpreter's lock
    zeros += 1.0
    raw = bytearray(8 * COUNT)
    ones, drawn = make_in_library()
    view = np.frombuffer(raw)
    for array, rounds in ((zeros, 8), (ones, 6), (drawn, 4), (view, 2)):
        for _ in range(rounds):
            array.sum()


main()
