"""QEMU's arguments for a machine with near memory, far memory, an NVDIMM and a CXL device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clock import counter_khz

MIB = 1 << 20
LABEL_KIB = 128
"""Label area beyond the NVDIMM's memory: inside it, the region would be no multiple of 16 MiB."""

PROCESSOR = "max,la57=off,erms=off,smap=off,smep=off,umip=off,pku=off"
"""Everything that an emulated processor does, but for what takes it long and tests nothing here: a
fifth level of page tables, stores of strings byte by byte, protection that ends blocks of code."""
QUICK = "mitigations=off nokaslr init_on_alloc=0 rcupdate.rcu_expedited=1 nowatchdog"
"""Of the kernel's options, those that spare an emulated processor work."""


@dataclass(frozen=True)
class Sizes:
    """Of each memory, MiB."""

    near: int = 1024
    far: int = 128
    nvdimm: int = 1024
    cxl: int = 256


def arguments(
    kernel: Path,
    initrd: Path,
    disks: tuple[Path, Path],
    logs: Path,
    *,
    volatile_cxl: bool,
    sizes: Sizes,
    hide_hypervisor: bool = False,
    options: str = "",
) -> list[str]:
    """Return QEMU's arguments; console, results and end come as files of `logs`.

    hpet=off: with it, NVDIMM, HMAT and CXL together are more ACPI tables than SeaBIOS 1.16
    takes, and it drops them all. hypervisor=off: newer kernels (6.3) commit no CXL region where
    they see a hypervisor. Two CXL root ports, one of them empty: with a single one Linux leaves the
    host bridge's decoder alone, and QEMU 7.2 then drops every store to the window.
    """
    pmem = f"{sizes.nvdimm * 1024 + LABEL_KIB}K"
    total = sizes.near + sizes.far
    return [
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-accel", "tcg,thread=multi", "-smp", "2",
        "-cpu", PROCESSOR + (",hypervisor=off" if volatile_cxl or hide_hypervisor else ""),
        "-machine",
        "q35,nvdimm=on,nvdimm-persistence=mem-ctrl,hmat=on,hpet=off,cxl=on,"
        "cxl-fmw.0.targets.0=cxl.0,cxl-fmw.0.size=4G",
        "-m", f"{total}M,slots=4,maxmem={total + sizes.nvdimm + 1024}M",
        "-object", f"memory-backend-ram,id=m0,size={sizes.near}M",
        "-object", f"memory-backend-ram,id=m1,size={sizes.far}M",
        "-object", f"memory-backend-ram,id=pm,size={pmem}",
        "-numa", "node,nodeid=0,cpus=0-1,memdev=m0,initiator=0",
        "-numa", "node,nodeid=1,memdev=m1,initiator=0",
        "-numa", "node,nodeid=2,initiator=0",
        "-numa", "dist,src=0,dst=1,val=20",
        "-numa", "dist,src=0,dst=2,val=30",
        "-numa", "dist,src=1,dst=2,val=40",
        *_hmat(0, 90, 20000), *_hmat(1, 250, 10000), *_hmat(2, 350, 5000),
        "-device", f"nvdimm,id=nv0,memdev=pm,node=2,label-size={LABEL_KIB}K",
        "-object", f"memory-backend-ram,id=cx,size={sizes.cxl}M",
        "-object", "memory-backend-ram,id=lsa,size=1M",
        "-device", "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.0",
        "-device", "cxl-rp,port=0,bus=cxl.0,id=rp0,chassis=0,slot=2",
        "-device", "cxl-rp,port=1,bus=cxl.0,id=rp1,chassis=0,slot=3",
        "-device",
        "cxl-type3,bus=rp0,id=cxl-mem0,"
        + ("volatile-memdev=cx" if volatile_cxl else "memdev=cx,lsa=lsa"),
        # The first may be another guest's, too; the second keeps what is written over a reboot.
        "-drive", f"file={disks[0]},format=raw,if=none,id=disk,snapshot=on",
        "-device", "virtio-blk-pci,bus=pcie.0,drive=disk",
        "-drive", f"file={disks[1]},format=raw,if=none,id=payload,cache=unsafe",
        "-device", "virtio-blk-pci,bus=pcie.0,drive=payload",
        "-serial", f"file:{logs / 'console.log'}",
        "-serial", f"file:{logs / 'results.tap'}",
        "-kernel", str(kernel), "-initrd", str(initrd),
        "-append",
        f"console=ttyS0 loglevel=4 panic=-1 {QUICK} tsc=reliable"
        + (f" tsc_early_khz={khz}" if (khz := counter_khz()) else "")
        + f" {options}",
    ]  # fmt: skip


def _hmat(target: int, latency_ns: int, bandwidth_mb_per_s: int) -> list[str]:
    """Return what the firmware tells of memory `target` as seen from node 0."""
    head = f"hmat-lb,initiator=0,target={target},hierarchy=memory"
    return [
        "-numa", f"{head},data-type=access-latency,latency={latency_ns}",
        "-numa", f"{head},data-type=access-bandwidth,bandwidth={bandwidth_mb_per_s}M",
    ]  # fmt: skip
