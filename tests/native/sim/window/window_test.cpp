// Compares the window with results computed by hand from core sizes and memory latency.
#include "sim/window/window.hpp"

#include <doctest/doctest.h>

#include "sim/window/trace.hpp"

using namespace nearfar::sim;

namespace {

constexpr double latency = 300;
constexpr std::uint32_t buffers = 15;
constexpr double best = latency / buffers;  // time between misses when all buffers are in use

Core core(std::uint32_t window) { return {window, 4, 64, buffers, 1, 1, 5, 14, 45, 16}; }

Medium medium() {
  Medium medium;
  medium.latency.fill(latency);
  return medium;
}

// An instruction's registers; 0 is none.
struct Row {
  Register address = 0;
  Register use = 0;
  Register def = 0;
  bool branch = false;
};

void add_row(RegisterLists& lists, Register value) {
  if (lists.begins.empty()) lists.begins.push_back(0);
  if (value != 0) lists.values.push_back(value);
  lists.begins.push_back(static_cast<std::uint32_t>(lists.values.size()));
}

// Returns a loop over `rows` whose first row touches a new line in each iteration.
Trace loop(const std::vector<Row>& rows, unsigned times, bool store = false,
           std::uint32_t step = 3) {
  Trace trace;
  for (const Row& row : rows) {
    add_row(trace.code.address, row.address);
    add_row(trace.code.uses, row.use);
    add_row(trace.code.defs, row.def);
    trace.code.cycles.push_back(1);
    trace.code.conditional.push_back(row.branch ? 1 : 0);
    trace.code.computing.push_back(0);
  }
  const auto count = static_cast<std::uint32_t>(rows.size());
  // Two blocks of the same code at two addresses: a branch to the second was not taken.
  trace.blocks = {{0, count, 0, 100}, {0, count, 100, 200}};
  Burst burst;
  for (unsigned i = 0; i < times; ++i) {
    burst.blocks.push_back(0);
    burst.accesses.push_back({i * count, 1 + i * step, store, 0});
  }
  trace.lines = 2 + times * step;
  trace.bursts.push_back(burst);
  predict(trace);
  return trace;
}

double per_access(const Trace& trace, Served served, std::uint32_t window,
                  const Medium& memory = medium(), std::uint32_t miss_buffers = buffers) {
  const std::vector<Served> places(trace.bursts[0].accesses.size(), served);
  Core wide = core(window);
  wide.miss_buffers = miss_buffers;
  const WindowResult result = run_window(trace, places, wide, memory, memory);
  // The first tenth is not counted.
  return result.cycles / (0.9 * static_cast<double>(places.size()));
}

}  // namespace

TEST_CASE("A chase takes the whole latency each time") {
  const Trace chase = loop({{.address = 1, .def = 1}, {}, {}}, 1000);
  CHECK(per_access(chase, Served::near, 320) == doctest::Approx(latency + 1).epsilon(0.01));
  CHECK(dependences(chase, chase.bursts[0])[1] == 1);
  CHECK(dependences(chase, chase.bursts[0])[0] == 0);
}

TEST_CASE("An instruction waits for the last of many registers, and sets it") {
  const Trace plain = loop({{.address = 1, .def = 2}, {.use = 2, .def = 1}}, 1000);
  Trace many = plain;
  // Before each register stand two that nothing writes, or nothing reads.
  many.code.address = {{0, 3, 3}, {5, 6, 1}};
  many.code.uses = {{0, 0, 3}, {5, 6, 2}};
  many.code.defs = {{0, 3, 6}, {7, 8, 2, 7, 8, 1}};
  CHECK(per_access(plain, Served::near, 320) == doctest::Approx(latency + 2).epsilon(0.01));
  CHECK(per_access(many, Served::near, 320) == per_access(plain, Served::near, 320));
}

TEST_CASE("The miss buffers limit independent misses") {
  const Trace gather = loop({{.address = 1, .def = 2}, {}, {}}, 1000);
  CHECK(per_access(gather, Served::near, 320) == doctest::Approx(best).epsilon(0.05));
  CHECK(dependences(gather, gather.bursts[0])[1] == 0);
}

TEST_CASE("Misses further apart than the window's length are served one after another") {
  std::vector<Row> distant(300);
  distant[0] = {.address = 1, .def = 2};
  const Trace trace = loop(distant, 200);
  // The miss and its followers fill the window of 256; the next miss enters 44 instructions later.
  CHECK(per_access(trace, Served::near, 256) > latency);
  // A window of 602 always has two misses.
  CHECK(per_access(trace, Served::near, 602) < 0.6 * latency);
}

TEST_CASE("Hits take the latencies of the caches") {
  const Trace chase = loop({{.address = 1, .def = 1}}, 1000);
  CHECK(per_access(chase, Served::last_level, 320) == doctest::Approx(46).epsilon(0.02));
  CHECK(per_access(chase, Served::private_cache, 320) == doctest::Approx(15).epsilon(0.02));
}

TEST_CASE("A branch on loaded data delays the next load only if it is mispredicted") {
  const std::vector<Row> rows = {{.address = 1, .def = 2}, {.use = 2, .branch = true}};
  Trace trace = loop(rows, 2000);
  const double predictable = per_access(trace, Served::near, 320);
  // The directions have no pattern: they are a generator's high bits.
  std::uint64_t state = 1;
  for (std::uint32_t& block : trace.bursts[0].blocks) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    block = static_cast<std::uint32_t>(state >> 63);
  }
  predict(trace);
  const double random = per_access(trace, Served::near, 320);
  CHECK(predictable == doctest::Approx(best).epsilon(0.05));
  // Half of the branches, those of the first block, are random; half of these are mispredicted:
  // a quarter of the loads waits.
  CHECK(random > 0.2 * (latency + 16));
  CHECK(random < 0.35 * (latency + 16));
}

TEST_CASE("Stores wait in the store buffer, not in the window") {
  std::vector<Row> rows(10);
  rows[0] = {.address = 1, .use = 2};
  const Trace stores = loop(rows, 1000, true);
  CHECK(per_access(stores, Served::near, 320) == doctest::Approx(best).epsilon(0.05));
  Medium slow = medium();
  slow.latency.fill(20000);
  // 64 stores at a time when the store buffer is full.
  CHECK(per_access(stores, Served::near, 320, slow, 100) ==
        doctest::Approx(20000.0 / 64).epsilon(0.1));
  // Fewer miss buffers are the tighter limit.
  CHECK(per_access(stores, Served::near, 320, slow) ==
        doctest::Approx(20000.0 / buffers).epsilon(0.1));
}

TEST_CASE("A load with arithmetic takes two entries where the core does not fuse them") {
  // Misses are 300 instructions apart: a window of 400 has two, a window of 200 has one.
  std::vector<Row> distant(300);
  distant[0] = {.address = 1, .def = 2};
  Trace trace = loop(distant, 200);
  const double fused = per_access(trace, Served::near, 400);
  trace.code.computing.assign(300, 1);
  Core split = core(400);
  split.computing = 2;
  const std::vector<Served> places(200, Served::near);
  const WindowResult unfused = run_window(trace, places, split, medium(), medium());
  CHECK(fused < 0.7 * latency);
  CHECK(unfused.cycles / 180 > latency);
}

TEST_CASE("Arithmetic takes its cycles, times a factor") {
  Trace trace = loop({{.address = 1, .def = 1}, {.use = 1, .def = 1}}, 500);
  trace.code.cycles[1] = 21;
  Core none = core(320);
  none.arithmetic = 0;
  const std::vector<Served> places(500, Served::private_cache);
  const double slow = per_access(trace, Served::private_cache, 320);
  const WindowResult fast = run_window(trace, places, none, medium(), medium());
  CHECK(slow - fast.cycles / 450 == doctest::Approx(20).epsilon(0.02));
}

TEST_CASE("Bandwidth limits misses, including write-backs") {
  const Trace gather = loop({{.address = 1, .def = 2}, {}, {}}, 1000);
  Medium narrow = medium();
  narrow.line = 40;
  narrow.write = 60;
  narrow.write_back = 30;
  CHECK(per_access(gather, Served::near, 320, narrow) == doctest::Approx(70).epsilon(0.05));
}

TEST_CASE("A prefetcher brings sequential lines at its own pace") {
  const Trace stream = loop({{.address = 1, .def = 1}}, 1000, false, 1);
  Medium ahead = medium();
  ahead.stream = 25;
  CHECK(per_access(stream, Served::near, 320) == doctest::Approx(latency + 1).epsilon(0.01));
  CHECK(per_access(stream, Served::near, 320, ahead) == doctest::Approx(25).epsilon(0.1));
  const Trace random = loop({{.address = 1, .def = 1}}, 1000, false, 3);
  CHECK(per_access(random, Served::near, 320, ahead) == doctest::Approx(latency + 1).epsilon(0.01));
}

TEST_CASE("A dependence through memory is waited for") {
  // Each iteration loads a pointer, stores it, and loads it again as the next address.
  Trace trace =
      loop({{.address = 1, .def = 2}, {.address = 9, .use = 2}, {.address = 9, .def = 1}}, 1000);
  std::vector<Access> accesses;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const auto store = static_cast<std::uint32_t>(accesses.size()) + 2;
    accesses.push_back({3 * i, 3 * i + 3, false, 0});
    accesses.push_back({3 * i + 1, 0, true, 0});
    accesses.push_back({3 * i + 2, 0, false, store});
  }
  trace.bursts[0].accesses = accesses;
  trace.lines = 3 * 1000 + 3;
  CHECK(dependences(trace, trace.bursts[0])[3] == 3);
  std::vector<Served> places(accesses.size(), Served::near);
  const WindowResult result = run_window(trace, places, core(320), medium(), medium());
  // A step is the latency, two instructions and a hit.
  CHECK(result.cycles / 900 == doctest::Approx(latency + 1 + 1 + 6).epsilon(0.01));
}
