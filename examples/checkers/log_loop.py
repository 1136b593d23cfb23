"""A checker of the logs of examples/pitfalls that stays.

`log_loop.py POOL` judges one image; with NEARFAR_CRASH_LOOP it judges the image that each line
names.
"""

import os
import struct
import sys
from pathlib import Path


def check(path):
    """Return what is wrong with a pool, or an empty text."""
    with Path(path).open("rb") as pool:
        entries, size = struct.unpack("<II56x", pool.read(64))
        if size != entries * 64:
            return f"head: {entries} entries, {size} bytes"
        for entry in range(entries):
            if struct.unpack("<8Q", pool.read(64)) != (entry + 1,) * 8:
                return f"entry {entry} of {entries} is incomplete"
    return ""


if "NEARFAR_CRASH_LOOP" not in os.environ:
    sys.exit(check(sys.argv[1]) or 0)
print("ready", flush=True)
for line in sys.stdin:
    path, done, begun = line.split()
    wrong = check(path)
    if wrong:
        print(wrong)
    print("refuse" if wrong else "accept", flush=True)
