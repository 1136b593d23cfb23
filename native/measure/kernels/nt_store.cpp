// Non-temporal stores of whole lines in sequence: write bandwidth without owning the line.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

class StreamedStores final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.non_temporal = shape.access};
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return operations.has_nt_store ? "" : "has no stores past the caches";
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    in_sequence(lane, lane.lines, iterations, [&](std::uint64_t first, std::uint64_t count) {
      lane.operations->nt_store(lane.line(first), count, lane.position + 1);
    });
    stores_end();
    return lane.position;
  }
};

NEARFAR_KERNEL(StreamedStores, "nt-store", "stores past the caches, one line after the other")

// Non-temporal stores of whole lines in random order.
using NtStoreRandom = Visits<Scattered, NtStore>;
NEARFAR_KERNEL(NtStoreRandom, "nt-store-random", "stores past the caches in random order")

// Non-temporal stores of whole lines a stride apart: write amplification, interleaving.
using NtStoreStrided = Visits<InOrder, NtStore>;
NEARFAR_KERNEL(NtStoreStrided, "nt-store-strided", "stores past the caches, --stride apart")

}  // namespace
}  // namespace nearfar::measure
