"""Memories of this machine: how a spec names one, what is checked before use, which CPUs are near.

Files: `spec` parses ``dram``, ``node:1``, ``file:/mnt/pmem0``; `topology` reads CPUs, nodes and
caches; `checks` refuses memories that are missing, busy or too small; `joint_bandwidth` computes
what two memories give together.
"""
