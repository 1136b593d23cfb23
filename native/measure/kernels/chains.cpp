// k independent chains of dependent loads in one thread, which show a core's memory parallelism.
#include <array>
#include <utility>

#include "measure/cycle.hpp"
#include "measure/follow.hpp"
#include "measure/kernel.hpp"

namespace nearfar::measure {
namespace {

constexpr unsigned max_count = 32;  // cores have 10 to 48 line-fill buffers per L1

using Pointers = std::array<const std::byte*, max_count>;

// A constant count unrolls the loop over chains, without a branch.
template <unsigned count>
void run_steps(Pointers& start, std::uint64_t steps) {
  std::array<const std::byte*, count> at;
  for (unsigned k = 0; k < count; ++k) at[k] = start[k];
  for (std::uint64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 32
    for (unsigned k = 0; k < count; ++k) {
      at[k] = follow(at[k]);
    }
  }
  for (unsigned k = 0; k < count; ++k) start[k] = at[k];
}

template <std::size_t... k>
constexpr auto table_of(std::index_sequence<k...> /*counts*/) {
  return std::array{&run_steps<static_cast<unsigned>(k + 1)>...};
}
constexpr auto by_count = table_of(std::make_index_sequence<max_count>());

class Chains final : public Kernel {
 public:
  // An iteration is one load of one chain.
  [[nodiscard]] Traffic traffic(const Shape& /*shape*/) const override {
    return {.read = cache_line, .dependent_loads = 1};
  }
  [[nodiscard]] Links links() const override { return Links::random; }
  [[nodiscard]] unsigned max_chains() const override { return max_count; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const std::uint64_t steps = iterations / lane.chains;
    const auto starts = chain_starts(lane.visits, lane.chains, steps, lane.position);
    Pointers at{};
    for (unsigned k = 0; k < lane.chains; ++k) {
      at[k] = lane.line(lane.order[starts[k]]) + lane.link * sizeof(std::byte*);
    }
    by_count[lane.chains - 1](at, steps);
    lane.position += steps * lane.chains;
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < lane.chains; ++k) {
      sum += static_cast<std::uint64_t>(at[k] - lane.base) / cache_line.count;
    }
    return sum;
  }
};

NEARFAR_KERNEL(Chains, "chains", "1 to 32 independent chains of dependent loads in one thread")

}  // namespace
}  // namespace nearfar::measure
