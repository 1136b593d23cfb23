// Schoenauer's triad, three arrays read for one written: a = (b xor c) + d.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class Triad final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access * 3, .written = shape.access, .owned = shape.access};
  }
  [[nodiscard]] bool has_target() const override { return true; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const Arrays arrays(lane, 4);
    std::uint64_t sum = 0;
    in_sequence(lane, arrays.lines(), iterations, [&](std::uint64_t at, std::uint64_t count) {
      sum += lane.operations->triad(arrays.target(at), arrays.source(0, at), arrays.source(1, at),
                                    arrays.source(2, at), count);
    });
    return sum;
  }
};

NEARFAR_KERNEL(Triad, "triad", "three arrays read, one written: a = (b xor c) + d")

}  // namespace
}  // namespace nearfar::measure
