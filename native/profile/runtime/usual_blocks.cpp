// The common cases without calls, so that they need few registers: blocks in at most two pages, at
// the usual rate and with glibc's headers, of a thread's recent call.
#include "profile/runtime/usual_blocks.hpp"

#include <atomic>

#include "profile/runtime/live.hpp"
#include "profile/runtime/locks.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/recent_call.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Whether a block is in at most two pages, and not mapped separately.
[[gnu::always_inline]] inline bool is_usual_block(std::uint64_t address, std::uint64_t size,
                                                  std::uint64_t head) {
  static_assert(always_sampled == 8192);
  return (address & 4095) + size <= 8192 && (head & mapped_separately) == 0;
}
[[gnu::always_inline]] inline std::uint64_t usual_size(std::uint64_t head) {
  return (head & ~7ull) - 8;
}

// The end of usual_block_allocated, if the total is at its peak or a sample may be due.
[[gnu::noinline, gnu::cold]] void end_usual_block(std::int64_t total_bytes) {
  update_live_total(total_bytes);
  if (this_thread.events % live_events_per_clock == 0) sample_live();
  this_thread.inside = 0;
}

// Returns false, without any effect, if block_allocated must be called. `here` is the stack address
// of the caller's frame, for Thread::inside.
template <bool is_alone>
[[gnu::always_inline]] inline bool usual_block_allocated(std::uint64_t address, Call call,
                                                         void* here) {
  const RecentCall* const calls = this_thread.whole_calls;
  if (calls == nullptr || this_thread.inside != 0) return false;
  const std::uint64_t head = *(reinterpret_cast<const std::uint64_t*>(address) - 1);
  const std::uint64_t size = usual_size(head);
  if (!is_usual_block(address, size, head)) return false;
  const sim::SampledLines::Cover cover = sim::SampledLines::cover(address, size);
  // A header in a sampled line costs that line. The first header of a page is in the page before.
  if (static_cast<std::uint32_t>(cover.from_line - 8) < 64 || (address & 4095) == 0) return false;
  this_thread.inside = reinterpret_cast<std::uintptr_t>(here);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const RecentCall& recent = place_in(calls, call);
  if (nf_pending.owned != nf_pending.count || !is_same_call(recent, call)) {
    this_thread.inside = 0;
    return false;
  }
  runtime.shadow.tag(cover, recent.tags, is_alone);
  const Weight weight = weight_of(cover);
  SiteRecord& record = *recent.record;
  const auto bytes = static_cast<std::int64_t>(weight.bytes);
  add(record.allocations, weight.allocations, is_alone);
  add(record.allocated_bytes, weight.bytes, is_alone);
  const std::int64_t live = add(record.live_bytes, bytes, is_alone);
  if (live > record.peak_bytes) record.peak_bytes = live;
  const std::int64_t total = add(runtime.header->live_bytes, bytes, is_alone);
  const std::uint32_t events = ++this_thread.events;
  if (total > runtime.header->peak_bytes || events % live_events_per_clock == 0) [[unlikely]] {
    end_usual_block(total);
  } else {
    this_thread.inside = 0;
  }
  return true;
}

// Returns false, without any effect, if block_freed must be called.
[[gnu::always_inline]] inline bool usual_block_freed(std::uint64_t address, std::uint64_t head,
                                                     void* here) {
  const std::uint64_t size = usual_size(head);
  if (!is_usual_block(address, size, head) || this_thread.inside != 0) return false;
  const sim::SampledLines::Cover cover = sim::SampledLines::cover(address, size);
  const std::uint16_t site = runtime.shadow.first_tag(cover);
  if (site < first_free_site) return false;
  this_thread.inside = reinterpret_cast<std::uintptr_t>(here);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // Without sampled bytes, the site may be another block's: nothing is subtracted from it.
  const auto freed = -static_cast<std::int64_t>(weight_of(cover).bytes);
  const bool is_alone = alone();
  add(runtime.sites[site].live_bytes, freed, is_alone);
  add(runtime.header->live_bytes, freed, is_alone);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  this_thread.inside = 0;
  return true;
}

[[gnu::noinline]] void* reported_beside_threads(void* block, Call call) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  return usual_block_allocated<false>(address, call, __builtin_dwarf_cfa())
             ? block
             : report_any_allocation(block, call);
}

}  // namespace

void* reported(void* block, Call call) {
  if (block == nullptr) return block;
  if (!alone()) return reported_beside_threads(block, call);
  const auto address = reinterpret_cast<std::uint64_t>(block);
  return usual_block_allocated<true>(address, call, __builtin_dwarf_cfa())
             ? block
             : report_any_allocation(block, call);
}

void report_and_free(void* block, std::uint64_t head) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (!usual_block_freed(address, head, __builtin_dwarf_cfa())) report_any_free(block);
  real.free(block);
}

}  // namespace nearfar::profile
