"""Whether this is a virtual machine, and whose."""

from __future__ import annotations

from nearfar.machine.sysfs import Tree

MAKERS = (
    ("qemu", "qemu"),
    ("kvm", "kvm"),
    ("amazon ec2", "kvm (Amazon EC2)"),
    ("google", "kvm (Google)"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("microsoft corporation virtual", "hyper-v"),
    ("xen", "xen"),
    ("openstack", "kvm (OpenStack)"),
    ("cloud hypervisor", "cloud-hypervisor"),
)
"""Part of the maker and product in DMI, in lower case, and the hypervisor that writes it."""


def read_virtualisation(tree: Tree) -> str:
    """Return ``none``, or the hypervisor's name as far as the guest can tell."""
    dmi = " ".join(
        tree.text_if_allowed(f"sys/class/dmi/id/{key}") or ""
        for key in ("sys_vendor", "product_name")
    ).lower()
    flags = tree.table("proc/cpuinfo").get("flags", "").split()
    guest = "hypervisor" in flags
    for text, name in MAKERS:
        # Cloud providers rent bare metal too, on which the processor reports no hypervisor.
        if text in dmi and (guest or "CPU implementer" in tree.table("proc/cpuinfo")):
            return name
    named = tree.text("sys/hypervisor/type")
    if named:
        return named
    if not guest:
        return "none"
    clocks = tree.text("sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    for clock, name in (("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")):
        if clock in clocks:
            return name
    return "unknown hypervisor"
