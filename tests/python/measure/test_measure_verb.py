"""The verb from the command line: exit codes, one-sentence refusals, complete files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import forked
import pytest
from patience import patience

from nearfar.__main__ import main
from nearfar.documents import DeviceProfile, load

TINY = ["--quick", "--repetitions", "2", "--largest", "1MiB", "--accept-noise", "--only", "idle"]


nearfar = partial(forked.nearfar, "measure")


def test_a_document_is_written_and_summarised(tmp_path: Path) -> None:
    output = ("-o", "device.json", "--plot", "device.svg")
    done = nearfar("dram", *TINY[:-1], "idle,chains,loaded", *output, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    device = load(tmp_path / "device.json", DeviceProfile)
    assert device.name == "dram"
    assert device.measured.repetitions == 2
    assert "A/A noise floor" in done.stdout
    assert "wrote device.json and device.samples.parquet and device.svg" in done.stdout
    assert "nearfar measure:" in done.stderr, "progress, as plain lines"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "device.json",
        "device.samples.parquet",
        "device.svg",
    ]
    assert device.measured.samples_file == "device.samples.parquet"


def test_the_default_output_is_named_after_the_memory(tmp_path: Path) -> None:
    done = nearfar("dram,pages=4k", *TINY, "--quiet", "--no-samples", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["dram-pages-4k.json"]


def test_json_prints_the_document_and_writes_no_file(tmp_path: Path) -> None:
    done = nearfar(*TINY, "--json", "--name", "my-dram", "--title", "Mine", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert (document["kind"], document["name"]) == ("device-profile", "my-dram")
    assert document["title"] == "Mine"
    assert list(tmp_path.iterdir()) == []


def test_seconds_limit_it_but_leave_the_minimum_number_of_rounds(tmp_path: Path) -> None:
    rounds = []
    for seconds in ("0.001", "3"):
        arguments = ("--quick", "--seconds", seconds, "--only", "chains,bandwidth", "--json")
        done = nearfar("model:optane-100-6dimm", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        measured = json.loads(done.stdout)["measured"]
        assert measured["ended"] in ("time", "narrow")
        rounds.append(measured["repetitions"])
    assert rounds[0] == 3
    assert rounds[1] >= rounds[0]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["drum"], 2, "did you mean 'dram'? A memory is"),
        (["node:999"], 3, "no NUMA node 999"),
        (["file:/nowhere/at/all"], 3, "there is no /nowhere/at/all"),
        (["file:/proc"], 3, "cannot create a file in /proc"),
        (["--seconds", "0"], 2, "--seconds must be a positive number"),
        (["--seconds", "nan"], 2, "--seconds must be a positive number"),
        (["--repetitions", "1"], 2, "at least 2"),
        (["--threads", "0"], 2, "--threads must be at least 1"),
        (["--threads", "9999"], 3, "9999 threads need 9999 cores"),
        (["--only", "bandwith"], 2, "did you mean 'bandwidth'"),
        (["--resume"], 2, "there is nothing to resume"),
        (["--resume", "--json"], 2, "--resume continues with the samples stored"),
        (["--since", "nowhere.json"], 2, "cannot compare with nowhere.json"),
        (["--self-test"], 2, "only simulated memories have"),
        (
            ["model:optane-200", "--self-test", "--plot", "x.png", "--quick", "--no-samples"],
            2,
            "leave out --plot, --no-samples and --quick",
        ),
        (["model:optane-200", "--self-test", "--seed", "2", "--each"], 2, "--seed and --each"),
        (["model:optane-200", "--self-test", "--kernel", "read"], 2, "leave out --kernel"),
        (["model:optane-200,pages=4k", "--self-test"], 2, "leave out pages="),
        (["model:optane-200", "--self-test", "-o", "nowhere/x.json"], 3, "mkdir -p nowhere"),
        (["model:optane-100-7dimm"], 2, "did you mean 'optane-100-6dimm'"),
        (["model:random:x"], 2, "needs a seed"),
        (["devdax:/dev/dax99.0"], 3, "there is no DAX device /dev/dax99.0"),
        (["--largest", "2G"], 2, "cannot read the size '2G'"),
        (["--largest", "1KiB"], 2, "at least 64KiB"),
        (["model:optane-200", "--largest", "64GiB"], 2, "choose a smaller --largest"),
        (
            ["model:optane-200", "--only", "loaded,loaded-writes", "--threads", "1"],
            3,
            "cannot measure loaded, loaded-writes on this memory: latency under load was not "
            "measured: it takes a second CPU",
        ),
        (["--name", "My DRAM"], 2, "must be lower-case letters"),
        (["--chains", "4"], 2, "for --kernel"),
        (["--kernel", "chas"], 2, "did you mean 'chase'"),
        (["--kernel", "read", "-o", "x.json"], 2, "leave out -o"),
        (
            ["--kernel", "read", "--only", "idle", "--resume", "--since", "x.json", "--name", "x"],
            2,
            "leave out --name, --only, --resume and --since",
        ),
        (["--kernel", "read", "--stride", "4KiB"], 2, "leave --stride out"),
        (["--kernel", "stream-triad", "--access", "4KiB", "--window", "4KiB"], 2, "--access and"),
        (["--kernel", "read-strided", "--window", "1MiB"], 2, "leave --window out"),
        (["--kernel", "chase", "--fence-every", "7"], 2, "has no fences"),
        (["--plot", "x.jpeg"], 2, "must end in .png"),
        (["-o", "nowhere/device.json"], 3, "mkdir -p nowhere"),
        (["-o", "/sys/device.json"], 3, "choose another folder with -o"),
        (["-o", "."], 2, "it is a folder"),
        (["--frobnicate"], 2, "frobnicate"),
    ],
)
def test_wrong_use(
    refused: Callable[[list[str]], tuple[int, str]], arguments: list[str], code: int, says: str
) -> None:
    returned, sentence = refused(["measure", *arguments])
    assert returned == code, sentence
    assert says in sentence


def test_a_self_test_writes_what_it_prints(tmp_path: Path) -> None:
    arguments = ["model:random:3", "--self-test", "--seconds", "0.1", "--json", "-o", "x.json"]
    done = nearfar(*arguments, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    verdicts = json.loads(done.stdout)
    assert verdicts == json.loads((tmp_path / "x.json").read_text())
    assert {each["judged"] for each in verdicts} <= {"right", "not seen", "wrong", "invented"}
    # An interrupted self-test has seen less and reports that.
    assert "not seen" in {each["judged"] for each in verdicts}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = nearfar(*TINY, "-o", str(tmp_path / "device.json"))
    assert done.returncode == 3
    assert "Permission denied" in done.stderr


def test_kernels_are_listed_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--kernel", "list"]) == 0
    listed = capsys.readouterr().out
    assert "chase-sequential" in listed
    assert main(["measure", "--kernel", "list", "--json"]) == 0
    names = [each["name"] for each in json.loads(capsys.readouterr().out)]
    assert [line.split()[0] for line in listed.splitlines()] == names
    tiny = ["--repetitions", "2", "--largest", "1MiB"]
    done = nearfar("--kernel", "chains", "--chains", "4", *tiny, cwd=tmp_path)
    assert done.returncode == 0
    assert "ns per access" in done.stdout
    as_json = json.loads(nearfar("--kernel", "read", *tiny, "--json").stdout)
    assert (as_json["unit"], as_json["kernel"]["read_bytes"]) == ("GB/s", 64)
    assert list(tmp_path.iterdir()) == []


def interrupted(command: list[str], cwd: Path, until: str) -> tuple[int, str]:
    """Run, send Ctrl-C once a progress line contains `until`, return exit code and stderr."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nearfar", "measure", *command],
        cwd=cwd,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if until in line:
            process.send_signal(signal.SIGINT)
            break
    lines += list(process.stderr)
    return process.wait(timeout=patience(30)), "".join(lines)


def test_ctrl_c_before_the_first_sample_leaves_nothing(tmp_path: Path) -> None:
    before = b"kept as it was"
    (tmp_path / "device.json").write_bytes(before)
    command = [f"file:{tmp_path}", "--largest", "512MiB", "-o", "device.json"]
    code, stderr = interrupted(command, tmp_path, "preparing memory")
    assert code == 130, stderr
    assert "Traceback" not in stderr
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept <= {"device.json", "device.json.samples"}, "no part of a profile, no measured file"
    assert (tmp_path / "device.json").read_bytes() == before


def test_ctrl_c_keeps_the_samples_and_resume_continues(tmp_path: Path) -> None:
    memory = ["model:optane-100-6dimm", "--only", "chains,bandwidth", "-o", "device.json"]
    code, stderr = interrupted([*memory, "--seconds", "600"], tmp_path, "round")
    assert code == 130, stderr
    assert "Traceback" not in stderr
    assert stderr.count("--resume") == 1
    assert "samples are kept in device.json.samples" in stderr
    assert [path.name for path in tmp_path.iterdir()] == ["device.json.samples"]
    before = (tmp_path / "device.json.samples").stat().st_size

    other = nearfar("model:optane-200", *memory[1:], "--resume", cwd=tmp_path)
    assert other.returncode == 2
    assert "memory was model:optane-100-6dimm and is model:optane-200" in other.stderr
    other = nearfar(*memory, "--quick", "--resume", cwd=tmp_path)
    assert other.returncode == 2
    assert "quick was False and is True" in other.stderr
    assert (tmp_path / "device.json.samples").stat().st_size == before

    done = nearfar(*memory, "--resume", "--seconds", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    device = load(tmp_path / "device.json", DeviceProfile)
    assert device.measured.repetitions >= 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "device.json",
        "device.samples.parquet",
    ]


def test_nothing_is_kept_next_to_a_device_or_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = ["model:optane-200", "--quick", "--only", "chains", "--seconds", "1", "-q"]
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        done = nearfar(*arguments, "-o", str(pipe))
        out, _ = reader.communicate(timeout=patience(30))
    assert done.returncode == 0, done.stderr
    assert json.loads(out)["kind"] == "device-profile"
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
