"""Running a program under a placement policy of the kernel, and recording where its pages were."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.folders import memory_folder, owned_folder
from nearfar.documents import producer
from nearfar.documents.run_record import RunMemory, RunRecord
from nearfar.program.control import Control
from nearfar.program.executable import check_program, find_executable
from nearfar.program.launch import Job, RunOutcome, run_job
from nearfar.run import process_memory
from nearfar.run.local_memories import local_nodes
from nearfar.run.policies import DEFAULT, POLICIES, Policy

POLL_S = 0.1
"""Seconds between readings of the program's pages."""

_NODE_PAGES = re.compile(r"\bN([0-9]+)=([0-9]+)")
_PAGE_SIZE = re.compile(r"\bkernelpagesize_kB=([0-9]+)")


@dataclass
class _PageWatch:
    """Bytes by node of a program while it runs."""

    fullest: dict[int, int] = field(default_factory=dict)
    """Bytes by node at the moment with most."""
    readings: int = 0
    end: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Read until `end` is set."""
        while not self.end.wait(POLL_S):
            total: dict[int, int] = {}
            for pid in process_memory.descendants(os.getpid())[1:]:
                try:
                    text = Path(f"/proc/{pid}/numa_maps").read_text(errors="replace")
                except OSError:
                    continue
                for node, size in anonymous_by_node(text).items():
                    total[node] = total.get(node, 0) + size
            if total:
                self.readings += 1
            if sum(total.values()) >= sum(self.fullest.values()):
                self.fullest = total


def anonymous_by_node(numa_maps: str) -> dict[int, int]:
    """Return bytes of anonymous pages by node from /proc/PID/numa_maps."""
    total: dict[int, int] = {}
    for line in numa_maps.splitlines():
        if " anon=" not in line:
            continue
        size = _PAGE_SIZE.search(line)
        each = int(size[1]) << 10 if size else 4096
        for node, pages in _NODE_PAGES.findall(line):
            total[int(node)] = total.get(int(node), 0) + int(pages) * each
    return total


def run_policy(name: str, job: Job) -> RunRecord:
    """Run `job` under a policy; raises NearfarError where this machine cannot."""
    executable = find_executable(job.command[0])
    check_program(executable)
    nodes = local_nodes()
    policy = POLICIES.get(name)(nodes, Path("/"))
    watch = _PageWatch()
    thread = threading.Thread(target=watch.watch, daemon=True)
    try:
        _set(policy)
        thread.start()
        ended = _run(job, executable)
    finally:
        watch.end.set()
        _set(Policy())
        policy.undo()
        if thread.is_alive():
            thread.join()
    return RunRecord(
        producer=producer(),
        plan="",
        policy=name,
        command=list(job.command),
        executable=str(executable),
        exit_status=ended.status,
        wall_time_ns=ended.wall_ns,
        cpu_time_ns=ended.cpu_ns,
        allocator="the program's",
        memories=[
            RunMemory(name=f"node:{node.id}", device="", spec=f"node:{node.id}") for node in nodes
        ],
        objects=[],
        pages_by_memory={f"node:{node}": size for node, size in watch.fullest.items()},
        recognised_share_of_profile=None,
        recognised_share_of_heap=None,
        heap_bytes=0,
        out_of_sight_bytes=0,
        fallback_bytes=0,
        pictures=watch.readings,
        processes=0,
        warnings=[policy.note] if policy.note else [],
    )


def _run(job: Job, executable: Path) -> RunOutcome:
    """Run the program in a run's folder, whose control file takes the phases that it marks."""
    with owned_folder("nearfar-run-", memory_folder()) as folder:
        Control.create(folder).close()
        return run_job(job, executable, dict(os.environ), folder)


def _set(policy: Policy) -> None:
    """Set this thread's policy, which the program inherits."""
    try:
        process_memory.set_mempolicy(policy.mode, policy.nodes)
    except OSError as error:
        if policy.mode == DEFAULT:
            return
        raise NearfarError(
            f"the kernel does not let this process choose its memory ({error.strerror}): in a "
            "container, set_mempolicy needs CAP_SYS_NICE or a seccomp profile that allows it",
            ExitCode.MACHINE_LACKS,
        ) from error
