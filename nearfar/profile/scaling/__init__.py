"""From profiles of a program at several sizes to that of a size nobody ran.

- *growth*: how one number grows with the size: the law that predicts the larger sizes from the
  smaller ones, which it was not fitted to.
- *joined*: the profiles side by side: the same phases, the same objects.
- *curves*: miss curves. A cache of a given size is to a large run what a smaller cache is to a
  small one: capacities scale with the footprint, counts grow by a law.
- *times*: near time, by its own growth, or by what accesses and misses cost.
- *checks*: when the profiles do not support it.
- *rows*, *phase*: one object in one phase, one phase.
- *extrapolate*: puts a WorkloadProfile together.
"""
