// Ordinary stores of whole lines in sequence: each line is read for ownership, and written back
// later.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

class Write final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.written = shape.access, .owned = shape.access};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    in_sequence(lane, lane.lines, iterations, [&](std::uint64_t first, std::uint64_t count) {
      lane.operations->write(lane.line(first), count, lane.position + 1);
    });
    return lane.position;
  }
};

NEARFAR_KERNEL(Write, "write", "ordinary stores of whole lines in sequence")

// Ordinary stores, one per line, in random order.
using WriteRandom = Visits<Scattered, Store>;
NEARFAR_KERNEL(WriteRandom, "write-random", "ordinary stores, one per line, in random order")

// Ordinary stores a stride apart.
using WriteStrided = Visits<InOrder, Store>;
NEARFAR_KERNEL(WriteStrided, "write-strided", "ordinary stores, --stride apart")

}  // namespace
}  // namespace nearfar::measure
