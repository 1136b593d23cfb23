"""Check predictions against measurements in a slower memory of this machine.

Glossary
--------
kernel        a small program of a fixed list (`kernels/*.c`) that checks its own result
near, far     the two memories of a session; far is physically slower, or the stand-in for it
co-runner     a process on another CPU: spins to make near equal to far, or loads memory
core pairing  which caches two virtual CPUs share; samples of one pairing are compared
round         near, far, far, near: one sample of each half, so that drift cancels
session       all kernels and programs once, device curves measured in between
A/A floor     difference of two measurements of the same thing: smaller errors mean nothing
conformal     intervals from the errors on other kernels (`conformal`): never from a kernel's own
"""
