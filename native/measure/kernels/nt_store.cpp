// Non-temporal stores of whole lines in sequence: write bandwidth without reads for ownership.
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
    return operations.has_nt_store ? "" : "has no non-temporal stores";
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    in_sequence(lane, lane.lines, iterations, [&](std::uint64_t first, std::uint64_t count) {
      lane.operations->nt_store(lane.line(first), count, lane.position + 1);
    });
    store_fence();
    return lane.position;
  }
};

NEARFAR_KERNEL(StreamedStores, "nt-store", "non-temporal stores in sequence")

// Non-temporal stores of whole lines in random order.
using NtStoreRandom = Visits<Scattered, NtStore>;
NEARFAR_KERNEL(NtStoreRandom, "nt-store-random", "non-temporal stores in random order")

// Non-temporal stores of whole lines a stride apart: write amplification, interleaving.
using NtStoreStrided = Visits<InOrder, NtStore>;
NEARFAR_KERNEL(NtStoreStrided, "nt-store-strided", "non-temporal stores, --stride apart")

}  // namespace
}  // namespace nearfar::measure
