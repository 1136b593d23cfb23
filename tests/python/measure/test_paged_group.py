"""Where a group with a limit of memory is made, on made-up machines of both versions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.memories.paged.group import ControlGroup, GroupParent, find_group_parent

V1_MOUNTS = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "35 31 0:32 {inside} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)
V2_MOUNT = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def refusal(root: Path) -> str:
    with pytest.raises(NearfarError) as refused:
        find_group_parent(root)
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("inside", "own", "place"),
    [
        ("/", "/jobs/7", "sys/fs/cgroup/memory/jobs/7"),
        ("/", "/", "sys/fs/cgroup/memory"),
        ("/docker/abc", "/docker/abc/x", "sys/fs/cgroup/memory/x"),
    ],
)
def test_version_1_makes_it_below_this_process(
    tmp_path: Path, inside: str, own: str, place: str
) -> None:
    files = {
        "proc/self/mountinfo": V1_MOUNTS.format(inside=inside),
        "proc/self/cgroup": f"5:devices:/\n4:memory:{own}\n0::/\n",
        f"{place}/cgroup.procs": "1\n",
    }
    assert find_group_parent(write(tmp_path, files)) == GroupParent(1, tmp_path / place)


def unified(root: Path, passed_on: dict[str, str], own: str = "/user/app/me.scope") -> Path:
    """Return a machine of version 2; `passed_on`: each group's controllers for its children."""
    top = "sys/fs/cgroup"
    files = {
        "proc/self/mountinfo": V2_MOUNT,
        "proc/self/cgroup": f"0::{own}\n",
        f"{top}/cgroup.controllers": "cpu memory pids\n",
    }
    for group in ("", "/user", "/user/app", own.rstrip("/")):
        files[f"{top}{group}/cgroup.procs"] = "7\n" if group == own else ""
        files[f"{top}{group}/cgroup.subtree_control"] = passed_on.get(group, "") + "\n"
    return write(root, files)


def test_version_2_makes_it_beside_this_process(tmp_path: Path) -> None:
    """Its own group has processes, so it passes no controller on."""
    root = unified(tmp_path, {"": "cpu memory", "/user": "memory pids", "/user/app": "memory"})
    assert find_group_parent(root) == GroupParent(2, root / "sys/fs/cgroup/user/app")


def test_version_2_goes_up_to_where_memory_is_passed_on(tmp_path: Path) -> None:
    root = unified(tmp_path, {"": "cpu memory", "/user": "memory", "/user/app": "pids"})
    assert find_group_parent(root) == GroupParent(2, root / "sys/fs/cgroup/user")


def test_version_2_takes_the_root_group_with_processes(tmp_path: Path) -> None:
    root = unified(tmp_path, {"": "memory"}, own="/")
    (root / "sys/fs/cgroup/cgroup.procs").write_text("1 2\n")
    assert find_group_parent(root) == GroupParent(2, root / "sys/fs/cgroup")


def test_groups_that_pass_nothing_on_are_refused_with_the_way_to_a_delegated_one(
    tmp_path: Path,
) -> None:
    assert "Delegate=yes" in refusal(unified(tmp_path, {"": "cpu", "/user": "pids"}))


def test_a_machine_without_groups_is_refused(tmp_path: Path) -> None:
    files = {"proc/self/mountinfo": "31 23 0:28 / / rw - ext4 /dev/vda rw\n"}
    assert "no control groups" in refusal(write(tmp_path, {**files, "proc/self/cgroup": "0::/\n"}))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_group_of_another_user_is_refused(tmp_path: Path) -> None:
    root = unified(tmp_path, {"/user/app": "memory"})
    (root / "sys/fs/cgroup/user/app").chmod(0o555)
    assert "may not make a control group" in refusal(root)


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (
            1,
            {
                "memory.stat": "rss 5\npgmajfault 9\nworkingset_refault_anon 7\nunevictable 4096\n",
                "memory.usage_in_bytes": "100\n",
                "memory.max_usage_in_bytes": "200\n",
                "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
            },
        ),
        (
            2,
            {
                "memory.stat": "unevictable 4096\nworkingset_refault_anon 7\npgmajfault 9\n",
                "memory.current": "100\n",
                "memory.peak": "200\n",
                "memory.events": "low 0\nhigh 0\nmax 8\noom 3\noom_kill 3\n",
            },
        ),
    ],
)
def test_counts_are_read_from_the_files_of_the_version(
    tmp_path: Path, version: int, files: dict[str, str]
) -> None:
    write(tmp_path, files)
    counts = ControlGroup(GroupParent(version, tmp_path.parent), tmp_path).counts()
    assert (counts.major_faults, counts.swap_ins, counts.locked_bytes) == (9, 7, 4096)
    assert (counts.used_bytes, counts.peak_bytes, counts.killed) == (100, 200, 3)


@pytest.mark.parametrize(
    ("version", "name", "none"),
    [(1, "memory.limit_in_bytes", "-1"), (2, "memory.max", "max")],
)
def test_a_limit_goes_to_the_file_of_the_version(
    tmp_path: Path, version: int, name: str, none: str
) -> None:
    group = ControlGroup(GroupParent(version, tmp_path.parent), tmp_path)
    write(tmp_path, {name: ""})
    group.limit(1 << 20)
    assert (tmp_path / name).read_text() == str(1 << 20)
    (tmp_path / name).write_text("")
    group.limit(None)
    assert (tmp_path / name).read_text() == none
