#include "measure/cycle.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace nearfar::measure {
namespace {

// Marsaglia's xorshift64: the order needs to be unpredictable to a prefetcher, no more.
class Xorshift {
 public:
  explicit Xorshift(std::uint64_t seed) : state_(seed * 2 + 1) {}
  // Uniform below `bound` (< 2^32) up to a bias of bound / 2^32.
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

std::vector<std::uint32_t> random_order(std::uint64_t lines, std::uint64_t block_lines,
                                        std::uint64_t seed) {
  if (lines > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("a chase goes over less than 256 GiB");
  }
  block_lines = std::clamp<std::uint64_t>(block_lines, 1, std::max<std::uint64_t>(lines, 1));
  Xorshift dice(seed);
  const std::uint64_t blocks = (lines + block_lines - 1) / block_lines;
  std::vector<std::uint32_t> block_order(blocks);
  std::iota(block_order.begin(), block_order.end(), 0U);
  shuffle(block_order.data(), blocks, dice);
  if (block_lines == 1) return block_order;
  std::vector<std::uint32_t> order;
  order.reserve(lines);
  for (const std::uint64_t block : block_order) {
    const std::uint64_t first = block * block_lines;
    const std::uint64_t count = std::min(block_lines, lines - first);
    const auto begin = order.size();
    for (std::uint64_t i = 0; i < count; ++i) {
      order.push_back(static_cast<std::uint32_t>(first + i));
    }
    shuffle(order.data() + begin, count, dice);
  }
  return order;
}

std::vector<std::uint64_t> chain_starts(std::uint64_t lines, unsigned chains, std::uint64_t steps,
                                        std::uint64_t position) {
  // Chains that would run over each other's lines are spread over the whole order instead.
  const std::uint64_t spacing = steps * chains <= lines ? steps : lines / chains;
  std::vector<std::uint64_t> starts(chains);
  for (unsigned j = 0; j < chains; ++j) starts[j] = (position + j * spacing) % lines;
  return starts;
}

}  // namespace nearfar::measure
