"""The noise of a run: intervals, drift and contention after the tables, and in JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from like_bench import KnownBench
from like_subject import KnownSubject

from nearfar.devices.quality import MAX_ERROR
from nearfar.measure.instrument import InstrumentWatch
from nearfar.samples.point import Sample, SamplePoint
from nearfar_like import main
from nearfar_like.bench import Chase, Values, Worker
from nearfar_like.lens import parse as parse_lens
from nearfar_like.lens import probe
from nearfar_like.mlc import measure
from nearfar_like.mlc.arguments import parse
from nearfar_like.repeat import Effort
from nearfar_like.stream import StreamOptions, stream
from nearfar_like.stream.model import ModelArrays

MODEL = "model:optane-100-1dimm"


class Jumps(KnownBench):
    """Every sample is `factors` times the known one, in turn; latencies of node 2 only."""

    factors: Sequence[float] = (1.0,)

    def measure(self, chase: Chase | None, workers: list[Worker], effort: Effort) -> Values:
        known = super().measure(chase, workers, Effort(0, 5))
        if chase is None or chase.place.node != 2:
            return known
        pairs = zip(known.ns, cycle(self.factors), strict=False)
        return Values([ns * factor for ns, factor in pairs], known.gb_per_s)


def noise_of(
    line: str, factors: Sequence[float] = (1.0,), watch: InstrumentWatch | None = None
) -> dict[str, Any]:
    bench = Jumps()
    bench.factors = factors
    noise: dict[str, Any] = measure(parse(line.split()), bench, lambda _: None, watch)["noise"]
    return noise


def watched(proc: Path, waited_s: float, clock_ns: Sequence[float]) -> InstrumentWatch:
    """Return a watch of a machine where a program waited for a CPU all the time, or never."""
    (proc / "pressure").mkdir()
    (proc / "stat").write_text("cpu0 1 0 0 1 0 0 0 0\n")
    pressure = proc / "pressure/cpu"
    pressure.write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
    times = cycle(clock_ns)
    watch = InstrumentWatch((0,), lambda _cpu: next(times), proc)
    pressure.write_text(f"some avg10=0 avg60=0 avg300=0 total={int(waited_s * 1e6)}\n")
    return watch


def test_a_quiet_run_has_one_short_line() -> None:
    noise = noise_of("--latency_matrix -r")
    assert noise["text"] == (
        "noise: 95% intervals are +-0.2% or less; A/A noise floor 0.2%, clock drift unknown, "
        "contention unknown"
    )
    assert not noise["beyond_limit"]
    assert 0 < noise["widest"]["half_width"] < 0.01


def test_the_widest_interval_is_named_with_unit_and_remedy() -> None:
    noise = noise_of("--latency_matrix -r", (1.0, 1.4, 1.0, 1.4, 1.0))
    assert noise["widest"]["what"] in ("cpu node 0 to node 2", "cpu node 1 to node 2")
    low, high = noise["widest"]["low"], noise["widest"]["high"]
    assert f"({low:.1f} to {high:.1f} ns)" in noise["text"]
    assert noise["text"].endswith(
        "measure again at a quieter time, or take more samples (-t SECONDS)"
    )
    assert not noise["beyond_limit"]


def test_beyond_the_limit_of_measure_the_values_should_not_be_used() -> None:
    noise = noise_of("--latency_matrix -r", (1.0, 1.0, 2.5, 2.5, 2.5))
    assert noise["limit"] == MAX_ERROR
    assert noise["beyond_limit"]
    assert noise["text"].startswith("do not use these values: they were measured with a noise ")
    assert f"an error of {noise['error']:.0%} where {MAX_ERROR:.0%} is the limit" in noise["text"]
    assert "take more samples (-t SECONDS)" in noise["text"]


def test_clock_and_contention_are_watched(tmp_path: Path) -> None:
    watch = watched(tmp_path, 1e-3, (100.0, 120.0))
    noise = noise_of("--latency_matrix -r", watch=watch)
    assert noise["clock_drift"] == pytest.approx(0.2)
    assert noise["contention"] > 0
    assert "clock drift 20%, contention" in noise["text"]
    assert not noise["beyond_limit"]


def test_more_samples_are_not_advised_against_drift(tmp_path: Path) -> None:
    noise = noise_of("--latency_matrix -r", watch=watched(tmp_path, 0.0, (100.0, 300.0)))
    assert "clock drift of 200%" in noise["text"]
    assert noise["text"].endswith("is the limit: measure again at a quieter time")


def test_pairs_of_cores_have_noise_too() -> None:
    widest = noise_of("--c2c_latency")["widest"]
    assert widest["what"] == "cpu 0 to cpu 2, hitm"


def test_stream_reports_its_trials_without_a_name_that_scripts_search_for() -> None:
    class AlternatingTrials(ModelArrays):
        trial = 0

        def gb_per_s(self, function: object) -> float:
            self.trial += 1
            return 10.0 / (1 + self.trial % 2)

    arrays = AlternatingTrials("m", 4, KnownSubject())
    noise = stream(arrays, StreamOptions("m", 10_000_000, 8), lambda _: None)["noise"]
    assert noise["widest"]["unit"] == "MB/s"
    assert noise["widest"]["what"] in noise["text"]
    assert "(-t TRIALS)" in noise["text"]
    assert not any(name in noise["text"] for name in ("Copy", "Scale", "Add", "Triad"))


def test_lens_names_the_place_in_its_table() -> None:
    class Uneven(KnownSubject):
        count = 0

        def sample(self, point: SamplePoint) -> Sample:
            value = super().sample(point)
            self.count += 1
            uneven = point.kernel == "read-random" and point.access_bytes == 1024
            return Sample(value.value * (1 + self.count % 3)) if uneven else value

    chosen = parse_lens(["dram", "performance", "--no-infer"])
    noise = probe(Uneven(), chosen, lambda _: None)["noise"]
    assert noise["widest"]["what"].startswith("read-random x")
    assert noise["widest"]["what"].endswith(", 1k")
    assert "(--rounds N)" in noise["text"]


ARGUMENTS = ["--like", "mlc", MODEL, "--idle_latency", "-r", "-b16m"]


def test_noise_follows_the_tables_after_a_blank_line(capsys: pytest.CaptureFixture[str]) -> None:
    main(ARGUMENTS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3].startswith("Each iteration took ")
    assert lines[-2] == ""
    assert lines[-1].startswith(f"*** noise: values vary as {MODEL} says, by +-")
    main(["--quiet", *ARGUMENTS])
    assert capsys.readouterr().out == ""
    main(["--json", *ARGUMENTS])
    noise = json.loads(capsys.readouterr().out)["noise"]
    assert noise["simulated"]
    assert not noise["beyond_limit"]
    assert noise["contention"] is None
    assert f"*** {noise['text']}" == lines[-1]
