"""Fleets: sums equal those of single profiles, mixes respect limits and stock, bad input."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import samples
from rich.console import Console

from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.documents import Fleet, WorkloadProfile, save
from nearfar.fleet.api import fleet
from nearfar.fleet.hosts import parse_limits, read_hosts
from nearfar.fleet.mix import Market, TypeRoom, break_even, cheapest_mix
from nearfar.fleet.page import render
from nearfar.fleet.slowdowns import SHARES
from nearfar.fleet.table import print_fleet
from nearfar.options.fleet import FleetOptions


def made(seed: int, host: str, cpu: str = "Xeon") -> WorkloadProfile:
    profile = samples.workload(6, seed=seed)
    producer = msgspec.structs.replace(
        profile.producer, host=host, cpu_model=cpu, time_utc=f"2026-01-{seed:02d}T00:00:00"
    )
    return msgspec.structs.replace(profile, producer=producer)


@pytest.fixture
def request_of(tmp_path: Path) -> FleetOptions:
    folder = tmp_path / "profiles"
    folder.mkdir()
    for seed in range(1, 9):
        save(made(seed, f"host-{seed % 4}", ("Xeon", "EPYC")[seed % 2]), folder / f"{seed}.json")
    save(samples.device("near"), tmp_path / "near.json")
    save(samples.device("far", 300.0, 8.0, 6.0), tmp_path / "far.json")
    return FleetOptions(
        profiles=[str(folder)],
        near=str(tmp_path / "near.json"),
        far=str(tmp_path / "far.json"),
        cache=tmp_path / "rows",
    )


def rounded(found: Fleet) -> object:
    """Return all but the creation time, without the last digits: threads sum in any order."""

    def short(value: object) -> object:
        if isinstance(value, float):
            return float(f"{value:.12g}")
        if isinstance(value, dict):
            return {key: short(each) for key, each in value.items() if key != "producer"}
        return [short(each) for each in value] if isinstance(value, list) else value

    return short(msgspec.to_builtins(found))


def test_sums_equal_those_of_single_profiles(request_of: FleetOptions) -> None:
    result = fleet(request_of)
    profiles = [made(seed, "") for seed in range(1, 9)]
    assert (result.profiles, result.hosts, len(result.types)) == (8, 4, 2)
    assert result.footprint_bytes == sum(t.size_bytes for p in profiles for t in p.objects)
    assert sum(each.cpu_seconds for each in result.types) == pytest.approx(result.cpu_seconds)
    near, far = samples.device("near"), samples.device("far", 300.0, 8.0, 6.0)
    predicted = [
        predict(profile=profile, near=near, far=[far]).devices[0].total for profile in profiles
    ]
    mean = sum(each.far_time_ns.value for each in predicted) / sum(
        each.near_time_ns.value for each in predicted
    )
    weights = [each.cpu_seconds for each in result.types]
    summed = sum(
        w * each.curve[-1].slowdown_mean for w, each in zip(weights, result.types, strict=True)
    )
    assert summed / sum(weights) == pytest.approx(mean, rel=0.1)
    for each in result.types:
        means = [point.slowdown_mean for point in each.curve]
        assert means[0] == pytest.approx(1.0)
        assert means == sorted(means)
    costs = [item.slowdown_cost / item.bytes for item in result.objects]
    assert costs == sorted(costs)
    saved = [saving.saved for saving in result.savings]
    assert saved == sorted(saved)
    # Saved rows give the same without reading the profiles.
    again = fleet(request_of)
    assert rounded(again) == rounded(result)
    page = render(result)
    assert "Xeon" in page
    assert "<script" not in page


def room(name: str = "a", count: int = 10, **changes: object) -> TypeRoom:
    tolerating = tuple(1.0 if share <= 0.5 else 0.25 for share in SHARES)
    base = TypeRoom(name, count, 64.0 * 2**30, 5.0, 1.0, tolerating)
    return replace(base, **changes)  # type: ignore[arg-type]


MARKET = Market(1.0, 0.0, math.inf, math.inf, 2)


def test_the_cheapest_mix_equals_the_one_calculated_by_hand() -> None:
    # All programs tolerate half in far memory; a quarter of the demand (2 of 10 hosts) tolerates
    # all.
    result = cheapest_mix([room()], MARKET, 1.1)
    assert {(mix.far_share, mix.hosts) for mix in result.mixes} == {(0.5, 8), (1.0, 2)}
    all_near, cost = 10 * 64 * 5.0, 8 * 64 * 3.0 + 2 * 64 * 1.0
    assert (result.cost, result.saved) == pytest.approx((cost, 1 - cost / all_near))
    single = cheapest_mix([room()], replace(MARKET, mixes=1), 1.1)
    assert {(mix.far_share, mix.hosts) for mix in single.mixes} == {(0.5, 10)}
    stock = cheapest_mix([room()], replace(MARKET, far_bytes=64.0 * 2**30), 1.1)
    assert stock.far_bytes <= 64 * 2**30
    few = cheapest_mix([room(), room("b", 5)], replace(MARKET, adapters=3.0), 1.1)
    assert sum(mix.hosts for mix in few.mixes if mix.far_share > 0) == 3
    assert sum(mix.hosts for mix in few.mixes) == 15
    half = cheapest_mix([room(most_far=0.25)], MARKET, 1.1)
    assert {mix.far_share for mix in half.mixes} == {0.25}


def test_above_the_break_even_price_nothing_is_saved() -> None:
    # An adapter costs a tenth of a host's near memory. All far, for two hosts, it saves until far
    # memory costs nine tenths of near memory.
    market = replace(MARKET, adapter=0.1 * 64 * 5.0, mixes=1)
    even = break_even([room()], market)
    assert even == pytest.approx(0.9, abs=0.02)
    dear = replace(market, far_price_per_gib=0.95 * 5.0)
    assert cheapest_mix([room()], dear, 1.1).saved == pytest.approx(0.0)


def test_bad_files_are_refused_or_left_out_and_counted(request_of: FleetOptions) -> None:
    folder = Path(request_of.profiles[0])
    text = (folder / "1.json").read_text()
    (folder / "old.json").write_text(text.replace('"version": 1', '"version": 0', 1))
    with pytest.raises(NearfarError, match="of version 0, and this nearfar reads version 1"):
        fleet(request_of)
    (folder / "cut.json").write_text(text[:500])
    (folder / "copy.json").write_text(text)
    other = made(1, "host-1", "EPYC")
    save(msgspec.structs.replace(other, instrumented_slowdown=9.0), folder / "clash.json")
    result = fleet(replace(request_of, leave_out_bad=True))
    assert result.profiles == 8
    assert sorted(result.left_out.values()) == [1, 1, 1]
    assert any(
        warning.startswith("copies count once: 1 file left out") for warning in result.warnings
    )
    for name in ("old", "cut"):
        (folder / f"{name}.json").unlink()
    with pytest.raises(NearfarError, match="same run of the same host and moment, and differ"):
        fleet(request_of)


def test_what_reading_accepts_is_condensed_or_named(request_of: FleetOptions) -> None:
    """One bad profile of many ends nothing with a traceback, and --leave-out-bad leaves it out."""
    bad = Path(request_of.profiles[0]) / "bad.json"
    document = json.loads((bad.parent / "1.json").read_text())
    document["producer"]["host"] = "another"
    first = document["objects"][0]
    unknown = {**document, "objects": [{**first, "colour": 1}, *document["objects"][1:]]}
    large = {**document, "objects": [{**first, "size_bytes": 10**24}, *document["objects"][1:]]}
    together = {**document, "objects": [{**o, "size_bytes": 2**60} for o in document["objects"]]}
    for content, sentence in (
        (unknown, "unknown field `colour`"),
        (large, "size_bytes"),
        (together, "bytes together"),
    ):
        bad.write_text(json.dumps(content))
        with pytest.raises(NearfarError, match=sentence) as raised:
            fleet(request_of)
        assert str(bad) in str(raised.value)
        result = fleet(replace(request_of, leave_out_bad=True))
        assert (result.profiles, sum(result.left_out.values())) == (8, 1)


def test_a_folder_that_cannot_be_read_is_named_or_left_out(
    request_of: FleetOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = Path(request_of.profiles[0]) / "closed"
    closed.mkdir()
    scandir = os.scandir

    def refused(path: str) -> Iterator[os.DirEntry[str]]:
        if path == str(closed):  # root may read every folder
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(NearfarError, match=f"{closed} cannot be read: "):
        fleet(request_of)
    with pytest.raises(NearfarError, match=f"{closed} cannot be read: "):
        fleet(replace(request_of, profiles=[str(closed)]))
    result = fleet(replace(request_of, leave_out_bad=True))
    assert (result.profiles, result.left_out) == (8, {"cannot be read": 1})


def test_a_link_to_itself_leaves_out_no_other_file(request_of: FleetOptions) -> None:
    link = Path(request_of.profiles[0]) / "loop.json"
    link.symlink_to(link.name)
    with pytest.raises(NearfarError, match=r"loop\.json"):
        fleet(request_of)
    result = fleet(replace(request_of, leave_out_bad=True))
    assert (result.profiles, sum(result.left_out.values())) == (8, 1)


def test_kept_rows_are_of_files_and_not_of_their_names_here(
    request_of: FleetOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles = Path(request_of.profiles[0])
    monkeypatch.chdir(profiles.parent)
    first = fleet(replace(request_of, profiles=["profiles"]))
    monkeypatch.chdir(profiles)
    assert rounded(fleet(replace(request_of, profiles=["../profiles"]))) == rounded(first)
    # A file whose permissions change is read again.
    before = sorted(path.name for path in request_of.cache.iterdir())  # type: ignore[union-attr]
    (profiles / "1.json").chmod(0o600)
    assert rounded(fleet(request_of)) == rounded(first)
    assert sorted(path.name for path in request_of.cache.iterdir()) != before  # type: ignore[union-attr]


def test_limits_of_the_interval_are_stricter_than_those_of_the_value(
    request_of: FleetOptions,
) -> None:
    by_value, by_high = (
        fleet(replace(request_of, slo=["1.2", "1.5", "3"], slo_by=judge))
        for judge in ("value", "high")
    )
    assert (by_value.slo_by, by_high.slo_by) == ("value", "high")
    assert by_high.quick_form.high_end_factor > by_high.quick_form.factor
    pairs = list(zip(by_value.savings, by_high.savings, strict=True))
    assert all(high.saved <= value.saved + 1e-3 for value, high in pairs)
    assert any(high.saved < value.saved - 1e-2 for value, high in pairs)
    assert "interval within" in render(by_high)
    lines = io.StringIO()
    print_fleet(by_high, Console(file=lines, width=200))
    assert "high end at most" in lines.getvalue()


def test_empty_fleets_and_prices_of_0_are_refused(tmp_path: Path, request_of: FleetOptions) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(NearfarError, match="the fleet is empty"):
        fleet(replace(request_of, profiles=[str(tmp_path / "none")]))
    with pytest.raises(NearfarError, match="there is no file or folder"):
        fleet(replace(request_of, profiles=["nowhere"]))
    hosts = tmp_path / "hosts.toml"
    for content, sentence in (
        ("[prices]\nnear_per_gib = 0", "near memory costs 0"),
        ("[prices]\nfar_per_gib = -1", "0 or more"),
        ("[price]\nfar = 1", "unknown field"),
        ("[types.a]\nmemory = '0GiB'", "is 0: write its size"),
        ("[stock]\nfar = '3'", "cannot read the size"),
    ):
        hosts.write_text(content)
        with pytest.raises(NearfarError, match=sentence):
            read_hosts(hosts)
    hosts.write_text("[types.a]\ncpu_model = 'Power*'")
    with pytest.raises(NearfarError, match="matches no type"):
        fleet(replace(request_of, hosts=hosts))
    hosts.write_text("[prices]\nfar_per_gib = 0")
    result = fleet(replace(request_of, hosts=hosts))
    assert any("far memory costs 0" in warning for warning in result.warnings)
    for text in ("0.9", "nan", "x"):
        with pytest.raises(NearfarError, match="is no slowdown"):
            parse_limits([text])


def test_the_verb_reads_locations_and_types_of_hosts(
    tmp_path: Path, request_of: FleetOptions
) -> None:
    hosts = tmp_path / "hosts.toml"
    hosts.write_text("""
[types.intel]
cpu_model = "Xeon*"
count = 100
memory = "512GiB"
[types.other]
most_far = 0.5
[prices]
near_per_gib = 4.5
far_per_gib = 2.0
adapter = 90
currency = "EUR"
[stock]
far = "10TiB"
""")
    command = [sys.executable, "-m", "nearfar", "fleet", f"file://{request_of.profiles[0]}"]
    command += ["--near", request_of.near, "--far", request_of.far, "--hosts", str(hosts)]
    command += ["--slo", "1.5", "--cache", str(tmp_path / "rows"), "--json"]
    command += ["--html", str(tmp_path / "fleet.html")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert {each["name"]: each["count"] for each in result["types"]} == {"intel": 100, "other": 2}
    assert sum(mix["hosts"] for mix in result["savings"][0]["mixes"]) == 102
    assert result["savings"][0]["far_bytes"] <= 10 * 2**40
    assert "EUR" in (tmp_path / "fleet.html").read_text()
