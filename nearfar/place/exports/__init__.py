"""Plans as text for other tools, one format per file, found by the registry."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.registry import Registry
from nearfar.documents import Plan
from nearfar.documents.plan import PlanMemory

Export = Callable[[Plan], str]
"""A function from a plan to text that can be run, compiled or applied without changes."""

EXPORTS: Registry[Export] = Registry("nearfar.place.exports", "export format")

_SPEC = re.compile(r"(node:\d+|file:.+|/.+|[a-z]+:.+)")
_HEAD_BYTES = 4096
"""Bytes of a file that contain a document's kind."""


def template_text(name: str) -> dict[str, str]:
    """Return the parts of ``NAME.toml``, for `str.format`."""
    text: dict[str, str] = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text())
    return text


def is_plan(path: Path) -> bool:
    """Return whether a file begins as a plan does."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return re.match(rb'\s*\{\s*"kind"\s*:\s*"plan"', head) is not None


def mapped(plan: Plan, given: list[str]) -> Plan:
    """Return the plan with specs of memories from ``NAME=SPEC``; NAME may be the device's."""
    specs: dict[str, str] = {}
    known = [
        name for memory in plan.memories for name in dict.fromkeys((memory.name, memory.device))
    ]
    for text in given:
        name, equals, spec = text.partition("=")
        if not equals or not _SPEC.fullmatch(spec):
            raise NearfarError(
                f"cannot read --map {text!r}: write a memory and where it is, such as near=node:0 "
                "or far=file:/mnt/pmem0"
            )
        if name not in known:
            hint = nearest(name, known) or f"; there are: {', '.join(known)}"
            raise NearfarError(f"the plan has no memory {name!r}{hint}")
        specs[name] = spec
    memories = [
        msgspec.structs.replace(
            memory, spec=specs.get(memory.name, specs.get(memory.device, memory.spec))
        )
        for memory in plan.memories
    ]
    return msgspec.structs.replace(plan, memories=memories)


def checked(plan: Plan) -> Plan:
    """Return the plan; raises NearfarError for one of an earlier version without memories."""
    if not plan.memories:
        raise NearfarError(
            "this plan was made by an earlier nearfar and "
            "names no memories: make it again with nearfar place"
        )
    return plan


def node_of(memory: PlanMemory) -> str | None:
    """Return the memory's NUMA node number; None if its spec is no node."""
    match = re.fullmatch(r"node:(\d+)", memory.spec)
    return match[1] if match else None


def variable(memory: PlanMemory) -> str:
    """Return the shell or C name of a memory's node: ``NEAR_NODE``, ``CXL_MICRON_CZ120_NODE``."""
    return re.sub(r"\W", "_", memory.name).upper() + "_NODE"


def identifier(text: str, number: int) -> str:
    """Return a unique, readable C identifier for an object."""
    word = re.sub(r"\W+", "_", text).strip("_").lower()[:40]
    return f"object_{number}_{word}" if word else f"object_{number}"


def commented(text: str) -> str:
    """Return the text in a form that is safe in a C comment of one line."""
    return text.replace("*/", "* /").replace("\\", "/").replace("\n", " ").replace("\r", " ")
