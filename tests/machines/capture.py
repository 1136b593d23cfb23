"""Print this machine's tree as a manifest: `python3 tests/machines/capture.py > NAME.tree`.

Needs only Python, so that it runs where nearfar is not installed. It prints what nearfar reads
and no more: no serial numbers, no mounts but those of persistent memory, no host name.
"""

import re
import sys
from pathlib import Path

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node/node[0-9]*"
FILES = [
    f"{CPU}/online",
    f"{CPU}/cpu[0-9]*/topology/physical_package_id",
    f"{CPU}/cpu[0-9]*/topology/core_id",
    f"{CPU}/cpu[0-9]*/cache/index*/level",
    f"{CPU}/cpu[0-9]*/cache/index*/type",
    f"{CPU}/cpu[0-9]*/cache/index*/size",
    f"{CPU}/cpu[0-9]*/cache/index*/ways_of_associativity",
    f"{CPU}/cpu[0-9]*/cache/index*/coherency_line_size",
    f"{CPU}/cpu[0-9]*/cache/index*/shared_cpu_list",
    "sys/devices/system/node/online",
    f"{NODE}/cpulist",
    f"{NODE}/distance",
    f"{NODE}/access[01]/initiators/*_latency",
    f"{NODE}/access[01]/initiators/*_bandwidth",
    f"{NODE}/memory_side_cache/index*/size",
    "sys/devices/virtual/memory_tiering/memory_tier*/nodelist",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/hugepages/hugepages-*/nr_hugepages",
    "sys/kernel/mm/numa/demotion_enabled",
    "sys/kernel/mm/mempolicy/weighted_interleave/node[0-9]*",
    *(f"sys/bus/nd/devices/*/{k}" for k in ("size", "mode", "holder", "numa_node", "target_node")),
    *(f"sys/bus/nd/devices/*/{k}" for k in ("align", "namespace", "badblocks", "security")),
    "sys/bus/nd/devices/*/persistence_domain",
    "sys/bus/nd/devices/nmem*/nfit/flags",
    *(f"sys/bus/dax/devices/*/{key}" for key in ("size", "target_node")),
    *(f"sys/bus/cxl/devices/mem*/{kind}/size" for kind in ("ram", "pmem")),
    *(f"sys/bus/cxl/devices/region*/{key}" for key in ("target[0-9]*", "size", "commit")),
    "sys/bus/cxl/devices/mem*/firmware_version",
    *(f"sys/class/dmi/id/{key}" for key in ("sys_vendor", "product_name")),
    *(f"sys/class/dmi/id/bios_{key}" for key in ("vendor", "version", "date")),
    *(f"sys/devices/system/memory/{key}" for key in ("auto_online_blocks", "block_size_bytes")),
    "sys/fs/cgroup/memory.(max|high)",
    "sys/hypervisor/type",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    *(f"proc/sys/kernel/{k}" for k in ("osrelease", "arch", "perf_event_paranoid")),
    "proc/sys/kernel/numa_balancing",
    "proc/sys/vm/unprivileged_userfaultfd",
]
WORDS = ("efi=", "memmap=", "numa=", "mem=", "transparent_hugepage=", "cgroup_disable=", "nohmat")
"""The prefixes of saved words of the kernel's command line."""
FOLDERS = [
    "sys/kernel/mm/damon",
    "sys/bus/event_source/devices/*",
    "sys/bus/nd/devices/*/block/*",
    "sys/bus/nd/devices/*",
    "sys/bus/nd/devices/dax*/dax*",
    "sys/bus/cxl/devices/*",
    "sys/bus/cxl/devices/region*/dax_region*/dax*",
]
LINKS = ["sys/bus/dax/devices/*/driver", "sys/bus/cxl/devices/endpoint*/uport"]

LINES = {
    "proc/cpuinfo": r"(processor|vendor_id|cpu family|model|stepping|model name|cache size"
    r"|clflush size|flags|Features|CPU implementer|CPU part)\s*:.*",
    "proc/meminfo": r"Mem(Total|Free):.*",
    "sys/devices/system/node/node[0-9]*/meminfo": r".*Mem(Total|Free):.*",
    "proc/mounts": r"/dev/pmem.*|\S+ /dev/shm tmpfs .*",
    "proc/self/status": r"(Mems_allowed_list|CapEff|Seccomp):.*",
    "proc/iomem": r".*(Soft Reserved|Persistent Memory).*",
    "etc/os-release": r"(ID|VERSION_CODENAME)=.*",
}
"""Files of which only some lines are saved."""


def main(root: Path) -> None:
    """Print the manifest of the machine at `root`."""
    release = (root / "proc/sys/kernel/osrelease").read_text().strip()
    print(f"# captured by tests/machines/capture.py on Linux {release}")
    for pattern in FILES:
        for path in found(root, pattern):
            try:
                text = path.read_text().strip("\n\0")
            except OSError:
                continue
            print(entry(root, path, text))
    for pattern, keep in LINES.items():
        for path in found(root, pattern):
            text = path.read_text()
            lines = [line for line in text.splitlines() if re.fullmatch(keep, line)]
            print(entry(root, path, "\n".join(short(lines, path))))
    _print_words_and_signs(root)
    _print_blocks_and_cards(root)
    for pattern in FOLDERS:
        for path in found(root, pattern):
            print(f"{path.relative_to(root)}/")
    for pattern in LINKS:
        for path in found(root, pattern):
            if path.is_symlink():
                print(f"{path.relative_to(root)} -> {path.readlink()}")


def _print_words_and_signs(root: Path) -> None:
    arguments = (root / "proc/cmdline").read_text().split()
    kept = [word for word in arguments if word.startswith(WORDS)]
    print(f"proc/cmdline = {' '.join(kept)}")
    # Named without what it says: a container's group is its host's business.
    for sign in (".dockerenv", "run/.containerenv"):
        if (root / sign).exists():
            print(f"{sign} =")


def _print_blocks_and_cards(root: Path) -> None:
    # Of thousands of blocks only those that are offline, and of all cards only CXL memory.
    for path in found(root, "sys/devices/system/memory/memory[0-9]*/state"):
        if path.read_text().strip() == "offline":
            print(entry(root, path, "offline"))
    for path in found(root, "sys/bus/pci/devices/*/class"):
        if path.read_text().strip() == "0x050210":
            print(entry(root, path, "0x050210"))


def found(root: Path, pattern: str) -> list[Path]:
    """Return what matches, following the links that buses are made of (glob's own order varies)."""
    paths = [root]
    for part in pattern.split("/"):
        paths = [
            path / name
            for path in paths
            for name in names(path)
            if re.fullmatch(part.replace(".", r"\.").replace("*", ".*"), name)
        ]
    return paths


def names(folder: Path) -> list[str]:
    """Return the names in `folder`, cpu10 after cpu9; none where it is no folder."""
    return (
        sorted((entry.name for entry in folder.iterdir()), key=natural) if folder.is_dir() else []
    )


def natural(name: str) -> list[object]:
    """Sort key that puts cpu10 after cpu9."""
    return [
        (part.isdigit(), int(part) if part.isdigit() else part) for part in re.split(r"(\d+)", name)
    ]


def short(lines: list[str], path: Path) -> list[str]:
    """Keep of /proc/cpuinfo the first processor's lines, and the others' numbers."""
    if path.name != "cpuinfo":
        return lines
    seen: set[str] = set()
    kept = []
    for line in lines:
        key = line.partition(":")[0].strip()
        if key == "processor" or key not in seen:
            kept.append(line)
        seen.add(key)
    return kept


def entry(root: Path, path: Path, text: str) -> str:
    """Return a file's entry: on its line, or indented below it."""
    name = path.relative_to(root)
    if "\n" in text:
        return f"{name}:\n" + "\n".join(f"    {line}" for line in text.splitlines())
    return f"{name} = {text}"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "/"))
