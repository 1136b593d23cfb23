"""The store of samples: appended samples survive any end of the process."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleStore, StoreHeader, header, settings_hash, store_path

CHASE = SamplePoint("latency", "chase", 4096, 1 << 20)
TAILS = SamplePoint("persist", "persist-clwb", 4096, 1 << 20, each=True, accesses=1000)


def _header(**settings: str) -> StoreHeader:
    return header("dram,pages=4k", {"quick": "no", **settings})


def _each(count: int = 1000) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(1).lognormal(5, 1, count).astype(np.float32)


def test_appended_samples_are_read_in_order(tmp_path: Path) -> None:
    path = store_path(tmp_path / "profile.json")
    each = _each()
    with SampleStore.create(path, _header()) as store:
        store.append(CHASE, Sample(101.5))
        store.append(TAILS, Sample(250.0, 3.5, each, disturbed=True))
        store.append(CHASE, Sample(99.5, 0.6))
    with SampleStore.load(path) as store:
        assert store.header.spec == "dram,pages=4k"
        records = list(store.records())
    assert [record.point for record in records] == [CHASE, TAILS, CHASE]
    assert [record.sample.value for record in records] == [101.5, 250.0, 99.5]
    tail = records[1].sample
    assert tail.disturbed
    assert tail.drawn_gb_per_s == 3.5
    assert tail.each_ns is not None
    np.testing.assert_array_equal(tail.each_ns, each)


@pytest.mark.parametrize("cut", [1, 7, 8, 9, 60])
def test_a_torn_last_record_is_dropped_and_replaced_by_the_next(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "s"
    with SampleStore.create(path, _header()) as store:
        store.append(CHASE, Sample(1.0))
        store.append(CHASE, Sample(2.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with SampleStore.resume(path, _header()) as store:
        assert store.dropped_bytes > 0
        store.append(CHASE, Sample(3.0))
    with SampleStore.load(path) as store:
        assert [record.sample.value for record in store.records()] == [1.0, 3.0]
        assert store.dropped_bytes == 0


def test_a_record_with_a_flipped_bit_ends_the_store(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with SampleStore.create(path, _header()) as store:
        store.append(CHASE, Sample(1.0))
        store.append(CHASE, Sample(2.0))
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with SampleStore.load(path) as store:
        assert [record.sample.value for record in store.records()] == [1.0]


WRITER = """
import sys
import numpy as np
from pathlib import Path
from nearfar.samples.store import SampleStore, header
from nearfar.samples.point import SamplePoint, Sample
store = SampleStore.create(Path(sys.argv[1]), header("dram", {}))
point = SamplePoint("persist", "persist-clwb", 4096, 1 << 20, each=True)
number = 0
while True:
    store.append(point, Sample(float(number), each_ns=np.full(50_000, number, np.float32)))
    number += 1
    print(number, flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_writer_leaves_every_appended_sample(tmp_path: Path, how: signal.Signals) -> None:
    path = tmp_path / "s"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert writer.stdout is not None
    try:
        acknowledged = 0
        while acknowledged < 20:
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(how)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout)])
    finally:
        writer.kill()
        writer.wait()
    with SampleStore.resume(path, header("dram", {})) as store:
        values = []
        for record in store.records():
            assert record.sample.each_ns is not None
            assert np.all(record.sample.each_ns == record.sample.value)
            values.append(record.sample.value)
        store.append(CHASE, Sample(7.0))
    assert values == [float(number) for number in range(len(values))]
    assert len(values) >= acknowledged
    with SampleStore.load(path) as store:
        assert len(list(store.records())) == len(values) + 1


def test_a_full_disk_is_one_sentence_and_keeps_earlier_samples(tmp_path: Path) -> None:
    path = tmp_path / "s"
    store = SampleStore.create(path, _header())
    store.append(CHASE, Sample(1.0))
    # A limit on the size of files fails writes midway, as a full disk does (EFBIG for ENOSPC).
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1000, old[1]))
    try:
        with pytest.raises(NearfarError, match=r"cannot write .*--resume") as refusal:
            store.append(TAILS, Sample(2.0, each_ns=_each()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)
    assert refusal.value.exit_code == ExitCode.MACHINE_LACKS
    store.append(CHASE, Sample(3.0))
    store.close()
    with SampleStore.load(path) as again:
        assert again.dropped_bytes == 0
        assert [record.sample.value for record in again.records()] == [1.0, 3.0]


def test_a_special_file_is_refused_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(NearfarError, match="it is no plain file"):
            SampleStore.create(path, _header())
        assert path.exists()


def test_another_machines_store_is_read_but_not_extended(tmp_path: Path) -> None:
    path = tmp_path / "s"
    theirs = msgspec.structs.replace(_header(), host="elsewhere", cpu_model="Another CPU")
    with SampleStore.create(path, theirs) as store:
        store.append(CHASE, Sample(1.0))
    with SampleStore.load(path) as store:
        assert len(list(store.records())) == 1
    with pytest.raises(NearfarError, match=r"machine was elsewhere \(Another CPU\)"):
        SampleStore.resume(path, _header())


def test_resume_reports_which_setting_or_memory_differs(tmp_path: Path) -> None:
    path = tmp_path / "s"
    SampleStore.create(path, _header(threads="2")).close()
    with pytest.raises(NearfarError, match="threads was 2 and is 4"):
        SampleStore.resume(path, _header(threads="4"))
    with pytest.raises(NearfarError, match="memory was dram,pages=4k and is node:1"):
        SampleStore.resume(path, header("node:1", {"quick": "no", "threads": "2"}))
    with pytest.raises(NearfarError, match="does not exist"):
        SampleStore.resume(tmp_path / "none", _header())


def test_two_writers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with (
        SampleStore.create(path, _header()) as store,
        pytest.raises(NearfarError, match="being written by another"),
    ):
        store.append(CHASE, Sample(1.0))
        SampleStore.create(path, _header())
    with SampleStore.load(path) as store:
        assert len(list(store.records())) == 1


@pytest.mark.parametrize("content", [b"", b"not samples at all", b"nfsmpl1\n", b"00000000 {}\n"])
def test_other_files_are_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s"
    path.write_bytes(content)
    with pytest.raises(NearfarError, match="holds no work"):
        SampleStore.load(path)
    assert path.read_bytes() == content


def test_the_hash_of_settings_does_not_depend_on_their_order() -> None:
    assert settings_hash({"a": "1", "b": "2"}) == settings_hash({"b": "2", "a": "1"})
    assert settings_hash({"a": "1"}) != settings_hash({"a": "2"})


def test_appending_takes_a_small_part_of_a_samples_time(tmp_path: Path) -> None:
    """A sample takes about 20 ms and the harness at most 1 % of it; a busy host gets 20 %."""
    with SampleStore.create(tmp_path / "s", _header()) as store:
        begin = time.process_time()
        for _ in range(1000):
            store.append(CHASE, Sample(1.0))
        assert (time.process_time() - begin) / 1000 < 4e-3
