"""Documents of a wrong kind, version or content are refused in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import samples

from nearfar.base.errors import NearfarError
from nearfar.documents import DeviceProfile, WorkloadProfile, load, save, schema


def test_a_document_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    profile = samples.workload()
    save(profile, path)
    assert load(path, WorkloadProfile) == profile


def spoil(path: Path, **changes: object) -> None:
    content = json.loads(path.read_text())
    content.update(changes)
    path.write_text(json.dumps(content))


def test_each_mistake_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    save(samples.workload(), path)
    whole = path.read_bytes()

    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(NearfarError, match="not a whole JSON document, its end is missing"):
        load(path, WorkloadProfile)

    path.write_text("\n")
    with pytest.raises(NearfarError, match=r"run\.json is empty"):
        load(path, WorkloadProfile)

    path.write_text("pool: 1")
    with pytest.raises(NearfarError, match=r"is not a JSON document: .*invalid character"):
        load(path, WorkloadProfile)

    path.write_bytes(whole)
    with pytest.raises(
        NearfarError, match=r"kind workload-profile; a device-profile .* `nearfar measure`"
    ):
        load(path, DeviceProfile)

    spoil(path, version=99)
    with pytest.raises(NearfarError, match="version 99"):
        load(path, WorkloadProfile)

    path.write_bytes(whole)
    spoil(path, sise=1)
    with pytest.raises(NearfarError, match="sise"):
        load(path, WorkloadProfile)

    path.write_text("[]")
    with pytest.raises(NearfarError, match="not a nearfar document"):
        load(path, WorkloadProfile)

    with pytest.raises(NearfarError, match="No such file"):
        load(tmp_path / "none.json", WorkloadProfile)


def test_the_schema_names_every_key() -> None:
    definition = schema(WorkloadProfile)["$defs"]["WorkloadProfile"]
    assert {"kind", "version", "producer", "phases"} <= set(definition["properties"])


DECODE_IN_THREADS = """
import sys, threading
import msgspec
from nearfar.documents.gate import decoded

def decode():
    start.wait()
    counts.append(decoded(b'{"x": [{"y": 1}], "z": {"a": {"y": 2}}}', "it", outer).x[0].y)

sys.setswitchinterval(1e-6)
counts = []
for _ in range(100):
    inner = msgspec.defstruct("Inner", [("y", int)])
    outer = msgspec.defstruct("Outer", [("x", list[inner]), ("z", dict[str, inner])])
    start = threading.Barrier(4)
    threads = [threading.Thread(target=decode) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
print(sum(counts))
"""
"""Four threads at once are the first to decode a type; msgspec alone crashes (see `gate`)."""


def test_threads_decode_a_new_type_at_the_same_time() -> None:
    command = [sys.executable, "-c", DECODE_IN_THREADS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "400"), done.stderr
