// One chain of dependent loads over all lines in random order: idle read latency.
#include "measure/kernel.hpp"
#include "measure/memory.hpp"

namespace nearfar::measure {
namespace {

class Chase final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic() const override {
    return {.read = cache_line, .dependent_loads = 1};
  }
  [[nodiscard]] bool needs_links() const override { return true; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const std::byte* at = lane.line(lane.order[lane.position % lane.lines]);
    for (std::uint64_t i = 0; i < iterations; ++i) {
      at = reinterpret_cast<std::byte* const*>(at)[random_link];
    }
    lane.position += iterations;
    return static_cast<std::uint64_t>(at - lane.base);
  }
};

NEARFAR_KERNEL(Chase, "chase", "dependent loads, random over all lines of the region")

}  // namespace
}  // namespace nearfar::measure
