"""Small objects whose arenas are far apart: CPython's table of arenas grows while it makes one."""

import mmap

MIB = 1 << 20
GIB = 1 << 30
NO_RESERVE = 0x4000
TUPLE_BYTES = 56

APART = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
apart = []
chains = []
for count in range(8, 48):
    # The next arena is below this mapping, so that no part of the table covers it yet.
    apart.append(mmap.mmap(-1, 32 * GIB, flags=APART, prot=mmap.PROT_READ))
    # Functions with different numbers of variables have frame objects of different sizes.
    names = "\n".join(f"    v{number} = 0" for number in range(count))
    code = f"def fill(chain, length):\n{names}\n    for _ in range(length): chain = (chain, v1)\n"
    space: dict[str, object] = {}
    exec(code + "    return chain", space)
    chains.append(space["fill"](None, 5 * MIB // 4 // TUPLE_BYTES))  # type: ignore[operator]

for chain in chains:
    rest = chain
    length = 0
    while rest is not None:
        rest = rest[0]
        length += 1
    assert length == 5 * MIB // 4 // TUPLE_BYTES
