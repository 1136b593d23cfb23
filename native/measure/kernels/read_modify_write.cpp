// Each line loaded, changed and stored, in sequence.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

class ReadModifyWrite final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access, .written = shape.access, .both = shape.access};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    std::uint64_t sum = 0;
    in_sequence(lane, lane.lines, iterations, [&](std::uint64_t first, std::uint64_t count) {
      sum += lane.operations->update(lane.line(first), count);
    });
    return sum;
  }
};

NEARFAR_KERNEL(ReadModifyWrite, "read-modify-write",
               "each line loaded, changed, stored, in sequence")

// Each line loaded, changed and stored, in random order.
using ReadModifyWriteRandom = Visits<Scattered, Update>;
NEARFAR_KERNEL(ReadModifyWriteRandom, "read-modify-write-random",
               "each line loaded, changed, stored, in random order")

}  // namespace
}  // namespace nearfar::measure
