"""Joins columns by random keys: four arrays of NumPy, a dictionary of lists, a buffer."""

from __future__ import annotations

import numpy as np


def make_columns(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return keys and values."""
    dice = np.random.default_rng(1)
    keys = dice.integers(0, count, count)
    values = dice.random(count)
    return keys, values


def main() -> None:
    """Gather, scatter, and look up."""
    count = 1_000_000
    keys, values = make_columns(count)
    sums = np.zeros(count)
    for _ in range(4):
        np.add.at(sums, keys, values)
        gathered = sums[keys]
    index: dict[int, int] = dict.fromkeys(range(300_000), 1)
    buffer = bytearray(8_000_000)
    for key in keys[:300_000].tolist():
        index[key % 300_000] += 1
        buffer[8 * key] = 1
    print(gathered.sum(), sum(index.values()), len(buffer))


if __name__ == "__main__":
    main()
