"""`nearfar machine convert` as a dry run on captured machines and on this machine."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_trees import make

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import producer
from nearfar.documents.conversion import Conversion
from nearfar.documents.header import save
from nearfar.machine.convert.contents import contents
from nearfar.machine.convert.convert import draft
from nearfar.machine.convert.request import FORMS, parse_request
from nearfar.machine.convert.targets import TARGETS
from nearfar.machine.convert.targets.emulated_pmem import place, reserved
from nearfar.machine.sysfs import Tree

GIB = 1 << 30


def _commands(root: Path, to: str, device: str | None = None) -> list[str]:
    wanted = Conversion(producer=producer(["tests"]), to=to, device=device)
    draft(Tree(root), wanted)
    assert wanted.obstacles == []
    return [step.command for step in wanted.steps]


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    """Return the virtual machine with namespace1.0 (fsdax, mounted) and namespace1.1 (devdax)."""
    return make("vm-nvdimm-and-cxl", tmp_path)


def test_a_file_system_becomes_a_device(guest: Path) -> None:
    assert _commands(guest, "devdax", "pmem1") == [
        "sudo umount /mnt/pmem",
        "sudo ndctl create-namespace --force --reconfig=namespace1.0 --mode=devdax --align=2M",
    ]


def test_a_device_becomes_memory_and_the_policy_is_restored(guest: Path) -> None:
    policy = guest / "sys/devices/system/memory/auto_online_blocks"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text("online")
    here = "/sys/devices/system/memory/auto_online_blocks"
    assert _commands(guest, "system-ram", "/dev/dax1.1") == [
        f"echo offline | sudo tee {here}",
        "sudo daxctl reconfigure-device --mode=system-ram dax1.1",
        f"echo online | sudo tee {here}",
    ]
    assert _commands(guest, "system-ram", "namespace1.0")[1:2] == [
        "sudo ndctl create-namespace --force --reconfig=namespace1.0 --mode=devdax --align=2M"
    ]


def test_memory_becomes_a_device_and_a_file_system(tmp_path: Path) -> None:
    root = make("vm-nvdimm-and-cxl-as-ram", tmp_path)
    back = [
        "sudo daxctl offline-memory dax1.1",
        "sudo daxctl reconfigure-device --mode=devdax --force dax1.1",
    ]
    assert _commands(root, "devdax", "dax1.1") == back
    commands = _commands(root, "fsdax", "dax1.1")
    assert commands[:2] == back
    assert [command.split()[1] for command in commands[2:]] == [
        "ndctl", "mkfs.ext4", "mkdir", "mount",
    ]  # fmt: skip
    assert _commands(root, "system-ram", "dax1.1") == []
    # The node's contents must fit elsewhere.
    full = root / "sys/devices/system/node"
    for node in ("node0", "node1", "node3"):
        text = (full / node / "meminfo").read_text()
        (full / node / "meminfo").write_text(re.sub(r"MemFree:.*", "MemFree: 4 kB", text))
    used = (full / "node2/meminfo").read_text()
    (full / "node2/meminfo").write_text(re.sub(r"MemFree:.*", "MemFree: 4 kB", used))
    wanted = Conversion(producer=producer(["tests"]), to="devdax", device="dax1.1")
    draft(Tree(root), wanted)
    assert "in use, and the other nodes have 0 MiB free" in wanted.obstacles[0].what


def test_an_open_pool_swap_and_lvm_prevent_it_and_fstab_warns(guest: Path) -> None:
    process = guest / "proc/4711"
    (process / "fd").mkdir(parents=True)
    (process / "comm").write_text("redis-server\n")
    (process / "maps").write_text("7f00-7f01 rw-s 00000000 103:00 12   /mnt/pmem/pool\n")
    (guest / "proc/swaps").write_text("Filename Type\n/dev/pmem1 partition 4 0 -2\n")
    (guest / "sys/class/block/pmem1/holders/dm-0").mkdir(parents=True)
    (guest / "etc").mkdir(exist_ok=True)
    (guest / "etc/fstab").write_text("/dev/pmem1 /mnt/pmem ext4 dax 0 0\n")
    wanted = Conversion(producer=producer(["tests"]), to="devdax", device="namespace1.0")
    draft(Tree(guest), wanted)
    shown = " ".join(obstacle.what for obstacle in wanted.obstacles)
    assert wanted.state == "stopped"
    assert "process 4711 (redis-server) has /mnt/pmem/pool open" in shown
    assert "is swap" in shown and "dm-0" in shown
    assert "/etc/fstab" in wanted.warnings[0]


def test_raw_and_empty_become_a_file_system(tmp_path: Path) -> None:
    root = make("optane-memory-mode-and-raw", tmp_path)
    assert _commands(root, "fsdax", "region0")[0] == (
        "sudo ndctl create-namespace --mode=fsdax --align=2M --region=region0"
    )
    assert "--reconfig=namespace1.0 --mode=fsdax" in _commands(root, "fsdax", "pmem1")[0]
    (root / "dev").mkdir()
    (root / "dev/pmem1.3").write_bytes(b"XFSB" + bytes(4096))
    # An existing file system is kept and only mounted again.
    assert [command.split()[1] for command in _commands(root, "fsdax", "pmem1.3")] == [
        "umount", "mkdir", "mount",
    ]  # fmt: skip


def test_data_to_be_destroyed_are_listed_beforehand(
    guest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--root", str(guest), "--to", "devdax"]
    assert main(["machine", "convert", "namespace1.0", *options]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "DESTROYS the data in namespace1.0" in shown
    assert "--destroy namespace1.0 --yes" in shown
    assert main(["machine", "convert", "namespace1.0", *options, "--json"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["steps"][1]["destroys"] == ["namespace1.0"]
    assert main(["machine", "convert", "namespace1.0", *options, "--quiet"]) == ExitCode.DONE
    assert capsys.readouterr().out == ""


def test_soft_reserved_memory_can_become_memory_but_no_file_system(tmp_path: Path) -> None:
    root = make("soft-reserved-arm", tmp_path)
    assert _commands(root, "system-ram")[-1].endswith("--mode=system-ram dax0.0")
    wanted = Conversion(producer=producer(["tests"]), to="fsdax")
    draft(Tree(root), wanted)
    assert "no persistent-memory region" in wanted.obstacles[0].what


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--to", "fsdex"], ExitCode.WRONG_USE, "did you mean 'fsdax'"),
        (["--to", "mixed:120%"], ExitCode.WRONG_USE, "from 1% to 99%"),
        (["--to", "mixed"], ExitCode.WRONG_USE, "mixed:50%"),
        (["--to", "emulated-pmem"], ExitCode.WRONG_USE, "needs a size"),
        (["--to", "emulated-pmem:4G"], ExitCode.WRONG_USE, "cannot read the size"),
        (["--to", "emulated-pmem:100MiB"], ExitCode.WRONG_USE, "multiple of 128MiB"),
        (["--to", "fsdax", "namespace7.0"], ExitCode.WRONG_USE, "there is no namespace7.0"),
        (["--to", "fsdax", "sda"], ExitCode.WRONG_USE, "no name of far memory"),
        (["--to", "fsdax"], ExitCode.WRONG_USE, "name the one to convert"),
        (["--to", "fsdax", "--resume"], ExitCode.WRONG_USE, "name what to convert to"),
        ([], ExitCode.WRONG_USE, "name what to convert to"),
        (["pmem1", "--resume"], ExitCode.WRONG_USE, "whose device is known"),
        (["--to", "devdax", "pmem1", "--yes"], ExitCode.WRONG_USE, "a captured one"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    arguments: list[str],
    code: ExitCode,
    said: str,
    guest: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["machine", "convert", *arguments, "--root", str(guest)]) == code
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1


@pytest.mark.skipif(
    any(Path("/sys/bus/nd/devices").glob("region*")), reason="this machine has persistent memory"
)
def test_this_machine_has_nothing_to_convert(capsys: pytest.CaptureFixture[str]) -> None:
    if any(Path("/sys/bus/dax/devices").glob("dax*")):
        pytest.skip("this machine has device-dax")
    assert main(["machine", "convert", "--to", "devdax"]) == ExitCode.MACHINE_LACKS
    assert "nearfar machine --check" in capsys.readouterr().err


def test_every_form_has_its_target() -> None:
    assert {form.partition(":")[0] for form in FORMS} == set(TARGETS.names())


def _emulating_machine(root: Path, gib: int) -> Path:
    make("two-sockets", root)
    for number, (start, end) in enumerate(((0, GIB), (4 * GIB, (4 + gib) * GIB))):
        here = root / f"sys/firmware/memmap/{number}"
        here.mkdir(parents=True)
        (here / "start").write_text(hex(start))
        (here / "end").write_text(hex(end - 1))
        (here / "type").write_text("System RAM\n")
    (root / "etc/default/grub.d").mkdir(parents=True)
    (root / "boot").mkdir()
    release = (root / "proc/sys/kernel/osrelease").read_text().strip()
    (root / f"boot/config-{release}").write_text("CONFIG_X86_PMEM_LEGACY=y\n")
    return root


def test_emulated_memory_is_reserved_by_the_boot_loader_and_released(tmp_path: Path) -> None:
    root = _emulating_machine(tmp_path, 32)
    commands = _commands(root, "emulated-pmem:8GiB")
    line = 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX memmap=8192M!4096M"'
    assert commands[:3] == [
        f"echo '{line}' | sudo tee /etc/default/grub.d/nearfar.cfg",
        "sudo update-grub",
        "sudo reboot",
    ]
    # As if the change was made and the machine rebooted.
    (root / "etc/default/grub.d/nearfar.cfg").write_text(line + "\n")
    (root / "proc/cmdline").write_text("quiet memmap=8192M!4096M\n")
    nd = root / "sys/bus/nd/devices"
    for path, text in (
        ("region0/size", str(8 * GIB)),
        ("region0/provider", "e820"),
        ("namespace0.0/size", str(8 * GIB)),
        ("namespace0.0/mode", "raw"),
        ("namespace0.0/block/pmem0/size", "1"),
    ):
        (nd / path).parent.mkdir(parents=True, exist_ok=True)
        (nd / path).write_text(text)
    (root / "dev").mkdir()
    (root / "dev/pmem0").write_bytes(bytes(1 << 18))
    wanted = Conversion(producer=producer(["tests"]), to="emulated-pmem:8GiB")
    draft(Tree(root), wanted)
    assert "--reconfig=namespace0.0 --mode=fsdax" in wanted.steps[0].command
    assert wanted.steps[0].destroys == [], "nobody wrote anything there yet"
    assert _commands(root, "emulated-pmem:0B") == [
        "sudo rm /etc/default/grub.d/nearfar.cfg",
        "sudo update-grub",
        "sudo reboot",
    ]
    with pytest.raises(AssertionError, match="set aside already"):
        _commands(root, "emulated-pmem:16GiB")


def test_with_other_regions_no_number_is_guessed(tmp_path: Path) -> None:
    root = _emulating_machine(tmp_path, 32)
    namespace = root / "sys/bus/nd/devices/namespace0.0"
    namespace.mkdir(parents=True)
    (namespace / "size").write_text(str(GIB))
    (root / "sys/bus/nd/devices/region0").mkdir()
    commands = _commands(root, "emulated-pmem:8GiB")
    assert commands[2:] == ["sudo reboot", "sudo nearfar machine convert --resume --yes"]


def test_a_resumed_conversion_takes_names_to_destroy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without them, a conversion that finds data after its reboot could not continue."""
    root = _emulating_machine(tmp_path / "machine", 32)
    note = tmp_path / "note.json"
    begun = Conversion(producer=producer(["tests"]), to="emulated-pmem:8GiB", destroy=["pmem9"])
    save(begun, note)
    arguments = ["--resume", "--destroy", "namespace0.0", "--note", str(note), "--json"]
    main(["machine", "convert", *arguments, "--root", str(root)])
    assert json.loads(capsys.readouterr().out)["destroy"] == ["namespace0.0", "pmem9"]


def test_a_container_and_a_kernel_without_driver_prevent_emulation(tmp_path: Path) -> None:
    root = _emulating_machine(tmp_path, 32)
    next((root / "boot").iterdir()).write_text("# CONFIG_X86_PMEM_LEGACY is not set\n")
    (root / ".dockerenv").write_text("")
    wanted = Conversion(producer=producer(["tests"]), to="emulated-pmem:8GiB")
    draft(Tree(root), wanted)
    shown = " ".join(obstacle.what for obstacle in wanted.obstacles)
    assert "container" in shown and "CONFIG_X86_PMEM_LEGACY" in shown


@given(gib=st.integers(1, 512), mib=st.integers(1, 4096))
def test_emulated_memory_lies_within_memory_and_leaves_a_quarter(gib: int, mib: int) -> None:
    all_bytes, size = (gib + 1) * GIB, mib * (128 << 20)
    start = place([(0, GIB), (4 * GIB, (4 + gib) * GIB)], size)
    if start is None:
        assert size > 0.75 * all_bytes or size > gib * GIB - GIB
        return
    assert start % (128 << 20) == 0
    assert size <= 0.75 * all_bytes
    below = start + size <= GIB
    assert below or (start >= 4 * GIB and start + size <= (4 + gib) * GIB)


@given(st.text(max_size=20))
def test_any_request_is_parsed_or_refused_in_one_sentence(text: str) -> None:
    for to in (text, f"mixed:{text}", f"emulated-pmem:{text}"):
        try:
            request = parse_request(to, None, "ext4")
        except NearfarError as error:
            assert "\n" not in str(error) or "\n" in repr(text)
        else:
            assert request.target in TARGETS.names()


def test_the_memmap_option_is_parsed_in_every_unit(tmp_path: Path) -> None:
    make("two-sockets", tmp_path)
    (tmp_path / "proc/cmdline").write_text("memmap=4G!12G memmap=512M!4096M memmap=64M$1G x")
    assert reserved(Tree(tmp_path)) == [(4 * GIB, 12 * GIB), (GIB // 2, 4 * GIB)]


def test_the_content_of_a_device_is_read_from_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "dev").mkdir()
    tree = Tree(tmp_path)
    heads = {
        "ext4": bytes(1080) + b"\x53\xef",
        "xfs": b"XFSB",
        "nothing": bytes(4096),
        "data": bytes(100) + b"x",
    }
    for kind, head in heads.items():
        (tmp_path / "dev/pmem0").write_bytes(head)
        assert contents(tree, "pmem0") == kind
    assert contents(tree, "pmem9") is None
    assert contents(tree, None) is None


def test_only_root_converts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["machine", "convert", "--to", "devdax", "--yes"]) == ExitCode.MACHINE_LACKS
    assert "only root may do this" in capsys.readouterr().err
