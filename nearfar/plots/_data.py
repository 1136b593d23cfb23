"""The data of one memory to draw, the panels of a picture, and the registry of pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes

from nearfar.base.registry import Registry
from nearfar.documents.device import DeviceProfile
from nearfar.documents.machine import JointLimit
from nearfar.samples.evidence import Evidence
from nearfar.samples.store import SampleRecord

PICTURES: Registry[Callable[[Drawing], list[Panel]]] = Registry("nearfar.plots", "picture")


@dataclass(frozen=True)
class Drawing:
    """One memory: its profile and, if stored, samples, evidence and joint limits."""

    device: DeviceProfile
    records: Sequence[SampleRecord] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    joint_limits: Sequence[JointLimit] = ()


@dataclass(frozen=True)
class Panel:
    """One pair of axes with its heading; `draw` fills it."""

    title: str
    draw: Callable[[Axes], None]
    note: str = ""
    """Said under the heading, where no data are."""
