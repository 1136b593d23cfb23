"""The Kubernetes manifest keeps to the schema of the Dask operator, which is in its package."""

from __future__ import annotations

import copy
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[3]
MANIFEST = REPOSITORY / "examples/kubernetes/sweep.yaml"
OPERATOR = "dask-kubernetes==2026.3.0"
CACHE = REPOSITORY / "build/operator"
TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": float,
}  # fmt: skip


def faults(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield what the Kubernetes API would refuse, and fields that it would drop."""
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str):
            yield f"{path}: neither a number nor a string"
        return
    wanted = TYPES.get(schema.get("type", ""))
    if wanted is not None and not isinstance(value, wanted):
        yield f"{path}: {value!r} is no {schema['type']}"
        return
    if isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties")
        for name in schema.get("required", []):
            if name not in value:
                yield f"{path}/{name}: missing"
        for name, part in value.items():
            below = known.get(name, rest)
            if below is not None:
                yield from faults(part, below, f"{path}/{name}")
            elif not schema.get("x-kubernetes-preserve-unknown-fields"):
                yield f"{path}/{name}: unknown"
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from faults(part, schema.get("items", {}), f"{path}/{number}")
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"


@pytest.fixture(scope="module")
def schemas() -> dict[str, dict[str, Any]]:
    """Return kind to schema, from the operator's package."""
    CACHE.mkdir(parents=True, exist_ok=True)
    words = ("download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(CACHE), OPERATOR)
    quickly = ("--retries", "0", "--timeout", "5")  # without a network it is skipped
    if not list(CACHE.glob("*.whl")):
        done = subprocess.run([sys.executable, "-m", "pip", *words, *quickly], check=False)
        if done.returncode != 0:
            pytest.skip("the operator's package cannot be downloaded here")
    made = {}
    with zipfile.ZipFile(next(CACHE.glob("*.whl"))) as package:
        for name in ("daskcluster", "daskworkergroup"):
            (path,) = (path for path in package.namelist() if path.endswith(f"crds/{name}.yaml"))
            definition = yaml.load(package.read(path), yaml.CSafeLoader)["spec"]
            (version,) = (row for row in definition["versions"] if row["name"] == "v1")
            made[definition["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return made


def resources() -> list[dict[str, Any]]:
    """Return the manifest's resources without what every resource has."""
    parts = list(yaml.safe_load_all(MANIFEST.read_text()))
    assert {part.pop("apiVersion") for part in parts} == {"kubernetes.dask.org/v1"}
    assert all(part.pop("metadata")["name"] for part in parts)
    return parts


@pytest.mark.long
def test_the_manifest_keeps_to_the_operators_schema(schemas: dict[str, dict[str, Any]]) -> None:
    kinds = set()
    for part in resources():
        kinds.add(kind := part.pop("kind"))
        schema = schemas[kind]
        assert not list(faults(part, schema | {"required": []}))
        assert not list(faults(part["spec"], schema["properties"]["spec"]))
        # What the check would see.
        wrong = copy.deepcopy(part)
        del wrong["spec"]["worker"]["spec"]["containers"][0]["name"]
        wrong["spec"]["worker"]["replicas"] = "two"
        wrong["spec"]["worker"]["spec"]["volume"] = []
        worker = "/spec/worker"
        assert {fault.partition(": ")[0] for fault in faults(wrong, schema)} >= {
            f"{worker}/spec/containers/0/name", f"{worker}/replicas", f"{worker}/spec/volume",
        }  # fmt: skip
    assert kinds == {"DaskCluster", "DaskWorkerGroup"}


def test_no_part_of_the_manifest_lets_strangers_in() -> None:
    for part in resources():
        roles = [part["spec"]["worker"], *filter(None, [part["spec"].get("scheduler")])]
        for role in roles:
            (container,) = role["spec"]["containers"]
            assert "--no-dashboard" in container["args"]
            assert {"--tls-ca-file=/tls/sweep.crt", "--tls-key=/tls/sweep.key"} <= {
                *container["args"]
            }
            assert any(mount["mountPath"] == "/tls" for mount in container["volumeMounts"])
            for variable in container.get("env", []):
                assert variable["value"].startswith("tls://")
