"""Full tables: what fits is counted, the rest is reported."""

from __future__ import annotations

from by_hand import Build, Run


def test_unlimited_call_stacks_do_not_fill_the_table(build: Build, run: Run) -> None:
    # 2^13 paths lead through two functions; the table of 1 MiB holds 1280 sites.
    result = run(build("many_sites.c"), "13", memory=1 << 20)
    assert result.code == 0
    assert result.files[0].lost() == {}
    leaves = [each for each in result.objects if "leaf" in each.name]
    assert sum(each.allocations for each in leaves) == 1 << 13


def test_a_full_table_of_counters_is_reported_and_the_program_continues(
    build: Build, run: Run
) -> None:
    small = run(build("many_sites.c"), "13", memory=1 << 20)
    large = run(build("many_sites.c"), "13", memory=64 << 20)
    assert small.output == large.output
    assert large.files[0].lost() == {}
    total = sum(each.allocated_bytes for each in large.objects if "leaf" in each.name)
    assert total == sum(each.allocated_bytes for each in small.objects if "leaf" in each.name)


def test_live_samples_stay_bounded(build: Build, run: Run) -> None:
    result = run(build("lives.c"), "threads", memory=1 << 20)
    for file in result.files:
        assert len(file.live) <= file.header["live"]["capacity"]
        assert list(file.live["time_ns"]) == sorted(file.live["time_ns"])
