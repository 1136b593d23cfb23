"""Persistent memory: made a namespace, a file system on it, mounted with DAX."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability, PersistentMemory
from nearfar.machine.abilities import ABILITIES, lacking, usable
from nearfar.machine.sysfs import Tree


@ABILITIES.register("persistent-memory")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Return, for each region and namespace, its use or the next step to make it usable."""
    del tree
    return [line for memory in machine.persistent_memory for line in _line(memory)]


def _line(memory: PersistentMemory) -> list[Ability]:
    device = memory.device
    if memory.mode == "system-ram":
        return usable(f"{device} is ordinary memory of node {memory.node}")
    if memory.mode == "devdax":
        return usable(f"devdax:/dev/{device}")
    if device.startswith("region"):
        return lacking(
            f"{device} has no namespace",
            f"sudo ndctl create-namespace --mode=fsdax --region={device}",
        )
    if memory.mode != "fsdax":
        return lacking(
            f"{device} is in mode {memory.mode}: every access goes through the block layer",
            "sudo ndctl create-namespace --force --mode=fsdax "
            f"--reconfig=namespace{_number(device)}",
        )
    if memory.mount is None:
        return lacking(
            f"{device} is not mounted",
            f"sudo mkfs.ext4 /dev/{device} && sudo mkdir -p /mnt/{device} && "
            f"sudo mount -o dax=always /dev/{device} /mnt/{device}",
        )
    if not memory.dax:
        return lacking(
            f"{memory.mount} is mounted without DAX: accesses go to the page cache in DRAM",
            f"sudo umount {memory.mount} && sudo mount -o dax=always /dev/{device} {memory.mount}",
        )
    return usable(f"file:{memory.mount}, with DAX")


def _number(device: str) -> str:
    """Return a namespace's number: ``0.1`` of pmem0.1 or namespace0.1, ``0.0`` of pmem0."""
    digits = device.removeprefix("namespace").removeprefix("pmem").rstrip("s")
    return digits if "." in digits else f"{digits}.0"
