#include "run/snapshot_requests.hpp"

#include <cstdint>

#include "run/state.hpp"
#include "run/verb_socket.hpp"

namespace nearfar::run {

namespace {

// In sampled pages, each of which represents eight pages. A snapshot is requested from 2 MiB on,
// after each growth by 30 %, so a heap of 1 TiB causes about fifty snapshots.
constexpr std::uint64_t first_snapshot = 64;
constexpr std::uint64_t growth_percent = 130;
constexpr std::size_t large_bytes = 256u << 10;

std::uint64_t next_snapshot = first_snapshot;
bool snapshot_due;

}  // namespace

void request_snapshot_after_growth() {
  const std::uint64_t pages = __atomic_load_n(&state.sampled_pages, __ATOMIC_RELAXED);
  std::uint64_t wanted = __atomic_load_n(&next_snapshot, __ATOMIC_RELAXED);
  if (pages < wanted || pages >> 63 != 0) return;
  if (__atomic_compare_exchange_n(&next_snapshot, &wanted, pages * growth_percent / 100, false,
                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    introduce();
    tell(NF_RUN_GROWN);
    mark_snapshot_due();
  }
}

void request_snapshot_before_free(std::size_t bytes) {
  if (bytes >= large_bytes && __atomic_exchange_n(&snapshot_due, false, __ATOMIC_RELAXED)) {
    introduce();
    tell(NF_RUN_GROWN);
  }
}

void mark_snapshot_due() { __atomic_store_n(&snapshot_due, true, __ATOMIC_RELAXED); }

}  // namespace nearfar::run
