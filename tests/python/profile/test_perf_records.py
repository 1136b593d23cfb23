"""Decoding of perf records, from files with rings in the kernel's layout."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.base.errors import NearfarError
from nearfar.native_files import native_file

FILES = Path(__file__).parent / "perf_records"

IDENTIFIER, IP, TID, TIME, ADDR, CPU = 1 << 16, 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 7
PERIOD, CALLCHAIN, RAW, WEIGHT, DATA_SRC = 1 << 8, 1 << 5, 1 << 10, 1 << 14, 1 << 15
WEIGHT_STRUCT, PHYS_ADDR, BRANCH_STACK = 1 << 24, 1 << 19, 1 << 11
FAULTS = IP | TID | TIME | ADDR | PERIOD
PEBS = FAULTS | WEIGHT | DATA_SRC
IBS = IDENTIFIER | FAULTS | CPU | CALLCHAIN | RAW | WEIGHT_STRUCT | DATA_SRC | PHYS_ADDR
MOST = 200


@dataclass
class Sample:
    """Holds a decoded sample."""

    instruction: int
    process: int
    thread: int
    time_ns: int
    address: int
    events: int
    cycles: int
    source: int
    missed: int


@dataclass
class Tally:
    """Counts the other records."""

    samples: int
    lost: int
    throttled: int
    others: int
    broken: int


def decode(content: bytes, fields: int) -> tuple[list[Sample], Tally]:
    """Decode the bytes of a ring."""
    try:
        library = ctypes.CDLL(str(native_file("libnearfar_replay.so")))
    except NearfarError as error:
        pytest.skip(str(error))
    words = (ctypes.c_uint64 * (9 * MOST))()
    sums = (ctypes.c_uint64 * 5)()
    library.nf_perf_decode.restype = ctypes.c_int64
    size, kind = ctypes.c_uint64(len(content)), ctypes.c_uint64(fields)
    read_format, most = ctypes.c_uint64(3), ctypes.c_uint64(MOST)
    result = library.nf_perf_decode(content, size, kind, read_format, words, most, sums)
    if result < 0:
        raise ValueError("fields that cannot be read")
    return [Sample(*words[9 * i : 9 * i + 9]) for i in range(min(result, MOST))], Tally(*sums)


def test_a_constructed_pebs_ring_gives_addresses_latencies_and_levels() -> None:
    samples, tally = decode((FILES / "constructed-pebs.bin").read_bytes(), PEBS)
    assert tally == Tally(samples=9, lost=20, throttled=1, others=1, broken=0)
    first = samples[0]
    assert (first.instruction, first.process, first.thread) == (0x401136, 70, 71)
    assert (first.address, first.time_ns) == (0x7F0000001040, 5_000_000)
    assert (first.events, first.cycles) == (1000, 350)
    # RAM, L3, remote RAM, CXL, another socket's cache; then by the old field RAM, an L3 miss, L3, a
    # remote cache.
    assert [sample.missed for sample in samples] == [1, 0, 1, 1, 1, 1, 1, 0, 1]
    assert samples[2].events == 3000


def test_a_constructed_ibs_ring_is_read_across_call_chains_and_raw_data() -> None:
    samples, tally = decode((FILES / "constructed-ibs.bin").read_bytes(), IBS)
    assert tally == Tally(samples=4, lost=0, throttled=0, others=0, broken=0)
    assert [s.address for s in samples] == [0x555500001000, 0x555500002000, 0, 0x555500003000]
    assert [s.missed for s in samples] == [1, 1, 0, 0]
    # The first of a weight's three numbers is the latency.
    assert [s.cycles for s in samples] == [420, 0, 0, 5]
    assert samples[0].events == 250


def test_a_real_ring_of_page_faults_is_read() -> None:
    samples, tally = decode((FILES / "real-page-faults.bin").read_bytes(), FAULTS)
    assert tally == Tally(samples=64, lost=0, throttled=0, others=0, broken=0)
    assert len({sample.process for sample in samples}) == 1
    times = [sample.time_ns for sample in samples]
    assert times == sorted(times)
    assert all(sample.events == 1 for sample in samples)
    assert all(0 < sample.address < 1 << 47 for sample in samples)


@pytest.mark.parametrize("cut", [1, 7, 20, 56])
def test_an_incomplete_record_waits_for_its_end(cut: int) -> None:
    content = (FILES / "constructed-pebs.bin").read_bytes()
    samples, tally = decode(content[:64] + content[64 : 64 + cut], PEBS)
    assert (len(samples), tally.broken) == (1, cut)  # left in the ring


def test_records_of_impossible_length_end_the_reading() -> None:
    content = (FILES / "constructed-pebs.bin").read_bytes()
    samples, tally = decode(content[:64] + bytes(64), PEBS)
    assert (len(samples), tally.broken) == (1, 64)
    # A sample that is shorter than its fields: the file has no physical addresses.
    samples, tally = decode(content[:64], PEBS | CPU)
    assert (samples, tally.broken) == ([], 64)


def test_fields_that_cannot_be_skipped_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        decode(b"", PEBS | BRANCH_STACK)


@examples(200)
@given(st.binary(max_size=400), st.sampled_from([FAULTS, PEBS, IBS]))
def test_any_bytes_are_read_within_their_bounds(content: bytes, fields: int) -> None:
    samples, tally = decode(content, fields)
    assert len(samples) == tally.samples <= len(content) // 8
    assert tally.broken <= len(content)
