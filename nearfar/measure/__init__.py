"""How each memory behaves: kernels, statistics, noise; writes a DeviceProfile.

Glossary
--------
spec        a memory as typed: ``dram``, ``node:1,pages=4k``, ``model:optane-200``
subject     what can be sampled: a real memory (`sampler`) or a simulated one (`model`)
part        surfaces, inference, protocols, instrument: each has its share of the time (`parts`)
kernel      a native loop that declares its traffic (native/measure/kernels)
surface     points of one kind and the figures they give (`surfaces`)
point       what is sampled once a round: a kernel with its region, pages, chains, threads, load
round       every point once; what drifts, drifts for all points (`rounds`)
co-runner   a thread next to the timed one: a PAUSE spin, a contending core, a load generator
A/A floor   difference of the first and the second half of the rounds, though nothing changed
"""
