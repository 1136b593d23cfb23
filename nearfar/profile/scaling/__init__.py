"""Extrapolation of profiles at several sizes to a size that was never run.

Reading order: `joined` (the profiles side by side), `growth` (laws of one number), `curves` (miss
curves), `rows` (one object in one phase), `near_time`, `phase`, `extrapolate` (the document);
`checks` refuses profiles that do not support the target.
"""
