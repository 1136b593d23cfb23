"""The inputs of points: devices and profiles by content, so that any machine can compute them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from nearfar.base.digest import digest_of
from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, Producer, WorkloadProfile
from nearfar.documents.header import load
from nearfar.sim.model_of import RANDOM

DEVICE, PROFILE, CODE, POINT = "device:", "profile:", "code:", "point:"
"""Prefixes of the names of inputs: a device by its spec, a profile or a file of formulas by its
path, the document that another point makes."""

NO_PRODUCER = Producer(
    nearfar_version="", command="", host="", cpu_model="", kernel="", time_utc=""
)

MAX_DECODED = 64
"""Decoded documents that a process keeps: more than a batch reads, and 64 profiles of 10 MB fit in
any worker."""


class PointInputs:
    """Contents by name; decoded once."""

    def __init__(self, contents: Mapping[str, bytes], digests: Mapping[str, str]) -> None:
        self._contents = contents
        self._digests = digests
        self.valid: set[Hashable] = set()
        """Parameters that many points share and that a kind's `check` found valid."""

    def digest(self, name: str) -> str:
        """Return the input's part of a point's name."""
        return name if name.startswith(POINT) else self._digests[name]

    def has(self, name: str) -> bool:
        """Return whether the input is known; while planning, documents of other points are not."""
        return name in self._contents

    def device(self, spec: str) -> DeviceProfile:
        """Return the device that a point names by `spec`."""
        name = DEVICE + spec
        return _device(self._digests[name], _Content(self._contents[name]))

    def profile(self, name: str) -> WorkloadProfile:
        """Return the profile of an input; `name` includes the prefix."""
        return _profile(self._digests[name], _Content(self._contents[name]))

    def text(self, name: str) -> bytes:
        """Return the content as it is."""
        return self._contents[name]

    def of(self, names: list[str]) -> dict[str, tuple[str, bytes]]:
        """Return digest and content of the named inputs."""
        return {name: (self._digests[name], self._contents[name]) for name in names}


class _Content:
    """Bytes left out of a cache's key: all compare equal, so the digest alone is the key."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content)

    def __hash__(self) -> int:
        return 0


@lru_cache(MAX_DECODED)
def _device(digest: str, content: _Content) -> DeviceProfile:
    return msgspec.json.decode(content.data, type=DeviceProfile)


@lru_cache(MAX_DECODED)
def _profile(digest: str, content: _Content) -> WorkloadProfile:
    return msgspec.json.decode(content.data, type=WorkloadProfile)


class InputReader:
    """Reader of inputs on the planning machine; paths are relative to the sweep file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.contents: dict[str, bytes] = {}
        self.digests: dict[str, str] = {}

    def inputs(self) -> PointInputs:
        """Return the inputs, which grow with every read."""
        return PointInputs(self.contents, self.digests)

    def read(self, name: str) -> None:
        """Read an input and check its kind; skip documents that other points have yet to make."""
        if name in self.contents or name.startswith(POINT):
            return
        if name.startswith(DEVICE):
            # The producer (time and host of reading) must not change the digest.
            device = self._device(name.removeprefix(DEVICE))
            content = msgspec.json.encode(msgspec.structs.replace(device, producer=NO_PRODUCER))
        elif name.startswith(CODE):
            content = read_bytes(self.path(name.removeprefix(CODE)), "the file of formulas")
        else:
            path = self.path(name.removeprefix(PROFILE))
            load(path, WorkloadProfile)
            content = read_bytes(path, "the profile")
        self.add(name, content)

    def add(self, name: str, content: bytes) -> None:
        """Add an input with its content."""
        self.contents[name] = content
        self.digests[name] = digest_of(content)

    def path(self, text: str) -> Path:
        """Return the path of a file that the sweep file names as `text`."""
        return self._folder / text

    def _device(self, spec: str) -> DeviceProfile:
        if spec.startswith(RANDOM):
            raise NearfarError(f"{spec} can only be simulated: name a device of the library")
        if spec.endswith((".toml", ".json")) or "/" in spec:
            spec = str(self.path(spec).absolute())
        return load_device(spec)
