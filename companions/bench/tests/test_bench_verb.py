"""`nearfar bench` from the command line, and `nearfar-bench` on wrong pools."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from nearfar_bench import api
from nearfar_bench.experiment import changed, read_experiment

sys.path.append(str(Path(__file__).parents[3]))
from benchmarks.map_runs import MAPS
from nearfar.__main__ import main
from nearfar.base.errors import NearfarError
from nearfar.base.folders import owned_folder
from nearfar_bench.memories import find_memory
from nearfar_bench.native import bench_file, kinds

TINY = ["--set", "n=300", "--set", "map=hash-tx,b-tree", "--set", "operation=insert"]


@pytest.fixture(scope="module")
def executable() -> Path:
    try:
        if kinds()["map-b-tree"].needs or kinds()["transaction"].needs:
            pytest.skip("built without libpmemobj")
    except NearfarError as error:
        pytest.skip(str(error))
    return bench_file("nearfar-bench")


def act(executable: Path, *words: object) -> tuple[int, str]:
    answer = subprocess.run(
        [executable, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in answer.stderr
    return answer.returncode, answer.stderr


def test_an_experiment_is_run_resumed_and_printed(
    executable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, table = tmp_path / "out.json", tmp_path / "out.parquet"
    command = ["bench", "maps", *TINY, "--repeats", "3", "-o", str(output)]
    picture = tmp_path / "out.png"
    assert main([*command, "--parquet", str(table), "--plot", str(picture), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(output.read_text())
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "out.json.partial").exists()
    pools = [cell for cell in document["cells"] if cell["arguments"]["memory"] == "tmpfs"]
    assert len(pools) == 2
    for cell in pools:
        assert cell["verified"] == ["after the run", "after reopening"]
        assert cell["counts"]["transactions"] == pytest.approx(1, abs=0.05)
        assert "tmpfs is not persistent" in cell["durability"]["survives"]
        assert cell["slowdown"]["value"] > 0
        figure = cell["figures"]["ns_per_operation"]
        assert figure["low"] <= figure["value"] <= figure["high"]
    rows = parquet.read_table(table).to_pylist()
    assert sorted(row["ns_per_operation"] for row in rows) == sorted(
        value for cell in document["cells"] for value in cell["samples"]["ns_per_operation"]
    )


def test_an_interrupted_experiment_is_resumed(
    executable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = changed(read_experiment("maps"), [*TINY[1::2], "memory=volatile"], 2)
    output = tmp_path / "out.json"
    done: list[str] = []
    real = api.run

    def interrupted(kind: str, arguments: dict[str, str], *others: object) -> object:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(kind)
        return real(kind, arguments, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(api, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        api.bench(experiment, output)
    assert not output.exists()
    done = []  # the limit allows three more: the rest of six
    result = api.bench(experiment, output)
    assert len(done) == 3
    assert [len(cell.samples["ns_per_operation"]) for cell in result.cells] == [2, 2]


def test_wrong_pools_are_refused_in_one_sentence(executable: Path, tmp_path: Path) -> None:
    pool = Path("/dev/shm") / f"nearfar-bench-test-{tmp_path.name}"
    other = tmp_path / "other"
    try:
        assert act(executable, "drive", "map-b-tree", pool, 50, 1) == (0, "")
        assert act(executable, "check", "map-b-tree", pool) == (0, "")
        assert act(executable, "drive", "map-b-tree", pool, 50, 2) == (0, "")

        code, message = act(executable, "check", "map-hash-tx", pool)
        assert (code, "has the layout 'nearfar-map-2 b-tree'" in message) == (2, True)
        content = bytearray(pool.read_bytes())
        for place, wrong, sentence in (
            (4096, b"nearfar-map-0 b-tree", "another version of nearfar"),
            (8, b"\x05\0\0\0", "version 5 of libpmemobj's format"),
            (0, b"PMEMBLK\0", "is not a pool of libpmemobj"),
        ):
            changed = bytearray(content)
            changed[place : place + len(wrong)] = wrong
            other.write_bytes(changed)
            code, message = act(executable, "check", "map-b-tree", other)
            assert (code, sentence in message) == (2, True), message
        other.write_bytes(content[:4000])
        assert act(executable, "check", "map-b-tree", other)[0] == 2

        words = ["run", "map", "memory=pool"]
        code, message = act(executable, *words, f"pool={pool}")
        assert (code, "would be overwritten" in message) == (2, True)
        code, message = act(executable, *words, f"pool={pool}2", "pool_bytes=1MiB")
        assert (code, "at least 8 MiB" in message) == (2, True)
        code, message = act(executable, *words, f"pool={pool}2", "pool_bytes=8MiB", "n=1000000")
        assert (code, "has no room for this" in message) == (3, True)
        code, message = act(executable, *words, "pool=/proc/nearfar-pool")
        assert code in (2, 3)
        assert "cannot create the pool" in message
        assert not Path(f"{pool}2").exists()
    finally:
        pool.unlink(missing_ok=True)


def mixed(key: int) -> int:
    """Return the hash of a key as companions/bench/native/bench/maps/hash.hpp does."""
    bits = 2**64 - 1
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        key = (key ^ key >> 33) * factor & bits
    return key ^ key >> 33


@pytest.mark.parametrize("name", MAPS)
def test_a_map_with_externally_changed_content_fails(executable: Path, name: str) -> None:
    with owned_folder("nearfar-bench-test-", "/dev/shm") as folder:
        pool = folder / "pool"
        command = [executable, "turns", "map", f"map={name}", "n=300", "memory=pool"]
        with subprocess.Popen(
            [*command, f"pool={pool}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=find_memory("tmpfs").environment(),
        ) as run:
            assert run.stdin is not None
            assert run.stdout is not None
            run.stdin.write(b"insert 300\n")
            run.stdin.flush()
            assert json.loads(run.stdout.readline())["operations"] == 300
            value = mixed(mixed((1 << 40) + 5) + 0x5BD1E995)  # the fifth key's
            content, word = pool.read_bytes(), value.to_bytes(8, "little")
            assert word in content
            at = -1
            with pool.open("r+b") as file:
                while (at := content.find(word, at + 1)) >= 0:  # also in abandoned tables
                    file.seek(at)
                    file.write((value ^ 1).to_bytes(8, "little"))
            message = run.communicate()[1]
    assert run.returncode == 1
    assert b"a wrong value" in message


def test_wrong_use_of_the_verb_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench"]) == 2
    assert main(["bench", "no-such-thing"]) == 2
    assert main(["bench", "maps", "--set", "nn=5"]) in (2, 3)
    assert main(["bench", "maps", "--set", "threads=100000"]) in (2, 3)
    assert main(["bench", "maps", "--repeats", "1000000000"]) == 2
    message = capsys.readouterr().err
    assert "name an experiment" in message
    assert message.count("\n") == 5


def test_kinds_and_experiments_are_listed(
    executable: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"map", "transaction"} <= {kind["name"] for kind in document["kinds"]}
    assert "maps" in {each["name"] for each in document["experiments"]}
