"""Emulate: run a program slower, in a way that stands for a far memory that is not here.

`ways` are ways to do so, one file each: `node` (another NUMA node), `contention` (a core that draws
on memory meanwhile) and `delays` (waits at the simulated misses of an instrumented program). Each
is judged before it is believed: `probes` runs a chase, chains and a stream in the same way and
compares them with what the far memory's profile says.
"""
