"""Are the predictions right, on this machine, for a memory it really has?

Glossary
--------
kernel      a small program of a fixed list (`kernels/*.c`) that checks its own answer
near, far   the two memories of a session; far is physically slower, or the stand-in for it
place       a memory spec as a kernel's or program's memory (`place`)
companion   a process on another core: spins for an idle machine, or contends
round       near, far, far, near: one sample of each half, so that what drifts cancels
session     all kernels and programs once, device curves measured in between
A/A floor   how far two measurements of the same thing are apart: no error below it means anything
conformal   intervals from the errors on other kernels (`conformal`): never from a kernel's own
"""
