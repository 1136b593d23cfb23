// The addresses that a measuring kernel visits, in its order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "base/units.hpp"
#include "sim/device/permutation.hpp"

namespace nearfar::sim {

struct Pattern {
  Bytes region{};
  Bytes access{};  // size of one access
  Bytes stride{};  // distance of neighbouring accesses; at least `access`
  Bytes window{};  // random accesses finish one window before the next; 0: the region
  bool random = true;
  Bytes page{};  // frames of this size are scattered; 0: the region is contiguous
  std::uint64_t seed = 1;
};

class Visits {
 public:
  explicit Visits(const Pattern& pattern)
      : pattern_(pattern),
        units_(pattern.region / std::max(pattern.stride, pattern.access)),
        within_(std::clamp<std::uint64_t>(
            pattern.window.count == 0 ? units_ : pattern.window / pattern.stride, 1,
            std::max<std::uint64_t>(units_, 1))),
        order_(within_, pattern.seed),
        frames_(pattern.page.count == 0 ? 1 : (pattern.region.count - 1) / pattern.page.count + 1,
                pattern.seed + 1) {
    if (units_ == 0) throw std::invalid_argument("the region is smaller than one access");
  }

  // Returns the address of the index-th access.
  [[nodiscard]] std::uint64_t address(std::uint64_t index) const {
    std::uint64_t unit = index < units_ ? index : index % units_;
    if (pattern_.random) {
      const std::uint64_t window = unit / within_ * within_;
      // A shorter last window is visited in sequence.
      unit = window + within_ <= units_ ? window + order_(unit - window) : unit;
    }
    return unit * pattern_.stride.count;
  }
  // Translates an address to its physical one.
  [[nodiscard]] std::uint64_t frame(std::uint64_t address) const {
    if (pattern_.page.count == 0) return address;
    const std::uint64_t page = address / pattern_.page.count;
    return frames_(page) * pattern_.page.count + address % pattern_.page.count;
  }
  [[nodiscard]] std::uint64_t units() const { return units_; }
  [[nodiscard]] std::uint64_t lines_per_access() const {
    return std::max<std::uint64_t>(pattern_.access / cache_line, 1);
  }

 private:
  Pattern pattern_;
  std::uint64_t units_;
  std::uint64_t within_;
  Permutation order_;
  Permutation frames_;
};

}  // namespace nearfar::sim
