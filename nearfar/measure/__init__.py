"""How each memory behaves: kernels, statistics, noise; writes a DeviceProfile.

Glossary
--------
spec        a memory as typed: ``dram``, ``node:1,pages=4k``, ``model:optane-200`` (`spec`)
subject     what can be sampled: a real memory (`sampler`) or a simulated one (`model`)
part        surfaces, inference, protocols, instrument: each has its share of the time (`budget`)
kernel      a native loop that declares its traffic (native/measure/kernels)
surface     points of one kind and the figures they give (`surfaces`)
point       one thing measured: a kernel with its region, pages, chains, threads, load (`subject`)
round       every point once; what drifts, drifts for all points (`rounds`)
companion   a thread next to the timed one: a PAUSE spin, a contending core, a load generator
A/A floor   what the first half of the rounds differs from the second, where nothing changed
"""
