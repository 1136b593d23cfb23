// Loads and ordinary stores, one for one; the target is owned (read) before it is written.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class Copy final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access, .written = shape.access, .owned = shape.access};
  }
  [[nodiscard]] bool has_target() const override { return true; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const Arrays arrays(lane, 2);
    std::uint64_t sum = 0;
    in_sequence(lane, arrays.lines(), iterations, [&](std::uint64_t at, std::uint64_t count) {
      sum += lane.operations->copy(arrays.target(at), arrays.source(0, at), count);
    });
    return sum;
  }
};

NEARFAR_KERNEL(Copy, "copy", "half the lines copied to the others by ordinary stores")

}  // namespace
}  // namespace nearfar::measure
