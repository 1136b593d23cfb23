"""How each memory behaves: kernels, statistics, noise; writes a DeviceProfile.

Glossary
--------
spec        a memory as typed: ``dram``, ``node:1,pages=4k``, ``file:/mnt/pmem0`` (`spec`)
kernel      a native loop that declares its traffic (native/measure/kernels)
point       one thing measured: a kernel with its region, pages, chains, threads, load (`points`)
round       every point once; what drifts, drifts for all points (`rounds`)
companion   a thread beside the timed one: a PAUSE spin, a contending core, a load generator
A/A floor   what the first half of the rounds differs from the second, where nothing changed
"""
