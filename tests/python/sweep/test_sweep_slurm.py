"""The SLURM script of docs/sweep.md, run as it stands on a SLURM of one node."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars
import pytest
from patience import patience

REPOSITORY = Path(__file__).parents[3]
PATIENCE_S = patience(120)
PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmstepd", "sbatch", "squeue", "scancel")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        bool(MISSING) or os.geteuid() != 0,
        reason=f"needs root, and slurmctld, slurmd and munge (not here: {MISSING})",
    ),
]
POINTS = 40


def free_port() -> int:
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return int(end.getsockname()[1])


def wait_until(happened: Callable[[], object], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while not happened():
        assert process.poll() is None and time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.2)


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[Mapping[str, str]]:
    """Start munge and a SLURM of this machine; yield the environment of its commands."""
    name = socket.gethostname().partition(".")[0]
    folder.mkdir(mode=0o755)
    for part in ("state", "spool", "munge"):
        (folder / part).mkdir(mode=0o755)
    key, where = folder / "munge/key", folder / "munge/socket"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    plugins = Path(str(shutil.which("slurmctld"))).resolve().parents[1] / "lib"
    plugins = next(plugins.glob("*/slurm-wlm"), Path("/usr/lib/x86_64-linux-gnu/slurm-wlm"))
    (folder / "slurm.conf").write_text(f"""
ClusterName=test
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={where}
CredType=cred/munge
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName={name} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes={name} Default=YES State=UP
""")
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    commands = {
        "munged": ["-F", "-f", "--key-file", str(key), "--socket", str(where),
                   "--pid-file", f"{folder}/munge/pid", "--seed-file", f"{folder}/munge/seed",
                   "--log-file", f"{folder}/munge/log"],
        "slurmctld": ["-D"],
        "slurmd": ["-D", "-N", name, "-d", str(shutil.which("slurmstepd"))],
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        for program, words in commands.items():
            log = folder / f"{program}.log"
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [program, *words], env=environment, stdout=out, stderr=out
                )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            if program == "munged":
                wait_until(where.exists, process, log)
        idle = ["sinfo", "-h", "-t", "idle", "-o", "%D"]
        wait_until(
            lambda: subprocess.run(
                idle, env=environment, capture_output=True, check=False
            ).stdout.strip() == b"1",
            process, log,
        )  # fmt: skip
        yield environment


def script(folder: Path) -> Path:
    """Write the page's script for one worker on one processor, and its port."""
    page = (REPOSITORY / "docs/sweep.md").read_text()
    (text,) = (
        text for text in re.findall(r"```python\n(.*?)```", page, re.S) if "SLURMCluster" in text
    )
    for shown, here in (
        ("cores=16", "cores=1"), ("processes=16", "processes=1"), ("jobs=8", "jobs=1"),
        ('"32GB"', '"900MB"'),
    ):  # fmt: skip
        assert shown in text
        text = text.replace(shown, here)
    path = folder / "jobs.py"
    path.write_text(text)
    return path


def test_the_pages_script_computes_a_sweep(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    got = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(packages),
         "dask-jobqueue==0.9.0"],
        check=False,
    )  # fmt: skip
    if got.returncode != 0:
        pytest.skip("dask-jobqueue cannot be downloaded here")
    page = (REPOSITORY / "docs/sweep.md").read_text()
    (make,) = re.findall(r"```sh\n(openssl req.*?)```", page, re.S)
    subprocess.run(["sh", "-ec", make], cwd=tmp_path, check=True, capture_output=True)
    sweep = tmp_path / "many.toml"
    sweep.write_text(
        f'[[simulate]]\nfar = "cxl-e3s-x8"\nlines = 100000\nseed = {list(range(POINTS))}\n'
    )
    with slurm(tmp_path / "slurm") as plain:
        environment = {**plain, "PYTHONPATH": str(packages)}
        jobs = subprocess.Popen(
            [sys.executable, str(script(tmp_path))],
            cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        )  # fmt: skip

        def queued() -> list[str]:
            words = ["squeue", "-h", "-o", "%T"]
            return subprocess.check_output(words, env=environment, text=True).split()

        try:
            wait_until(lambda: "RUNNING" in queued(), jobs, tmp_path / "slurm/slurmctld.log")
            ran = None
            end = time.monotonic() + PATIENCE_S
            # The job's worker takes a moment to come.
            while ran is None or (ran.returncode == 3 and "has no workers" in ran.stderr):
                assert time.monotonic() < end
                ran = subprocess.run(
                    [sys.executable, "-m", "nearfar", "sweep", str(sweep), "--scheduler",
                     "tls://127.0.0.1:8786", "--tls-ca-file", "sweep.crt", "--tls-cert",
                     "sweep.crt", "--tls-key", "sweep.key"],
                    cwd=tmp_path, capture_output=True, text=True, check=False,
                )  # fmt: skip
            assert ran.returncode == 0, ran.stderr
            assert jobs.stdin is not None
            jobs.stdin.write(b"\n")
            jobs.stdin.close()
            assert jobs.wait(PATIENCE_S) == 0
            wait_until_empty(queued)
        finally:
            jobs.kill()
            jobs.wait()
            subprocess.run(["scancel", "-u", "root"], env=environment, check=False)
    table = polars.read_parquet(tmp_path / "many/results/*.parquet")
    assert table["point"].n_unique() == len(table) == POINTS


def wait_until_empty(queued: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while queued():
        assert time.monotonic() < end, "jobs outlive the script"
        time.sleep(0.5)
