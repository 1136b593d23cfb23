// Mixed loads and stores: of each 64 lines the same number is read, give or take 1.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"
#include "measure/visits.hpp"

namespace nearfar::measure {

inline constexpr unsigned pattern_lines = 64;

// patterns[k]: k of 64 bits set, spread evenly.
constexpr std::array<std::uint64_t, pattern_lines + 1> even_patterns() {
  std::array<std::uint64_t, pattern_lines + 1> patterns{};
  for (unsigned k = 0; k <= pattern_lines; ++k) {
    for (unsigned j = 0; j < pattern_lines; ++j) {
      const bool set = (j + 1) * k / pattern_lines > j * k / pattern_lines;
      if (set) patterns[k] |= std::uint64_t{1} << j;
    }
  }
  return patterns;
}

// Returns the number of lines read before group `group` of 64 lines; exact over any number of
// groups.
inline std::uint64_t reads_before(double share, std::uint64_t group) {
  return static_cast<std::uint64_t>(std::floor(share * pattern_lines * static_cast<double>(group)));
}
inline std::uint64_t pattern_of(double share, std::uint64_t group) {
  static constexpr auto patterns = even_patterns();
  return patterns[reads_before(share, group + 1) - reads_before(share, group)];
}

// Traffic of `access` bytes; a fraction of a byte counts as stored.
template <bool nt>
Traffic mixed_traffic(const Shape& shape, Bytes access) {
  const auto read =
      static_cast<std::uint64_t>(shape.read_share * static_cast<double>(access.count));
  const Bytes stored = access - Bytes{read};
  if (nt) return {.read = {read}, .non_temporal = stored};
  return {.read = {read}, .written = stored, .owned = stored};
}

template <bool nt>
std::string missing_for_mixture(const Operations& operations) {
  return nt && !operations.has_nt_store ? "has no non-temporal stores" : "";
}

// An iteration is a line. Loads walk the front of the lane and stores its back, because a
// prefetcher would fetch lines to be stored next to lines being read.
template <bool nt>
class Mixture final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return mixed_traffic<nt>(shape, cache_line);
  }
  [[nodiscard]] double loads_over_payload(const Shape& shape) const override {
    return shape.read_share;
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return missing_for_mixture<nt>(operations);
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const double share = lane.shape.read_share;
    const std::uint64_t groups = std::max<std::uint64_t>(lane.lines / pattern_lines, 1);
    const std::uint64_t all_reads = reads_before(share, groups);
    auto mixed = nt ? lane.operations->mixed_nt : lane.operations->mixed;
    std::uint64_t sum = 0;
    while (iterations > 0) {
      const std::uint64_t group = lane.position / pattern_lines % groups;
      const auto done = static_cast<unsigned>(lane.position % pattern_lines);
      const auto count =
          static_cast<unsigned>(std::min<std::uint64_t>(iterations, pattern_lines - done));
      const std::uint64_t pattern = pattern_of(share, group);
      const std::uint64_t before = done == 0 ? 0 : pattern & (~std::uint64_t{0} >> (64 - done));
      const std::uint64_t reads = reads_before(share, group) + std::popcount(before);
      const std::uint64_t writes = group * pattern_lines + done - reads;
      sum += mixed(lane.line(reads), lane.line(all_reads + writes), pattern >> done, count,
                   lane.position + 1);
      lane.position += count;
      iterations -= count;
    }
    if (nt) store_fence();
    return sum;
  }
};

// An iteration is an access.
template <bool nt>
class RandomMixture final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return mixed_traffic<nt>(shape, shape.access);
  }
  [[nodiscard]] double loads_over_payload(const Shape& shape) const override {
    return shape.read_share;
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return missing_for_mixture<nt>(operations);
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    using Stored = std::conditional_t<nt, NtStore, Store>;
    const std::uint64_t first = lane.position;
    const std::uint64_t count = lane.shape.access_lines();
    Load load{*lane.operations, 0};
    Stored store{*lane.operations, first + 1};
    std::uint64_t pattern = pattern_of(lane.shape.read_share, first / pattern_lines);
    Scattered order(lane);
    for (std::uint64_t i = first; i < first + iterations; ++i) {
      const std::uint64_t within = i % pattern_lines;
      if (within == 0) pattern = pattern_of(lane.shape.read_share, i / pattern_lines);
      std::byte* at = order.next();
      if (((pattern >> within) & 1U) != 0) {
        count == 1 ? load.line(at) : load.lines(at, count);
      } else {
        count == 1 ? store.line(at) : store.lines(at, count);
      }
    }
    store.end();
    return load.sum;
  }
};

}  // namespace nearfar::measure
