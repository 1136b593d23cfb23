"""fsdax to devdax to memory of a node and back, refusing where something is in use."""

import subprocess
import time

from guest import modes, nearfar, nodes, sh

POLICY = "/sys/devices/system/memory/auto_online_blocks"


def check() -> None:
    """Every way leads to the state that was asked for, and leaves the policy as it was."""
    (name,) = modes()
    go = ("machine", "convert", name, "--destroy", name, "--yes")
    with subprocess.Popen(["sleep", "1000"], stdin=open("/mnt/pmem0/sync")) as holder:  # noqa: PTH123
        shown = nearfar(*go, "--to", "devdax", status=3)
        assert f"process {holder.pid} (sleep) has /mnt/pmem0/sync open" in shown
        assert modes() == {name: "fsdax"}
        holder.kill()
    nearfar(*go, "--to", "devdax")
    assert modes() == {name: "devdax"}
    sh(f"echo online > {POLICY}")
    nearfar(*go, "--to", "system-ram")
    assert nodes() == [0, 1, 2]
    assert sh(f"cat {POLICY}").strip() == "online"
    assert sh("cat /sys/devices/system/node/node2/access0/initiators/read_latency").strip() == "350"
    sh(f"echo offline > {POLICY}")
    # The node is taken back although a process has pages there: the kernel moves them.
    code = "held = bytearray(b'x') * (32 << 20); print('ready', flush=True); "
    code += "input(); assert held.count(b'x') == 32 << 20; print('whole')"
    command = ["numactl", "--preferred=2", "python3", "-ISc", code]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as user:
        assert user.stdin and user.stdout
        assert user.stdout.readline() == "ready\n"
        used = sh(f"grep -c N2= /proc/{user.pid}/numa_maps")
        assert int(used) > 0
        began = time.monotonic()
        nearfar("machine", "convert", name, "--to", "devdax", "--yes")
        print(f"taken back after {time.monotonic() - began:.0f} s")
        assert nodes() == [0, 1]
        user.stdin.write("\n")
        user.stdin.flush()
        assert user.stdout.readline() == "whole\n"
    assert modes() == {name: "devdax"}
    nearfar(*go, "--to", "fsdax")
    assert "dax=always" in sh("grep /mnt/pmem0 /proc/mounts")
