"""Fills a memcached over its socket, then reads from it: small values are requested most.

250,000 keys; one in four has a value of 900 bytes, the others of 100. Nine of ten requests are of
small values; among each, keys follow Zipf's law with exponent 0.99. The order in which keys are
stored has nothing to do with their popularity.
"""

from __future__ import annotations

import random
import socket
import sys
import time

KEYS, READS, BATCH = 250_000, 1_000_000, 500
SMALL, LARGE = b"x" * 100, b"y" * 900


def connect(path: str) -> socket.socket:
    """Return a connection; the server may need a while to start."""
    for _ in range(600):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.connect(path)
        except OSError:
            client.close()
            time.sleep(0.05)
        else:
            return client
    raise SystemExit(f"no memcached at {path}")


def read_until(client: socket.socket, end: bytes, count: int) -> None:
    """Read answers until `count` of them ended."""
    seen, rest = 0, b""
    while seen < count:
        data = rest + client.recv(1 << 20)
        seen += data.count(end)
        cut = data.rfind(end)
        rest = data[cut + len(end) :] if cut >= 0 else data[-len(end) :]


def main(path: str) -> None:
    """Store all keys, then read."""
    dice = random.Random(1)
    client = connect(path)
    order = list(range(KEYS))
    dice.shuffle(order)
    for start in range(0, KEYS, BATCH):
        words = []
        for key in order[start : start + BATCH]:
            value = LARGE if key % 4 == 0 else SMALL
            words.append(b"set key:%d 0 0 %d\r\n%s\r\n" % (key, len(value), value))
        client.sendall(b"".join(words))
        read_until(client, b"STORED\r\n", len(words))
    small = [key for key in range(KEYS) if key % 4]
    large = [key for key in range(KEYS) if key % 4 == 0]
    for _ in range(0, READS, BATCH):
        names = []
        for _ in range(BATCH):
            keys = large if dice.random() < 0.1 else small
            last = len(keys) ** 0.01
            rank = int((1.0 + dice.random() * (last - 1.0)) ** 100) - 1
            names.append(b"get key:%d\r\n" % keys[min(rank, len(keys) - 1)])
        client.sendall(b"".join(names))
        read_until(client, b"END\r\n", BATCH)
    client.close()


if __name__ == "__main__":
    main(sys.argv[1])
