// Tests which lines are sampled and that sampling does not change miss ratios.
#include "sim/cache/sampled_lines.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <vector>

#include "sim/cache/lru_cache.hpp"

using nearfar::Bytes;
using nearfar::sim::CacheGeometry;
using nearfar::sim::LineWord;
using nearfar::sim::LruCache;
using nearfar::sim::SampledLines;

namespace {

// A multiple of the number of sets of the caches below.
constexpr std::uint64_t base = 0x7f1234500000;

std::vector<std::uint64_t> sampled_in(const SampledLines& lines, std::uint64_t begin,
                                      std::uint64_t size) {
  std::vector<std::uint64_t> lines_in_range;
  lines.for_each(begin, size, [&](std::uint64_t line) { lines_in_range.push_back(line); });
  return lines_in_range;
}

// Returns the misses per access to the lines that `next()` draws, on a cache of `size` with one
// line in 2^rate_log2 simulated. Misses are scaled by the rate, as profiles do: the sampled share
// of the accesses depends on whether the hottest lines are sampled, the sampled share of the misses
// hardly does.
template <typename Next>
double miss_ratio(Bytes size, unsigned rate_log2, int accesses, Next next) {
  const SampledLines lines(rate_log2);
  const CacheGeometry geometry = CacheGeometry::of(size, 16, rate_log2);
  std::vector<LineWord> ways(geometry.lines());
  LruCache cache(geometry, ways.data());
  std::uint64_t misses = 0;
  for (int i = 0; i < 2 * accesses; ++i) {
    const std::uint64_t address = base + 64 * next();
    if (!lines.sampled(address)) continue;
    const std::uint64_t line = lines.ordinal(address);
    const bool hit =
        cache
            .access_in(cache.physical_set_of(lines.index(line), lines.lines_per_page()), line, 1,
                       false)
            .hit;
    if (i < accesses) continue;  // the first half warms up
    misses += hit ? 0 : 1;
  }
  return static_cast<double>(misses << rate_log2) / accesses;
}

}  // namespace

TEST_CASE("every page has 64 / rate sampled lines up to rate 64, larger rates sample pages") {
  for (const unsigned rate_log2 : {0u, 2u, 4u, 5u, 6u}) {
    const SampledLines lines(rate_log2);
    for (std::uint64_t page = 0; page < 1000; ++page) {
      CHECK(sampled_in(lines, base + page * 4096, 4096).size() == 64u >> rate_log2);
    }
  }
  const SampledLines sparse(9);
  CHECK(sampled_in(sparse, base, 4096 * 80'000).size() == doctest::Approx(10'000).epsilon(0.05));
}

TEST_CASE("enumerating and testing agree on the sampled lines") {
  for (const unsigned rate_log2 : {0u, 1u, 3u, 6u, 8u}) {
    const SampledLines lines(rate_log2);
    std::vector<std::uint64_t> tested;
    for (std::uint64_t line = base; line < base + (4096 << 6); line += 64) {
      if (lines.sampled(line)) tested.push_back(line);
    }
    CHECK(sampled_in(lines, base, 4096 << 6) == tested);
  }
}

TEST_CASE("any_in and overlap agree with a test of every byte") {
  std::mt19937_64 dice(1);
  for (const unsigned rate_log2 : {0u, 4u, 6u, 8u}) {
    const SampledLines lines(rate_log2);
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t begin = base + dice() % (1 << 16);
      const std::uint64_t size = 1 + dice() % (i % 3 == 0 ? 20'000 : 200);
      std::uint64_t bytes = 0;
      for (std::uint64_t at = begin; at < begin + size; ++at) bytes += lines.sampled(at) ? 1 : 0;
      CHECK(lines.any_in(begin, size) == (bytes > 0));
      CHECK(lines.overlap(begin, size).bytes == bytes);
    }
  }
}

TEST_CASE("the cover of a small range agrees with a test of every byte") {
  std::mt19937_64 dice(5);
  const SampledLines lines(SampledLines::usual_rate_log2);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t begin = base + dice() % (1 << 16);
    const std::uint64_t room = 8192 - begin % 4096;
    const std::uint64_t size = 1 + dice() % (i % 2 == 0 ? room : 200);
    const SampledLines::Cover cover = SampledLines::cover(begin, size);
    const std::uint64_t next_page = (cover.page + 1) << 12;
    std::uint32_t here = 0;
    std::uint32_t next = 0;
    for (std::uint64_t at = begin; at < begin + size; ++at) {
      if (lines.sampled(at)) ++(at < next_page ? here : next);
    }
    CHECK(cover.end - cover.begin == here);
    CHECK(cover.next_end == next);
    CHECK(cover.first_byte_sampled() == lines.sampled(begin));
  }
}

TEST_CASE("ordinals are dense and unique") {
  for (const unsigned rate_log2 : {0u, 3u, 6u}) {
    const SampledLines lines(rate_log2);
    std::uint64_t expected = lines.ordinal(base);
    for (const std::uint64_t line : sampled_in(lines, base, 1 << 20)) {
      CHECK(lines.ordinal(line) == expected++);
    }
  }
}

TEST_CASE("a cyclic sweep hits below the capacity and misses above it, sampled or in full") {
  for (const unsigned rate_log2 : {0u, 6u}) {
    for (const double share : {0.95, 1.0, 1.5}) {
      const auto lines = static_cast<std::uint64_t>(share * (8 << 20) / 64);
      std::uint64_t at = 0;
      auto next = [&] { return at = at + 1 == lines ? 0 : at + 1; };
      const double ratio = miss_ratio(Bytes{8 << 20}, rate_log2, 2'000'000, next);
      CHECK(ratio == (share <= 1.0 ? 0.0 : 1.0));
    }
  }
}

TEST_CASE(
    "near the capacity the sampled cache thrashes in the same share of sets as the whole cache") {
  // At 16.5 lines per set, half of the sets get 17 lines for 16 ways and always miss.
  const std::uint64_t capacity_lines = (8 << 20) / 64;
  const std::uint64_t lines = capacity_lines + capacity_lines / 32;
  double ratios[2];
  for (const unsigned rate_log2 : {0u, 6u}) {
    std::uint64_t at = 0;
    auto next = [&] { return at = at + 1 == lines ? 0 : at + 1; };
    ratios[rate_log2 / 6] = miss_ratio(Bytes{8 << 20}, rate_log2, 3'000'000, next);
  }
  CHECK(ratios[0] == doctest::Approx(0.5 * 17 / 16.5).epsilon(0.01));
  CHECK(ratios[1] == doctest::Approx(ratios[0]).epsilon(0.03));
}

TEST_CASE("sampled miss ratios of random accesses are within 3 % of the full ones") {
  std::mt19937_64 dice(3);
  const std::uint64_t lines = (32 << 20) / 64;
  auto uniform = [&] { return dice() % lines; };
  auto skewed = [&] {
    const double u = static_cast<double>(dice() >> 11) * 0x1p-53;
    // Hot lines are spread over the footprint, so that they do not share pages.
    const auto rank = static_cast<std::uint64_t>(u * u * u * static_cast<double>(lines));
    return rank * 0x9E3779B1ull % lines;
  };
  const double full = miss_ratio(Bytes{8 << 20}, 0, 3'000'000, uniform);
  CHECK(full == doctest::Approx(0.75).epsilon(0.01));
  CHECK(miss_ratio(Bytes{8 << 20}, 6, 3'000'000, uniform) == doctest::Approx(full).epsilon(0.03));
  const double full_skewed = miss_ratio(Bytes{8 << 20}, 0, 3'000'000, skewed);
  CHECK(miss_ratio(Bytes{8 << 20}, 6, 3'000'000, skewed) ==
        doctest::Approx(full_skewed).epsilon(0.03));
}

TEST_CASE("the inline filter of instrumented code samples the same lines") {
  for (const unsigned rate_log2 : {0u, 3u, 6u, 8u}) {
    const SampledLines lines(rate_log2);
    for (std::uint64_t at = base; at < base + (1 << 16); at += 8) {
      const bool inline_test = nf_sampled(at, NF_FILTER_MASK(rate_log2)) != 0;
      CHECK(lines.sampled(at) == inline_test);
    }
  }
}
