// Tests the core of nearfar-bench: arguments, percentiles, threads, declared parameters.
#include <doctest/doctest.h>

#include <set>

#include "bench/histogram.hpp"
#include "bench/kind.hpp"

using namespace nearfar::bench;

TEST_CASE("arguments are parsed by type; errors name the argument") {
  Arguments arguments({{"n", "5", ""}, {"size", "4KiB", ""}, {"way", "up", ""}}, {"n=7"});
  CHECK(arguments.count("n") == 7);
  CHECK(arguments.size("size").count == 4096);
  CHECK(arguments.text("way", {"up", "down"}) == "up");
  CHECK_THROWS_WITH_AS(Arguments({{"n", "5", ""}}, {"m=7"}),
                       "there is no argument 'm'; did you mean 'n'?", BadArgument);
  CHECK_THROWS_AS(Arguments({{"n", "5", ""}}, {"n"}), BadArgument);
  for (const char* wrong : {"n=-1", "n=", "n=1.5", "n=99999999999999999999"}) {
    Arguments bad({{"n", "5", ""}}, {wrong});
    CHECK_THROWS_AS(bad.count("n"), BadArgument);
  }
  for (const char* wrong : {"size=4kb", "size=KiB", "size=-4"}) {
    Arguments bad({{"size", "1", ""}}, {wrong});
    CHECK_THROWS_AS(bad.size("size"), BadArgument);
  }
}

TEST_CASE("a percentile is at most 1/64 above the exact value") {
  Histogram histogram;
  for (std::uint64_t ns = 1; ns <= 100000; ++ns) histogram.add(ns);
  for (const double share : {0.001, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = share * 100000;
    CHECK(histogram.quantile(share).count >= exact);
    CHECK(histogram.quantile(share).count <= exact * (1 + 1.0 / 64) + 1);
  }
  CHECK(histogram.quantile(1).count == 100000);
  CHECK(Histogram().quantile(0.5).count == 0);
}

TEST_CASE("each thread runs its part, and an exception in a thread reaches the caller") {
  Meter meter(Mode::latency, 1);
  meter.timed(3, [](Lane& lane) {
    for (unsigned i = 0; i <= lane.index; ++i) lane.operation([] {});
  });
  CHECK(meter.operations == 6);
  CHECK(meter.latency.samples() == 6);
  CHECK_THROWS_AS(meter.timed(2, [](Lane&) { throw WrongContent("test"); }), WrongContent);
}

TEST_CASE("every kind declares a parameter once") {
  for (const Kind* kind : kinds()) {
    std::set<std::string> names;
    for (const Parameter& each : kind->parameters) CHECK(names.insert(each.name).second);
    CHECK(!kind->summary.empty());
  }
}
