"""Loads a Redis server and makes it work, marking each phase for nearfar.

The work is done by scripts inside the server (EVAL), so that client and server do not compete
for the cores. The data is a shop's: sessions (strings of 64 to 512 bytes), customers (hashes of
eight fields) and a ranking (one sorted set).

Called by `nearfar profile --driver`, which says in the environment where the run is.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from pathlib import Path

from nearfar.program.control import Control

CHUNK = 20_000
"""Operations a script does before it answers: long enough that the client's share is nothing."""

LOAD_SESSIONS = """
math.randomseed(tonumber(ARGV[1]))
for i = ARGV[1], ARGV[2] do
  redis.call('SET', 'session:' .. i, string.rep('s', math.random(64, 512)))
end"""
LOAD_CUSTOMERS = """
for i = ARGV[1], ARGV[2] do
  redis.call('HSET', 'customer:' .. i, 'name', 'name' .. i, 'mail', i .. '@example.org',
    'street', 'street ' .. i, 'city', 'city' .. i % 977, 'orders', i % 17, 'credit', i % 1009,
    'since', 1990 + i % 30, 'note', string.rep('n', i % 40))
end"""
LOAD_RANKING = """
math.randomseed(tonumber(ARGV[1]))
for i = ARGV[1], ARGV[2] do
  redis.call('ZADD', 'ranking', math.random(), 'customer:' .. i)
end"""
# Squaring a uniform number makes a quarter of the keys take half of the requests.
GET = """
math.randomseed(tonumber(ARGV[1]))
local n, hits = tonumber(ARGV[3]), 0
for i = ARGV[1], ARGV[2] do
  local r = math.random()
  if redis.call('GET', 'session:' .. math.floor(r * r * n)) then hits = hits + 1 end
end
return hits"""
ORDER = """
math.randomseed(tonumber(ARGV[1]))
local n, hits = tonumber(ARGV[3]), 0
for i = ARGV[1], ARGV[2] do
  local customer = 'customer:' .. math.floor(math.random() * n)
  if redis.call('HGET', customer, 'credit') then hits = hits + 1 end
  redis.call('HINCRBY', customer, 'orders', 1)
end
return hits"""
RANK = """
math.randomseed(tonumber(ARGV[1]))
local n, hits = tonumber(ARGV[3]), 0
for i = ARGV[1], ARGV[2] do
  local customer = 'customer:' .. math.floor(math.random() * n)
  redis.call('ZINCRBY', 'ranking', 0.001, customer)
  if redis.call('ZREVRANK', 'ranking', customer) then hits = hits + 1 end
end
return hits"""


class Client:
    """As much of the Redis protocol as the scripts need."""

    def __init__(self, path: Path, patience_s: float = 20.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        deadline = time.monotonic() + patience_s
        while True:
            try:
                self._socket.connect(str(path))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    sys.exit(f"drive_redis: no server at {path} after {patience_s:g} s")
                time.sleep(0.01)
        self._reader = self._socket.makefile("rb")

    def call(self, *words: object) -> bytes:
        """Send one command; return the line or the bulk string it answers."""
        encoded = [str(word).encode() for word in words]
        message = b"*%d\r\n" % len(encoded)
        self._socket.sendall(
            message + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)
        )
        line = self._reader.readline().rstrip()
        if line.startswith(b"-"):
            sys.exit(f"drive_redis: {words[0]}: {line.decode()}")
        if line.startswith(b"$") and line != b"$-1":
            return self._reader.read(int(line[1:]) + 2)[:-2]
        return line[1:]

    def script(self, text: str, count: int, *arguments: object) -> int:
        """Run `text` over 0 .. count-1 in chunks; return the sum of what it answered."""
        total = 0
        for first in range(0, count, CHUNK):
            last = min(first + CHUNK, count) - 1
            answer = self.call("EVAL", text, 0, first, last, *arguments)
            total += int(answer) if answer.isdigit() else 0
        return total


def drive(client: Client, control: Control, sessions: int, requests: int) -> None:
    """Load, then serve three kinds of requests, each a phase whose answers are checked."""
    customers = sessions // 4
    control.begin("load")
    client.script(LOAD_SESSIONS, sessions)
    client.script(LOAD_CUSTOMERS, customers)
    client.script(LOAD_RANKING, customers)
    control.end("load", operations=sessions + 2 * customers)
    for name, script, count, keys in (
        ("get", GET, requests, sessions),
        ("order", ORDER, requests // 2, customers),
        ("rank", RANK, requests // 4, customers),
    ):
        control.begin(name)
        answered = client.script(script, count, keys)
        control.end(name, operations=count)
        if answered != count:
            sys.exit(f"drive_redis: phase {name}: {answered} of {count} requests found their key")


def main() -> None:
    """Drive the server whose run folder the environment names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("socket", type=Path)
    parser.add_argument("--sessions", type=int, default=200_000)
    parser.add_argument("--requests", type=int, default=200_000)
    options = parser.parse_args()
    control = Control(Path(os.environ["NEARFAR_RUN_DIR"]))
    drive(Client(options.socket), control, options.sessions, options.requests)


if __name__ == "__main__":
    main()
