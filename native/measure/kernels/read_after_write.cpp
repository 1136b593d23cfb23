// Non-temporal stores and a fence, then loads of the same lines: shows whether a memory forwards
// data that it has not written to its medium yet. Each window is written completely, then read.
#include <algorithm>

#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"
#include "measure/ticks.hpp"

namespace nearfar::measure {
namespace {

class ReadAfterWrite final : public Kernel {
 public:
  // An iteration is one access, written and read back with its window.
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access,
            .non_temporal = shape.access,
            .both = shape.access,
            .fences = 2.0 / static_cast<double>(accesses(shape))};
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return operations.has_nt_store ? "" : "has no non-temporal stores";
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    std::uint64_t sum = 0;
    while (iterations > 0) {
      const std::uint64_t count = std::min(iterations, accesses(lane.shape));
      sum += write_then_read(lane, count);
      iterations -= count;
    }
    return sum;
  }
  // Single accesses can be timed only without a window, because a window separates store and load.
  [[nodiscard]] bool can_time_each() const override { return true; }
  std::uint64_t each(Lane& lane, std::span<std::uint32_t> ticks,
                     std::uint64_t rest) const override {
    const std::uint64_t count = lane.shape.access_lines();
    std::uint64_t sum = 0;
    Scattered order(lane);
    auto access = [&](std::byte* at) {
      lane.operations->nt_store(at, count, lane.position + 1);
      store_fence();
      sum += lane.operations->read(at, count);  // ticks_after() waits for it
    };
    time_accesses(
        ticks, rest, [&] { return order.next(); }, access);
    return sum;
  }

 private:
  static std::uint64_t accesses(const Shape& shape) {
    return std::max<std::uint64_t>(shape.window / shape.access, 1);
  }
  static std::uint64_t write_then_read(Lane& lane, std::uint64_t count) {
    const std::uint64_t lines = lane.shape.access_lines();
    Lane again = lane;
    std::uint64_t sum = 0;
    {
      Scattered order(lane);
      for (std::uint64_t i = 0; i < count; ++i) {
        lane.operations->nt_store(order.next(), lines, again.position + i + 1);
      }
    }
    store_fence();
    Scattered order(again);
    for (std::uint64_t i = 0; i < count; ++i) sum += lane.operations->read(order.next(), lines);
    load_fence();
    return sum;
  }
};

NEARFAR_KERNEL(ReadAfterWrite, "read-after-write",
               "fenced non-temporal stores, each --window read back")

}  // namespace
}  // namespace nearfar::measure
