"""Run a program slower, as if its memory were a far memory that this machine does not have.

`mechanisms/` has one file per mechanism: `node` (another NUMA node), `contention` (a core that
loads memory meanwhile) and `delays` (waits at the simulated misses of an instrumented program).
Each mechanism is tested first: `probes` runs a chase, chains and a stream with it and compares
their times with the far memory's profile.
"""
