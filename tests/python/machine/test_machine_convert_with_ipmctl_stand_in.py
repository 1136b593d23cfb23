"""Conversions of Optane modules with a stand-in for ipmctl that follows its manual.

No test machine has such modules. The tests check the order of steps, the checks before and after
each step, and the resumption after a reboot; they do not check ipmctl itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from optane_stand_in import StandIn

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import producer
from nearfar.documents.conversion import Conversion
from nearfar.machine.convert.convert import act, draft, read_note, resume
from nearfar.machine.sysfs import Tree


def _wanted(to: str, *destroy: str) -> Conversion:
    return Conversion(producer=producer(["tests"]), to=to, destroy=list(destroy))


def _act(machine: StandIn, wanted: Conversion, note: Path) -> Conversion:
    act(Tree(machine.root), wanted, note, machine.run, lambda line: None)
    return wanted


def test_memory_mode_to_app_direct_and_back_over_two_reboots(tmp_path: Path) -> None:
    machine, note = StandIn(tmp_path / "root", memory_gib=252), tmp_path / "note.json"
    assert _act(machine, _wanted("app-direct"), note).state == "reboot"
    assert machine.done == ["sudo ipmctl create -f -goal PersistentMemoryType=AppDirect"]
    with pytest.raises(NearfarError, match="waits for a reboot") as early:
        resume(Tree(machine.root), note)
    assert early.value.exit_code == ExitCode.MACHINE_LACKS
    machine.reboot()
    assert _act(machine, resume(Tree(machine.root), note), note).state == "done"
    assert machine.done[1:] == [
        "sudo ndctl create-namespace --mode=fsdax --align=2M --region=region0",
        "sudo mkfs.ext4 -F -q -b 4096 /dev/pmem0",
        "sudo mkdir -p /mnt/pmem0",
        "sudo mount -o dax /dev/pmem0 /mnt/pmem0",
    ]
    assert not note.exists()
    again = _wanted("app-direct")
    assert draft(Tree(machine.root), again).steps == []
    assert again.state == "done"

    machine.done.clear()
    back = _act(machine, _wanted("memory-mode", "namespace0.0"), note)
    assert back.state == "reboot"
    assert machine.done == [
        "sudo umount /mnt/pmem0",
        "sudo ndctl disable-namespace namespace0.0",
        "sudo ndctl destroy-namespace namespace0.0",
        "sudo ndctl disable-region region0",
        "sudo ipmctl create -f -goal MemoryMode=100",
    ]
    assert any("1:4.0" in w or "recommended" in w for w in back.warnings), back.warnings
    machine.reboot()
    assert _act(machine, resume(Tree(machine.root), note), note).state == "done"
    assert draft(Tree(machine.root), _wanted("memory-mode")).steps == []


def test_a_namespace_is_destroyed_only_if_its_name_was_typed(tmp_path: Path) -> None:
    machine, note = _with_namespace(tmp_path)
    for typed in ((), ("namespace1.0",), ("pmem0",)):
        with pytest.raises(NearfarError, match=r"--destroy namespace0\.0"):
            _act(machine, _wanted("mixed:50%", *typed), note)
    assert machine.done == []
    assert not note.exists()
    assert _act(machine, _wanted("mixed:50%", "namespace0.0"), note).state == "reboot"
    assert machine.done[-1] == (
        "sudo ipmctl create -f -goal MemoryMode=50 PersistentMemoryType=AppDirect"
    )


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("umount", "nothing is mounted from /dev/pmem0"),
        ("ndctl", "namespace0.0 is disabled"),
        ("ipmctl", "a goal waits"),
    ],
)
def test_a_tool_that_exits_with_0_and_does_nothing_is_detected(
    tool: str, said: str, tmp_path: Path
) -> None:
    machine, note = _with_namespace(tmp_path)
    machine.lie = tool
    with pytest.raises(NearfarError, match=said) as failed:
        _act(machine, _wanted("memory-mode", "namespace0.0"), note)
    assert "something went wrong" in str(failed.value)
    assert failed.value.exit_code == ExitCode.MACHINE_LACKS
    # After the repair, only the remaining steps run.
    machine.lie = ""
    machine.done.clear()
    assert _act(machine, resume(Tree(machine.root), note), note).state == "reboot"
    assert len(machine.done) == {"umount": 5, "ndctl": 4, "ipmctl": 1}[tool]


def test_another_pending_goal_is_dropped_visibly(tmp_path: Path) -> None:
    machine, note = StandIn(tmp_path / "root", memory_gib=252), tmp_path / "note.json"
    _act(machine, _wanted("mixed:50%"), note)
    note.unlink()
    machine.done.clear()
    assert _act(machine, _wanted("app-direct"), note).state == "reboot"
    assert machine.done == [
        "sudo ipmctl delete -f -goal",
        "sudo ipmctl create -f -goal PersistentMemoryType=AppDirect",
    ]


@pytest.mark.parametrize(
    ("line", "to", "said"),
    [
        ("PlatformConfigSupported=0", "memory-mode", "only the BIOS"),
        ("AllowedVolatileMode=1LM", "mixed:20%", "only 1LM"),
        ("ModesSupported=1LM, App Direct", "memory-mode", "not support Memory Mode"),
    ],
)
def test_an_unsupported_platform_prevents_it(line: str, to: str, said: str, tmp_path: Path) -> None:
    machine, note = StandIn(tmp_path / "root"), tmp_path / "note.json"
    (tmp_path / "root/tools/ipmctl_show_-system_-capabilities").write_text(line)
    result = _act(machine, _wanted(to), note)
    assert result.state == "stopped"
    assert said in result.obstacles[0].what
    assert machine.done == []


def test_without_modules_the_message_of_ipmctl_is_shown(tmp_path: Path) -> None:
    machine = StandIn(tmp_path)
    (tmp_path / "tools/ipmctl_show_-memoryresources").write_text("No PMem modules in the system.\n")
    with pytest.raises(NearfarError, match="No PMem modules in the system") as refusal:
        draft(Tree(machine.root), _wanted("memory-mode"))
    assert refusal.value.exit_code == ExitCode.MACHINE_LACKS


def test_an_empty_note_is_refused(tmp_path: Path) -> None:
    machine = StandIn(tmp_path)
    assert read_note(tmp_path / "none") is None
    with pytest.raises(NearfarError, match="no conversion is under way"):
        resume(Tree(machine.root), tmp_path / "none")


def _with_namespace(tmp_path: Path) -> tuple[StandIn, Path]:
    machine, note = StandIn(tmp_path / "root"), tmp_path / "note.json"
    _act(machine, _wanted("app-direct"), note)
    machine.done.clear()
    return machine, note
