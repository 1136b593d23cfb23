// Latencies in log-linear buckets: 64 per power of two, so a percentile is at most 1/64 too high.
// Debian 12 has no HdrHistogram for C.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace nearfar::bench {

class Histogram {
 public:
  void add(std::uint64_t ns) noexcept {
    ++buckets_[bucket(ns)];
    ++samples_;
    sum_ += ns;
    max_ = std::max(max_, ns);
  }

  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    samples_ += other.samples_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }

  // Returns the smallest time that at least `share` of the samples do not exceed, up to 1/64 too
  // high.
  [[nodiscard]] Nanoseconds quantile(double share) const {
    const auto required =
        static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(samples_)));
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      passed += buckets_[i];
      if (passed >= required && passed > 0) {
        return {static_cast<double>(std::min(max_, max_of_bucket(i)))};
      }
    }
    return {0};
  }

  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] Nanoseconds max() const { return {static_cast<double>(max_)}; }
  [[nodiscard]] Nanoseconds mean() const {
    return {samples_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(samples_)};
  }

 private:
  static constexpr unsigned linear_bits = 6;
  static constexpr std::size_t linear = 1U << linear_bits;

  static std::size_t bucket(std::uint64_t ns) noexcept {
    if (ns < linear) return ns;
    const unsigned above = static_cast<unsigned>(std::bit_width(ns)) - 1 - linear_bits;
    return (above + 1) * linear + ((ns >> above) - linear);
  }

  static std::uint64_t max_of_bucket(std::size_t index) noexcept {
    if (index < linear) return index;
    const auto above = static_cast<unsigned>(index / linear - 1);
    return ((index % linear + linear + 1) << above) - 1;
  }

  std::vector<std::uint64_t> buckets_ =
      std::vector<std::uint64_t>((64 - linear_bits + 1) * linear, 0);
  std::uint64_t samples_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace nearfar::bench
