// Tests whole memories: serving levels, write-backs, interleaving, stalls, replay and batches.
#include "sim/device/memory.hpp"

#include <doctest/doctest.h>

#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "sim/device/replay.hpp"
#include "sim/device/run.hpp"

using namespace nearfar;
using namespace nearfar::sim;

namespace {

Level level(std::uint32_t sets, std::uint32_t ways, unsigned block_log2, double read_ns,
            Replacement replacement = Replacement::lru) {
  return {.shape = {sets, ways, replacement},
          .block_log2 = block_log2,
          .read = {read_ns},
          .drain = {read_ns / 10}};
}

Parameters optane(std::uint32_t devices) {
  Parameters p;
  p.buffers = {level(1, 64, 8, 180, Replacement::random), level(256, 16, 12, 310)};
  p.media_read = {380};
  p.media_drain = {110};
  p.queue = {64, {28}};
  p.devices = devices;
  return p;
}

Parameters with_caches(Parameters p) {
  p.caches = {level(64, 8, 6, 1), level(512, 16, 6, 4), level(1000, 12, 6, 20)};
  return p;
}

RunResult chase(Memory& memory, Bytes region, Isa isa = Isa::scalar) {
  const Pattern pattern{.region = region, .access = cache_line, .stride = cache_line};
  const std::uint64_t lines = region / cache_line;
  return run(memory, pattern, {.warm_up = 4 * lines, .accesses = lines}, isa);
}

std::vector<std::uint64_t> stream(std::size_t count, std::uint64_t lines, unsigned stores_in_8) {
  std::mt19937_64 dice(3);
  std::vector<std::uint64_t> words(count);
  for (auto& word : words) word = (dice() % lines) << 7U | (dice() % 8 < stores_in_8 ? 1U : 0U);
  return words;
}

}  // namespace

TEST_CASE("a chase that fits a level is served there, at its latency") {
  Memory memory(optane(1));
  const RunResult ran = chase(memory, Bytes{8 << 10});
  CHECK(ran.read[0] == ran.lines);
  CHECK(ran.elapsed.count == doctest::Approx(180.0 * static_cast<double>(ran.lines)));
}

TEST_CASE("the first line of a block misses, the nearer buffer serves the others") {
  Memory memory(optane(1));
  const Pattern pattern{.region = {64 << 20}, .access = {256}, .stride = {256}};
  const RunResult ran = run(memory, pattern, {.accesses = 10'000}, Isa::scalar);
  CHECK(ran.read[0] >= 30'000);
  CHECK(ran.read[0] <= 30'050);  // a 256 B block is seldom still buffered
}

TEST_CASE("six devices have six times the buffers") {
  Memory memory(optane(6));
  const RunResult ran = chase(memory, Bytes{6 * 8 << 10});
  CHECK(ran.read[0] == ran.lines);
  Memory single(optane(1));
  CHECK(chase(single, Bytes{6 * 8 << 10}).read[0] < ran.lines / 2);
}

TEST_CASE("a batch agrees with single loads and stores in every instruction set") {
  auto words = stream(50'000, 40'000, 0);  // nothing is dirty before the first store
  const auto mixed = stream(50'000, 40'000, 2);
  words.insert(words.end(), mixed.begin(), mixed.end());
  Memory one_by_one(with_caches(optane(6)));
  std::vector<std::uint64_t> served(one_by_one.levels());
  for (const std::uint64_t word : words) {
    const std::uint64_t address = word >> 1U;
    ++served[(word & 1U) != 0 ? one_by_one.store<Scalar>(address)
                              : one_by_one.load<Scalar>(address)];
  }
  for (const Isa isa : usable_isas()) {
    CAPTURE(name_of(isa));
    Memory memory(with_caches(optane(6)));
    const ReplayResult replayed = replay(memory, words, isa);
    CHECK(replayed.accesses_by_level == served);
    CHECK(replayed.written_back == one_by_one.written_back());
    CHECK(replayed.written_back > 1000);
  }
}

TEST_CASE("without caches, a store to near memory fetches its line") {
  Parameters p = optane(1);
  p.near_capacity = {1 << 20};
  p.near_read = {100};
  const auto words = stream(5'000, 40'000, 2);
  Memory one_by_one(p);
  std::vector<std::uint64_t> served(one_by_one.levels());
  for (const std::uint64_t word : words) ++served[one_by_one.load<Scalar>(word >> 1U)];
  for (const Isa isa : usable_isas()) {
    CAPTURE(name_of(isa));
    Memory memory(p);
    CHECK(replay(memory, words, isa).accesses_by_level == served);
  }
}

TEST_CASE("an address beyond the simulator's line numbers is refused") {
  Memory memory(optane(1));
  const std::vector<std::uint64_t> words{std::uint64_t{1} << 38U};
  CHECK_THROWS_AS(replay(memory, words, Isa::scalar), std::out_of_range);
}

TEST_CASE("runs are equal in every instruction set") {
  for (const Isa isa : usable_isas()) {
    Memory ours(with_caches(optane(3)));
    Memory reference(with_caches(optane(3)));
    CHECK(chase(ours, Bytes{3 << 20}, isa).read == chase(reference, Bytes{3 << 20}).read);
  }
}

TEST_CASE("every n-th write to a block stalls, at any offset in the block") {
  Parameters p = optane(1);
  p.wear = {.period_writes = 100, .block_log2 = 12, .length = {50'000}};
  Memory memory(p);
  const Pattern pattern{.region = {1024}, .access = {256}, .stride = {256}, .random = false};
  const RunResult ran =
      run(memory, pattern, {.operation = Operation::persist, .accesses = 1000, .each = true},
          Isa::scalar);
  CHECK(ran.wear_stalls == 10);
  for (std::size_t i = 0; i < ran.each_ns.size(); ++i) {
    CAPTURE(i);
    CHECK((ran.each_ns[i] >= 50'000) == (i % 100 == 99));
  }
}

TEST_CASE("writes spread over more blocks than tracked never stall") {
  for (const std::uint32_t blocks : {4U, 5U}) {
    Parameters p = optane(1);
    p.wear = {.period_writes = 50, .block_log2 = 12, .length = {50'000}, .tracked_blocks = 4};
    Memory memory(p);
    const Pattern pattern{
        .region = {blocks * 4096}, .access = {256}, .stride = {256}, .random = false};
    const RunResult ran =
        run(memory, pattern, {.operation = Operation::persist, .accesses = 8000}, Isa::scalar);
    CHECK(ran.wear_stalls == (blocks == 4 ? 160 : 0));
  }
}

TEST_CASE("a periodic stall costs its share of the time") {
  Parameters p;
  p.media_read = {100};
  p.media_drain = {10};
  p.refresh = {{10'000}, {500}};
  Memory memory(p);
  const Pattern pattern{.region = {1 << 20}, .access = cache_line, .stride = cache_line};
  const RunResult ran = run(memory, pattern, {.accesses = 100'000, .each = true}, Isa::scalar);
  CHECK(static_cast<double>(ran.refresh_stalls) ==
        doctest::Approx(ran.elapsed.count / 10'000).epsilon(0.01));
  CHECK(ran.elapsed.count == doctest::Approx(100'000 * 100 / 0.95).epsilon(0.01));
}

TEST_CASE("a periodic stall does not delay cache hits") {
  Parameters p;
  p.caches = {level(16, 4, 6, 2)};
  p.media_read = {100};
  p.refresh = {{10'000}, {500}};
  Memory memory(p);
  const Pattern pattern{.region = {2048}, .access = cache_line, .stride = cache_line};
  const RunResult ran = run(memory, pattern, {.warm_up = 64, .accesses = 100'000}, Isa::scalar);
  CHECK(ran.refresh_stalls == 0);
  CHECK(ran.elapsed.count == doctest::Approx(100'000 * 2));
  // A stall that passed during cache hits does not delay the next access to the device.
  memory.rest({1000});
  memory.load<Scalar>(1U << 20U);
  CHECK(memory.refresh_stalls() == 0);
}

TEST_CASE("two writes of half a block cost one write of the medium while buffered, else two") {
  // Writes the first halves of all blocks, then the second halves, as LATTester (FAST 2020) does.
  for (const auto& [blocks, least, most] :
       {std::tuple{32U, 0.999, 1.001}, std::tuple{4096U, 1.9, 2.0}}) {
    Memory memory(optane(1));
    for (int pass = 0; pass < 10; ++pass) {
      for (const unsigned half : {0U, 128U}) {
        for (std::uint64_t block = 0; block < blocks; ++block) {
          memory.write_through<Scalar>(block * 256 + half);
          memory.write_through<Scalar>(block * 256 + half + 64);
        }
      }
    }
    const double amplification =
        static_cast<double>(memory.media_writes()) * 256 / (10.0 * blocks * 256);
    CAPTURE(blocks);
    CHECK(amplification >= least);
    CHECK(amplification <= most);
  }
}
