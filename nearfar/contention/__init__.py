"""Memory that a program's data can be put into, and processes that load it from another core.

- `program_memory`: a memory spec as a kernel or program uses it, and the slower memories here
- `companion`: a process on another core that runs only while a sample is taken
- `load`: the program of a companion that loads memory
"""
