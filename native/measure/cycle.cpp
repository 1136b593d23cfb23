#include "measure/cycle.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace nearfar::measure {
namespace {

// Marsaglia's xorshift64: unpredictable enough for a prefetcher.
class Xorshift {
 public:
  explicit Xorshift(std::uint64_t seed) : state_(seed * 2 + 1) {}
  // Uniform below `bound` (< 2^32), with a bias of at most bound / 2^32.
  std::uint64_t below(std::uint64_t bound) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return ((state_ >> 32U) * bound) >> 32U;
  }

 private:
  std::uint64_t state_;
};

void shuffle(std::uint32_t* first, std::uint64_t count, Xorshift& dice) {
  for (std::uint64_t i = count; i > 1; --i) std::swap(first[i - 1], first[dice.below(i)]);
}

}  // namespace

std::vector<std::uint32_t> chase_order(std::uint64_t lines, const Shape& shape, bool random,
                                       std::uint64_t seed) {
  if (lines > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("a chase must cover less than 256 GiB");
  }
  const std::uint64_t access = shape.access_lines();
  const std::uint64_t stride = shape.stride_lines();
  if (lines < access) throw std::invalid_argument("the region is smaller than one access");
  const std::uint64_t accesses = (lines - access) / stride + 1;
  std::vector<std::uint32_t> starts(accesses);
  for (std::uint64_t i = 0; i < accesses; ++i) starts[i] = static_cast<std::uint32_t>(i * stride);
  if (random) {
    Xorshift dice(seed);
    const std::uint64_t whole = shape.window / (cache_line * stride);
    const std::uint64_t window = whole == 0 ? accesses : std::min(whole, accesses);
    for (std::uint64_t first = 0; first < accesses; first += window) {
      shuffle(starts.data() + first, std::min(window, accesses - first), dice);
    }
  }
  if (access == 1) return starts;
  std::vector<std::uint32_t> order;
  order.reserve(accesses * access);
  for (const std::uint32_t start : starts) {
    for (std::uint64_t i = 0; i < access; ++i) {
      order.push_back(start + static_cast<std::uint32_t>(i));
    }
  }
  return order;
}

std::vector<std::uint64_t> chain_starts(std::uint64_t lines, unsigned chains, std::uint64_t steps,
                                        std::uint64_t position) {
  // If chains would overlap, they are spread evenly over the whole order instead.
  const std::uint64_t spacing = steps * chains <= lines ? steps : lines / chains;
  std::vector<std::uint64_t> starts(chains);
  for (unsigned j = 0; j < chains; ++j) starts[j] = (position + j * spacing) % lines;
  return starts;
}

}  // namespace nearfar::measure
