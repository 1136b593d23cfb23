// Non-temporal stores of whole lines in random order.
#include "measure/kernel.hpp"
#include "measure/one_line.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class NtStoreRandom final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic() const override { return {.non_temporal = cache_line}; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    scattered(lane, iterations, [&](std::byte* line) { nt_store_line(line, lane.position + 1); });
    stores_end();
    return lane.position;
  }
};

NEARFAR_KERNEL(NtStoreRandom, "nt-store-random", "stores past the caches in random order")

}  // namespace
}  // namespace nearfar::measure
